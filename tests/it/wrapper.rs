//! The faults of the shell script that people write around their server to hold back the stop signal,
//! each of them done right.

use crate::servers::nginx;
use crate::support::{Init, fixtures, http, procfs, until};
use nix::libc;
use std::time::{Duration, Instant};

#[test]
fn the_status_of_the_server_is_kept() {
    needs!();
    let mut run = Init::new()
        .flags(["--delay", "500ms"])
        .env("STATUS", "42")
        .env("DRAIN", "0.1")
        .python(fixtures::SERVER, &[])
        .spawn();
    run.told("port");
    run.signal(libc::SIGQUIT);
    run.expect_stdout("got 3\n");
    run.expect_exit(42);
}

#[test]
fn a_crash_in_the_delay_is_told_at_once_as_what_it_is() {
    needs!();
    let mut run = Init::new().flags(["--delay", "10m"]).recorder(&["10=7"]);
    run.signal(libc::SIGQUIT);
    run.expect_stderr("serving on for 10m");
    run.signal(libc::SIGUSR1);
    run.expect_exit(7);
    assert_eq!(run.stdout(), "ready\ngot 10\n");
}

#[test]
fn a_server_without_a_handler_for_quit_is_stopped_all_the_same() {
    needs!();
    let mut run = Init::new().flags(["--delay", "300ms"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGQUIT);
    run.expect_exit(128 + libc::SIGTERM);
}

#[test]
fn a_script_that_traps_quit_runs_its_trap() {
    needs!();
    let script = "trap 'echo trapped; exit 5' QUIT; echo ready; while :; do sleep 0.1; done";
    let mut run = Init::new().flags(["--delay", "300ms"]).cmd(["/bin/sh", "-c", script]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGQUIT);
    run.expect_exit(5);
    assert_eq!(run.stdout(), "ready\ntrapped\n");
}

#[test]
fn term_to_process_1_delays_and_drains() {
    needs!();
    let mut run = Init::new().flags(["--delay", "3s"]).env("DRAIN", "0.2").python(fixtures::SERVER, &[]).spawn();
    let port = run.told("port");
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on");
    assert!(http::answers(port, "/"));
    run.expect_stdout("got 15\n");
    assert!(began.elapsed() >= Duration::from_secs(3));
    run.expect_exit(0);
    assert!(run.stdout().contains("drained\n"));
}

#[test]
fn hup_in_the_delay_reloads_nginx_and_changes_nothing_else() {
    needs!("nginx");
    let (mut run, port) = nginx(&["--delay", "10m"]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("SIGQUIT to nginx");
    let master = run.main();
    let before = procfs::children(master);
    run.signal(libc::SIGHUP);
    until("new workers have taken over", || {
        let now = procfs::children(master);
        !now.is_empty() && now.iter().all(|worker| !before.contains(worker))
    });
    assert!(http::answers(port, "/"), "nginx serves on after the reload");
    run.hurry();
    run.expect_exit(0);
    assert!(run.stderr().contains("hurried by SIGTERM"), "the delay was cut: {}", run.stderr());
    assert!(!http::answers(port, "/"));
}
