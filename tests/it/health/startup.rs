//! When a new server is ready that has no check of its own: once it listens.

use super::{listening, until_ready};
use crate::support::files::{TempDir, tempdir};
use crate::support::{Running, fixtures, free_port, http};
use std::fs;
use std::net::TcpListener;

/// A server that works until a file is there, and listens from then on.
struct Slow {
    run: Running,
    /// Its health port.
    health: u16,
    /// Its own.
    port: u16,
    dir: TempDir,
}

/// `front` are the words of a program that starts it, if any.
fn slow(check: &str, flags: &[&str], front: &[&str]) -> Slow {
    let (init, health) = listening(&[&["--health-check", check], flags].concat());
    let (port, dir) = (free_port(), tempdir());
    let file = dir.path.join("go");
    let server = ["python3", "-c", fixtures::SLOW, &port.to_string(), file.to_str().unwrap()];
    let mut run = init.cmd([front, &server[..]].concat()).spawn();
    run.expect_stdout("works\n");
    Slow { run, health, port, dir }
}

impl Slow {
    fn listen(&mut self) {
        fs::write(self.dir.path.join("go"), "").unwrap();
        self.run.expect_stdout("listens\n");
    }
}

#[test]
fn a_server_is_ready_once_it_listens() {
    needs!();
    // What others have open is not its own.
    let _stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    for front in [&[][..], &["sh", "-c", "\"$@\"; :", "sh"]] {
        let mut slow = slow("listening", &[], front);
        until_ready(&mut slow.run, slow.health, 503);
        let answer = http::get(slow.health, "/").unwrap();
        assert_eq!(answer.body, "not ready: the server listens on no TCP port yet\n");
        assert_eq!(http::get(slow.health, "/livez").unwrap().code, 200);
        slow.listen();
        until_ready(&mut slow.run, slow.health, 200);
        assert_eq!(slow.run.stderr(), "");
    }
}

#[test]
fn a_server_whose_ports_were_named_is_ready_once_it_listens_there() {
    needs!();
    let other = free_port();
    let mut slow = slow("listening", &["--watch-port", &other.to_string()], &[]);
    slow.listen();
    until_ready(&mut slow.run, slow.health, 503);
    // Whoever it is that listens there: a sidecar may do so for it.
    let _there = TcpListener::bind(("127.0.0.1", other)).unwrap();
    until_ready(&mut slow.run, slow.health, 200);
    assert_ne!(slow.port, other);
}

#[test]
fn a_server_that_is_handed_its_listening_socket_is_ready_with_it() {
    needs!();
    // As systemd and Podman hand it over, through lameduck, which keeps its own copy.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let (init, health) = listening(&["--health-check", "listening"]);
    let busy = "import os\nos.write(1, b'works\\n')\nwhile True: pass";
    let mut run = init.descriptor(socket.into()).python(busy, &[]).spawn();
    run.expect_stdout("works\n");
    until_ready(&mut run, health, 200);
    assert_eq!(run.stderr(), "", "it counts as ready for another reason");
}

#[test]
fn a_server_that_listens_nowhere_is_ready_when_it_is_idle_and_the_log_says_so() {
    needs!();
    let (init, port) = listening(&["--health-check", "listening"]);
    let mut run = init.python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\n");
    until_ready(&mut run, port, 200);
    run.expect_stderr(
        "health: the server counts as ready: it is seen to listen on no TCP port and has done next to nothing for 500ms; --health-check can \
         ask it\n",
    );
}

#[test]
fn a_server_that_need_not_listen_is_ready_as_soon_as_it_runs() {
    needs!();
    let slow = slow("none", &[], &[]);
    assert_eq!(http::get(slow.health, "/").unwrap().body, "ready\n");
}
