//! What the probe itself costs. Only meaningful in a release build on a quiet machine; prints its figures:
//! `cargo test --release --test it speed:: -- --ignored --nocapture`.

use super::server::{command, nobody, probed};
use crate::support::{files, until};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// Runs so long at so many requests a second.
const RATE: u64 = 2_000;
const SECONDS: u64 = 60;

#[test]
#[ignore = "needs a release build and a quiet machine"]
fn two_thousand_requests_a_second_on_time_and_in_constant_memory() {
    needs!("nginx");
    let directory = files::tempdir();
    let (_nginx, port) = nginx(&directory);
    let (url, rate, time) = (format!("http://127.0.0.1:{port}/"), RATE.to_string(), format!("{SECONDS}s"));
    let mut probe = command(&[&url, "--rate", &rate, "--for", &time]);
    let began = Instant::now();
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    // At a quarter, at the half, and a second before the end.
    let sampler = std::thread::spawn(move || {
        [SECONDS / 4, SECONDS / 2, SECONDS - 1].map(|at| {
            std::thread::sleep(Duration::from_secs(at).saturating_sub(began.elapsed()));
            resident(pid)
        })
    });
    let probed = probed(&child.wait_with_output().unwrap());
    let [quarter, half, whole] = sampler.join().unwrap();
    // The probe is the only child of this process that has ended.
    let cpu = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let cpu = cpu.user_time() + cpu.system_time();
    let cpu = Duration::from_micros(cpu.num_microseconds().try_into().unwrap());
    let late = |key: &str| probed.json["own_lateness_ms"][key].as_f64().unwrap();
    let figures = format!(
        "{RATE} requests a second for {SECONDS} s\nown lateness p50 {} ms, p99 {} ms, max {} ms\n\
         latency p50 {} ms, p99 {} ms\nresident {quarter} KB at 25 %, {half} KB at 50 %, {whole} KB at 100 %\n\
         processor time {:?} a request\n",
        late("p50"),
        late("p99"),
        late("max"),
        probed.json["latency_ms"]["p50"],
        probed.json["latency_ms"]["p99"],
        cpu / u32::try_from(RATE * SECONDS).unwrap()
    );
    std::io::Write::write_all(&mut std::io::stderr(), figures.as_bytes()).unwrap();
    let counts = (probed.number("/sent"), probed.number("/lost"), probed.number("/not_sent"));
    assert_eq!(counts, (RATE * SECONDS, 0, 0));
    assert!(late("p99") < 5.0, "{figures}");
    assert!(whole < quarter + quarter / 10, "{figures}");
}
