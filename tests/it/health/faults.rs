//! What the system refuses costs those who ask, and nobody else.

use super::{listening, until_ready};
use crate::support::{Init, Running, fixtures, http, procfs, until};
use nix::libc;
use std::net::TcpStream;
use std::process::Command;

/// Some system calls fail, by name and errno.
fn refusing(init: Init, calls: &[&str]) -> Init {
    init.through(fixtures::python(fixtures::REFUSING, calls)).through(["--"])
}

/// The whole of a stop, whatever has become of the health port.
fn stops_in_order(run: &mut Running) {
    run.signal(libc::SIGUSR1);
    run.expect_stdout("got 10\n");
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 300ms");
    run.expect_stdout("got 15\n");
    run.expect_exit(4);
    assert!(run.stderr().contains("gone: "), "{}", run.stderr());
}

/// One line says that it is off, and why; nobody is kept waiting; the stop is in order.
fn is_off_because(mut run: Running, port: u16, why: &str) {
    run.expect_stdout("ready\n");
    run.expect_stderr(&format!("lameduck: warning: health is off, and the rest goes on as ever: {why}"));
    until("the port is closed", || http::get(port, "/readyz").is_err());
    stops_in_order(&mut run);
    assert_eq!(run.stderr().matches("health").count(), 1, "{}", run.stderr());
}

/// So many descriptors and no more, from now on.
fn limit(run: &Running, most: u32) {
    let arguments = ["--pid".to_owned(), run.pid.to_string(), format!("--nofile={most}:4096")];
    assert!(Command::new("prlimit").args(arguments).status().unwrap().success());
}

#[test]
fn where_nothing_could_be_started_nothing_is_set_up_to_answer() {
    needs!();
    let (init, _) = listening(&[]);
    let mut run = refusing(init, &["epoll_create1=12"]).cmd(["/no/where"]).run();
    run.expect_exit(127);
    assert!(!run.stderr().contains("health"), "{}", run.stderr());
}

const DELAY: [&str; 2] = ["--delay", "300ms"];

#[test]
fn a_sandbox_that_forbids_the_runtime() {
    needs!();
    for (calls, why) in [
        (&["epoll_create1=12"][..], "no runtime can be built: Cannot allocate memory"),
        (&["eventfd2=24"], "no runtime can be built: Too many open files"),
        (&["signalfd4=38"], "signals cannot be waited for beside connections: Function not implemented"),
    ] {
        let (init, port) = listening(&DELAY);
        is_off_because(refusing(init, calls).python(fixtures::RECORDER, &["15=4"]).spawn(), port, why);
    }
}

#[test]
fn a_runtime_that_panics() {
    needs!();
    let (init, port) = listening(&DELAY);
    let init = refusing(init, &["epoll_wait=9", "epoll_pwait=9"]);
    let mut run = init.python(fixtures::RECORDER, &["15=4"]).spawn();
    run.expect_stdout("ready\n");
    run.expect_stderr("lameduck: error: panicked at ");
    run.expect_stderr("health is off, and the rest goes on as ever: it panicked\n");
    until("the port is closed", || http::get(port, "/readyz").is_err());
    stops_in_order(&mut run);
}

#[test]
fn a_port_that_takes_nobody_any_more() {
    needs!();
    let (init, port) = listening(&DELAY);
    let run = refusing(init, &["accept4=22"]).python(fixtures::RECORDER, &["15=4"]).spawn();
    until("somebody is refused", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    is_off_because(run, port, "its port takes no connections any more: Invalid argument");
}

#[test]
fn too_few_descriptors_for_a_runtime() {
    needs!("prlimit");
    // 0, 1, 2, the port, and two of the four that the runtime needs.
    let (init, port) = listening(&DELAY);
    let run = init.through(["prlimit", "--nofile=6:6", "--"]).python(fixtures::RECORDER, &["15=4"]).spawn();
    is_off_because(run, port, "no runtime can be built: Too many open files");
}

/// A server whose health port has answered once, and has no descriptor left for a connection.
fn full() -> (Running, u16) {
    let (init, port) = listening(&DELAY);
    let mut run = init.python(fixtures::RECORDER, &["15=4"]).spawn();
    run.expect_stdout("ready\n");
    until_ready(&mut run, port, 200);
    limit(&run, 4);
    (run, port)
}

#[test]
fn a_descriptor_table_that_is_full_for_a_while() {
    needs!("prlimit");
    let (mut run, port) = full();
    let waiting = std::thread::spawn(move || http::get(port, "/readyz"));
    run.expect_stderr("lameduck: warning: health: a connection has to wait: Too many open files");
    run.signal(libc::SIGUSR1);
    run.expect_stdout("got 10\n");
    // Who had to wait is answered as soon as there is room.
    limit(&run, 1024);
    assert_eq!(waiting.join().unwrap().unwrap().code, 200);
    assert_eq!(procfs::status(run.pid, "Threads").as_deref(), Some("1"));
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 300ms");
    run.expect_exit(4);
    assert_eq!(run.stderr().matches("has to wait").count(), 1, "{}", run.stderr());
}

#[test]
fn a_descriptor_table_that_stays_full_does_not_hold_up_the_stop() {
    needs!("prlimit");
    let (mut run, port) = full();
    let _waits = TcpStream::connect(("127.0.0.1", port)).unwrap();
    run.expect_stderr("a connection has to wait");
    // Though nothing can be looked up in /proc any more.
    stops_in_order(&mut run);
}
