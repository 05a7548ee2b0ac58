//! A server that does to every connection what a test wants, and the probe that is run against it.

use crate::support::{free_port, until};
use nix::libc;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A server that answers as long as the test runs.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// Connections that came.
    pub(super) connections: Arc<AtomicUsize>,
}

/// What a finished probe left behind.
pub(super) struct Probed {
    pub(super) code: Option<i32>,
    /// What it said while it ran, and the report.
    pub(super) text: String,
    pub(super) json: Value,
}

/// Serves each connection with `serve`, which may do with it what it likes.
pub(super) fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    serving(listener, serve)
}

/// The same on a listener of the test's own.
pub(super) fn serving(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Server {
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let (serve, counted) = (Arc::new(serve), Arc::clone(&connections));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    Server { address, connections }
}

/// Reads one request; nothing when the client has closed.
pub(super) fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Answers every request of a connection with this.
pub(super) fn answering(
    status: &'static str,
    headers: &'static str,
    body: &'static str,
) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        while request(&mut stream).is_some() {
            if answer(&mut stream, status, headers, body).is_none() {
                return;
            }
        }
    }
}

/// Answers one request.
pub(super) fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) -> Option<()> {
    let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).ok()
}

/// Closes a connection with a reset.
pub(super) fn reset(stream: &TcpStream) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the struct lives through the call and is as long as it is said to be.
    #[allow(unsafe_code)]
    let result = unsafe {
        let (value, length) = ((&raw const at_once).cast(), size_of::<libc::linger>());
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, u32::try_from(length).unwrap())
    };
    assert_eq!(result, 0);
}

/// A port on which nobody listens, nor will.
pub(super) fn nobody() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// The command, with JSON to standard output.
pub(super) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    command.arg("probe").args(["--json", "-"]).args(args);
    command
}

/// Runs it to its end, on time.
pub(super) fn probe(args: &[&str]) -> Probed {
    on_time(|| once(args))
}

/// Runs it to its end, however late it was: for a server that counts what comes.
pub(super) fn once(args: &[&str]) -> Probed {
    probed(&command(args).output().unwrap())
}

/// Does it again where the probe says that it was late itself: of twenty requests one is enough for that,
/// and then its status tells of this machine.
pub(super) fn on_time(mut run: impl FnMut() -> Probed) -> Probed {
    let mut last = None;
    until("the probe is on time", || !last.insert(run()).late());
    last.unwrap()
}

/// What it left behind.
pub(super) fn probed(output: &Output) -> Probed {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Probed { code: output.status.code(), text: stderr, json }
}

/// `--rate 40 --for 0.5s`: twenty requests.
pub(super) const TWENTY: [&str; 4] = ["--rate", "40", "--for", "500ms"];

// === impl Server ===

impl Server {
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

// === impl Probed ===

impl Probed {
    /// Whether it says that it was late itself.
    fn late(&self) -> bool {
        let mut reasons = self.json["why_no_measure"].as_array().into_iter().flatten();
        reasons.any(|why| why.as_str().is_some_and(|why| why.contains("too late")))
    }

    /// A number of the report.
    #[track_caller]
    pub(super) fn number(&self, path: &str) -> u64 {
        let value = self.json.pointer(path).unwrap_or_else(|| panic!("no {path} in {:#}\n{}", self.json, self.text));
        value.as_u64().unwrap_or_else(|| panic!("{path} is {value}"))
    }

    /// Every request that was sent ended in this class, and there were so many.
    #[track_caller]
    pub(super) fn assert_all(&self, class: &str, count: u64) {
        let classes = self.json["classes"].as_object().unwrap_or_else(|| panic!("no classes: {}", self.text));
        for (name, value) in classes {
            let expected = if name == class { count } else { 0 };
            assert_eq!(value.as_u64(), Some(expected), "{name}: {:#}", self.json["losses"]);
        }
        assert_eq!(self.number("/sent"), count);
        let timeline = self.json["timeline"].as_array().unwrap();
        let sum = |key: &str| timeline.iter().filter_map(|second| second[key].as_u64()).sum::<u64>();
        assert_eq!((sum("sent"), sum("lost")), (count, if class == "ok" { 0 } else { count }));
    }
}
