//! A network that others accept connections in too: only the server's ports count, and what may have been
//! theirs leaves no margin.

use super::{Watched, seconds};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Another server in the same network that is none of lameduck's, with a client of its own which comes
/// so many times.
struct Sidecar(Child);

impl Sidecar {
    /// Starts it, and waits until it listens.
    fn start(watched: &Watched, times: u32) -> Self {
        let script = format!(
            "import socket, time\nl = socket.create_server(('127.0.0.1', 0))\nprint('listens', flush=True)\nfor _ in \
             range({times}):\n  input()\n  c = socket.create_connection(l.getsockname())\n  l.accept()[0].close()\n  \
             c.close()\n  print('came', flush=True)\ninput()"
        );
        let command = &["/usr/bin/python3", "-u", "-c", &script];
        let pipes = || Stdio::piped();
        let child = watched.run.inside_its_network(command).stdin(pipes()).stdout(pipes()).spawn().unwrap();
        let mut sidecar = Self(child);
        sidecar.says("listens\n");
        sidecar
    }

    fn says(&mut self, text: &str) {
        let mut said = vec![0; text.len()];
        std::io::Read::read_exact(self.0.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(String::from_utf8_lossy(&said), text);
    }

    /// One connection to it, gone at once.
    fn visited(&mut self) {
        std::io::Write::write_all(self.0.stdin.as_mut().unwrap(), b"\n").unwrap();
        self.says("came\n");
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client that comes for one request.
fn passes_by(watched: &Watched) {
    let mut client = watched.client();
    client.ask("/");
    assert!(client.is_answered());
}

#[test]
fn another_ones_connections_keep_the_delay_and_count_for_nothing() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "6s", "--min-delay", "2s", "--quiet", "2s"]);
    let mut sidecar = Sidecar::start(&watched, 60);
    let mut client = watched.client();
    let began = watched.stop();
    // Enough for it to be quiet two seconds later, were it not for the sidecar.
    let requests = client.busy(Duration::from_secs(1));
    while began.elapsed() < Duration::from_millis(5_500) {
        sidecar.visited();
        std::thread::sleep(Duration::from_millis(100));
    }
    let traffic = watched.ended();
    assert_eq!((&traffic["ended"], &traffic["new_connections"]), (&"delay".into(), &Value::Null));
    assert_eq!(traffic["ports"], serde_json::json!([watched.port]));
    assert!(traffic["namespace_opens"].as_u64().unwrap() > 10, "{traffic}");
    assert!(traffic["requests"].as_u64().unwrap() <= requests, "the sidecar's are none: {traffic}");
    assert!(seconds(&traffic["held_s"]) < Duration::from_secs(5));
}

#[test]
fn a_connection_that_came_after_the_last_request_and_was_not_seen_leaves_no_margin() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "4s"]);
    let mut sidecar = Sidecar::start(&watched, 1);
    let mut client = watched.client();
    watched.stop();
    client.busy(Duration::from_millis(500));
    // Gone before anybody looks, most of them; and one that is none of ours for certain.
    (0..4).for_each(|_| passes_by(&watched));
    std::thread::sleep(Duration::from_millis(500));
    sidecar.visited();
    let traffic = watched.ended();
    assert_eq!(traffic["margin_s"], Value::Null, "{traffic}");
    assert!(traffic["namespace_opens"].as_u64().unwrap() >= 5, "{traffic}");
    let verdict = traffic["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("last request ") && verdict.contains(" came to this network namespace, "), "{verdict}");
    assert!(verdict.ends_with(" cannot be told: the delay cannot be judged"), "{verdict}");
    assert!(watched.log().contains(verdict), "{}", watched.log());
}

#[test]
fn connections_alone_are_told_of_in_the_log_though_no_request_was_seen() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "3s"]);
    let mut sidecar = Sidecar::start(&watched, 4);
    watched.stop();
    (0..4).for_each(|_| sidecar.visited());
    let traffic = watched.ended();
    assert_eq!((&traffic["requests"], &traffic["namespace_opens"]), (&0.into(), &4.into()));
    let log = watched.log();
    assert!(
        log.contains("lame-duck: no request seen, but 4 connections came to this network namespace, the last "),
        "{log}"
    );
}

#[test]
fn requests_that_come_after_another_ones_connections_leave_their_margin() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "4s"]);
    let mut sidecar = Sidecar::start(&watched, 3);
    let mut client = watched.client();
    watched.stop();
    (0..3).for_each(|_| sidecar.visited());
    client.busy(Duration::from_secs(2));
    let traffic = watched.ended();
    assert_eq!((&traffic["namespace_opens"], &traffic["new_connections"]), (&3.into(), &Value::Null));
    let sum = seconds(&traffic["last_request_s"]) + seconds(&traffic["margin_s"]);
    assert!((sum.as_secs_f64() - 4.0).abs() < 0.01, "{traffic}");
}
