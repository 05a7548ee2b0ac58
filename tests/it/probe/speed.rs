//! What the probe itself costs. Only meaningful in a release build on a quiet machine:
//! `cargo test --release --test it speed:: -- --ignored`.

use super::server::{command, nobody, probed};
use crate::support::{files, until};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// nginx, which is quicker than any client.
struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

fn nginx(directory: &files::TempDir) -> (Nginx, u16) {
    let (port, at) = (nobody().port(), directory.path.display());
    let config = format!(
        "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/error;\nevents {{ worker_connections 8192; }}\n\
         http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {at}; proxy_temp_path {at};\n\
         fastcgi_temp_path {at}; uwsgi_temp_path {at}; scgi_temp_path {at};\n\
         server {{ listen 127.0.0.1:{port} backlog=4096; return 200 \"done\\n\"; }} }}\n"
    );
    let config = directory.file("nginx.conf", config, 0o644);
    let child = Command::new("nginx").args(["-c", &config]).stderr(Stdio::null()).spawn().unwrap();
    let nginx = Nginx(child);
    until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (nginx, port)
}

/// Resident memory, in KB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

#[test]
#[ignore = "needs a release build and a quiet machine"]
fn two_thousand_requests_a_second_on_time_and_in_constant_memory() {
    needs!("nginx");
    let directory = files::tempdir();
    let (_nginx, port) = nginx(&directory);
    let mut probe = command(&[&format!("http://127.0.0.1:{port}/"), "--rate", "2000", "--for", "60s"]);
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let sampler = std::thread::spawn(move || {
        let after = |seconds| {
            std::thread::sleep(Duration::from_secs(seconds));
            resident(pid)
        };
        (after(10), after(45))
    });
    let probed = probed(&child.wait_with_output().unwrap());
    let (early, late) = sampler.join().unwrap();
    let lateness = probed.json["own_lateness_ms"]["p99"].as_f64().unwrap();
    let figures = format!(
        "own lateness p99 {lateness} ms, max {} ms; latency p99 {} ms; {early} KB after 10 s, {late} KB after 55 s\n",
        probed.json["own_lateness_ms"]["max"], probed.json["latency_ms"]["p99"]
    );
    std::io::Write::write_all(&mut std::io::stderr(), figures.as_bytes()).unwrap();
    assert_eq!((probed.number("/sent"), probed.number("/lost"), probed.number("/not_sent")), (120_000, 0, 0));
    assert!(lateness < 5.0, "{figures}");
    assert!(late < early + early / 10, "{figures}");
}
