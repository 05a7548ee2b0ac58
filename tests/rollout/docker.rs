//! The engine, and the things of one trial in it: all of them gone when it is over.

use std::fmt::Display;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The image with the servers. Its number changes with what is in it.
pub(crate) const IMAGE: &str = "lameduck-rollout-servers:bookworm-1";

/// How long anything here may take that should take a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) type Result<T> = std::result::Result<T, String>;

/// A network of its own, so that no address is given to somebody else while a balancer still knows it.
pub(crate) struct Network(pub(crate) String);

/// A container that is removed when this is dropped.
pub(crate) struct Container(pub(crate) String);

/// Runs `docker` and returns what it printed.
pub(crate) fn docker(args: &[&str]) -> Result<String> {
    let output = Command::new("docker").args(args).output().map_err(|why| format!("docker: {why}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("docker {}: {}", args.first().unwrap_or(&""), why.trim()))
}

/// Makes the image, if it is not there.
pub(crate) fn image() -> Result<()> {
    docker(&["version"]).map_err(|_| "no Docker engine answers".to_owned())?;
    if docker(&["image", "inspect", IMAGE]).is_ok() {
        return Ok(());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rollout/image.sh");
    let output = Command::new(script).arg(IMAGE).output().map_err(|why| why.to_string())?;
    let why = || format!("the image cannot be made: {}", String::from_utf8_lossy(&output.stderr).trim());
    if output.status.success() { Ok(()) } else { Err(why()) }
}

/// The address of a container in its network.
pub(crate) fn address(container: &str) -> Result<IpAddr> {
    let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    let text = docker(&["inspect", "--format", format, container])?;
    text.parse().map_err(|_| format!("{container} has no address: {text}"))
}

/// The status of a page, if there is an answer.
pub(crate) fn get(address: IpAddr, port: u16, path: &str) -> Option<u16> {
    let text = ask(address, port, &format!("GET {path} HTTP/1.0\r\nHost: rollout\r\n\r\n")).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

/// Says something and returns the whole answer.
pub(crate) fn ask(address: IpAddr, port: u16, what: &str) -> Result<String> {
    let connect = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&(address, port).into(), Duration::from_secs(2))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(what.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    connect().map_err(|why| format!("{address}:{port}: {why}"))
}

/// Waits until something holds.
pub(crate) fn until(what: impl Display, mut holds: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > PATIENCE {
            return Err(format!("not within {PATIENCE:?}: {what}"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

// === impl Network ===

impl Network {
    pub(crate) fn new(name: &str) -> Result<Self> {
        docker(&["network", "create", name])?;
        Ok(Self(name.to_owned()))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // What serves still, and what a deploy that failed has left. By their names: a server behind a
        // sidecar is in the network of that container, not in this one.
        if let Ok(left) = docker(&["ps", "-aq", "--filter", &format!("name=^{}-", self.0)]) {
            for id in left.split_whitespace() {
                let _ = docker(&["rm", "--force", "--volumes", id]);
            }
        }
        let _ = docker(&["network", "rm", &self.0]);
    }
}

// === impl Container ===

impl Drop for Container {
    fn drop(&mut self) {
        let _ = docker(&["rm", "--force", "--volumes", &self.0]);
    }
}
