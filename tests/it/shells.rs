//! Shells in front of the server: it drains all the same, its status is told where the shell lets it,
//! and nothing is waited for that does not come.

use crate::stop::stop_took;
use crate::support::files::tempdir;
use crate::support::{Init, Running, fixtures, http, procfs, until};
use nix::libc;
use std::time::Duration;

/// Limits that nothing here may come to, nor the hour that a forgotten helper would take: the harness does
/// not wait that long.
fn patient() -> Init {
    Init::new().env("LAMEDUCK_DRAIN_TIMEOUT", "10m").env("LAMEDUCK_LINGER", "10m").env("STATUS", "5")
}

/// Stops what runs while an answer is in flight, and sees the server drain, once.
fn drains(mut run: Running, status: i32) -> String {
    let port = run.told("port");
    assert!(http::answers(port, "/"));
    let slow = http::send(port, "/slow").unwrap();
    run.expect_stdout("slow\n");
    run.signal(libc::SIGTERM);
    assert!(slow.answered(), "an answer in flight was cut off: {}", run.stderr());
    run.expect_exit(status);
    let out = run.stdout();
    assert_eq!(out.matches("got 15\n").count(), 1, "{out}\n{}", run.stderr());
    assert_eq!(out.matches("drained\n").count(), 1, "{out}\n{}", run.stderr());
    let took = stop_took(&mut run);
    assert!(took >= Duration::from_secs(1), "{took:?}\n{}", run.stderr());
    out
}

/// A server of status 5 behind a line for `/bin/sh`.
fn behind(line: &str) -> Running {
    patient().shell(line).spawn()
}

#[test]
fn behind_a_shell_that_only_runs_it() {
    needs!();
    drains(behind("$SERVER"), 5);
}

#[test]
fn behind_a_shell_that_runs_it_instead_of_itself() {
    needs!();
    drains(behind("exec $SERVER"), 5);
}

#[test]
fn between_two_other_commands() {
    needs!();
    let out = drains(behind("echo before; $SERVER; echo after=$?"), 0);
    assert!(out.starts_with("before\n") && out.ends_with("drained\nafter=5\n"), "{out}");
}

#[test]
fn at_the_writing_end_of_a_pipe() {
    needs!();
    drains(behind("$SERVER | cat"), 0);
}

#[test]
fn at_the_reading_end_of_a_pipe() {
    needs!();
    drains(behind("sleep 3600 | $SERVER"), 5);
}

#[test]
fn beside_a_helper_that_the_shell_waits_for_too() {
    needs!();
    drains(behind("sleep 3600 & $SERVER & wait"), 0);
}

#[test]
fn in_the_background_of_a_shell_that_waits_for_it_alone() {
    needs!();
    drains(behind("$SERVER & wait $!"), 5);
}

#[test]
fn behind_two_shells() {
    needs!();
    drains(behind("sh -c '$SERVER; exit $?'; exit $?"), 5);
}

#[test]
fn stopped_while_the_shell_is_about_to_wait() {
    needs!();
    // Just before, a shell blocks all signals for a moment.
    for _ in 0..50 {
        let mut run = behind("sleep 3600; exit 5");
        run.descendant("sleep");
        run.signal(libc::SIGTERM);
        run.expect_exit(5);
    }
}

#[test]
fn stopped_while_the_shell_still_waits_for_something() {
    needs!();
    let line = "echo waiting; until [ -e /nowhere ]; do sleep 1; done; exec $SERVER";
    let mut run = behind(line);
    run.expect_stdout("waiting\n");
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(128 + libc::SIGTERM);
}

#[test]
fn stopped_while_the_shell_waits_and_then_it_starts_the_server_after_all() {
    needs!();
    let dir = tempdir();
    let gate = dir.path.join("gate");
    let line = format!("until [ -e {gate} ]; do echo waiting; sleep 0.2; done; exec $SERVER", gate = gate.display());
    let mut run = patient().env("DRAIN", "0.2").flags(["--delay", "10m"]).shell(&line).spawn();
    run.expect_stdout("waiting\n");
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on");
    std::fs::write(&gate, "").unwrap();
    let port = run.told("port");
    assert!(http::answers(port, "/"));
    run.hurry();
    run.expect_exit(5);
    assert!(run.stdout().contains("drained\n"));
}

#[test]
fn in_a_loop_that_starts_it_again() {
    needs!();
    let mut run = behind("while :; do $SERVER; done");
    let port = run.told("port");
    let slow = http::send(port, "/slow").unwrap();
    run.expect_stdout("slow\n");
    run.signal(libc::SIGTERM);
    assert!(slow.answered());
    run.expect_stdout("drained\n");
    // The loop ends with its shell; the server it had started anew is stopped in order too.
    run.expect_exit(128 + libc::SIGTERM);
    let out = run.stdout();
    assert_eq!(out.matches("port ").count(), out.matches("drained\n").count(), "{out}\n{}", run.stderr());
}

#[test]
fn behind_a_bash_with_an_exit_trap() {
    needs!("bash");
    let line = format!("trap 'echo bye' EXIT; {}; echo after=$?; exit 6", fixtures::SERVER_IN_SHELL);
    let init = patient().env("S", fixtures::SERVER);
    let out = drains(init.cmd(["bash", "-c", &line]).spawn(), 6);
    assert!(out.ends_with("drained\nafter=5\nbye\n"), "{out}");
}

#[test]
fn behind_a_script_that_forgot_its_exec() {
    needs!();
    let dir = tempdir();
    let script = dir.file("entrypoint", format!("#!/bin/sh\nset -e\n{}\n", fixtures::SERVER_IN_SHELL), 0o755);
    drains(patient().env("S", fixtures::SERVER).cmd([script]).files(dir).spawn(), 5);
}

#[test]
fn behind_the_shell_of_busybox() {
    needs!("busybox");
    let line = format!("{}; exit $?", fixtures::SERVER_IN_SHELL);
    drains(patient().env("S", fixtures::SERVER).cmd(["busybox", "sh", "-c", &line]).spawn(), 5);
}

#[test]
fn behind_a_node_that_runs_a_shell_as_npm_does() {
    needs!("node");
    let npm = "const child = require('child_process').spawn('/bin/sh', ['-c', process.argv[1] + '; exit $?'], \
               {stdio: 'inherit'});\n\
               for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));\n\
               child.on('exit', (code, signal) => process.exit(signal ? 143 : code));";
    let init = patient().env("S", fixtures::SERVER);
    drains(init.cmd(["node", "-e", npm, fixtures::SERVER_IN_SHELL]).spawn(), 143);
}

#[test]
fn behind_a_shell_that_is_stopped_itself() {
    needs!();
    let mut run = patient().env("DRAIN", "0.1").shell("$SERVER; exit $?").spawn();
    run.told("port");
    let shell = run.main();
    run.signal_to(shell, libc::SIGSTOP);
    until("the shell is stopped", || procfs::state(shell) == Some('T'));
    run.signal(libc::SIGTERM);
    run.expect_exit(5);
}

#[test]
fn behind_a_shell_when_its_first_thread_has_ended_before_the_others() {
    needs!();
    // To the kernel it is a zombie from then on, without memory and files of its own.
    let server = "import ctypes, os, signal, socket, threading\n\
                  signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n\
                  listener = socket.create_server(('127.0.0.1', 0))\n\
                  os.write(1, b'port %d\\n' % listener.getsockname()[1])\n\
                  def wait():\n \
                  signal.sigwait([15])\n \
                  os.write(1, b'drained\\n')\n \
                  os._exit(5)\n\
                  threading.Thread(target=wait).start()\n\
                  ctypes.CDLL(None).pthread_exit(0)";
    let line = format!("sleep 3600 & {}; exit $?", fixtures::SERVER_IN_SHELL);
    let init = Init::new().env("S", server).flags(["--delay", "300ms", "-v"]);
    let mut run = init.cmd(["/bin/sh", "-c", &line]).spawn();
    let port = run.told("port");
    let server = run.descendant("python3");
    until("its first thread has ended", || procfs::state(server) == Some('Z'));
    run.signal(libc::SIGTERM);
    run.expect_exit(5);
    let log = run.stderr();
    assert!(log.contains(&format!("watching port {port} by")), "{log}");
    let told = log.lines().find(|line| line.contains("draining: delay over")).unwrap();
    assert!(told.contains("SIGTERM to python3[") && !told.contains("sleep["), "{log}");
    assert_eq!(run.stdout().matches("drained\n").count(), 1, "{log}");
}

#[test]
fn a_reload_reaches_the_server_and_not_the_shell() {
    needs!();
    let line = format!("{}; exit $?", r#"python3 -I -S -c "$R" 15=7"#);
    let mut run = Init::new().env("R", fixtures::RECORDER).cmd(["/bin/sh", "-c", &line]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGHUP);
    run.expect_stdout("got 1\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
}

#[test]
fn a_trap_of_the_shell_comes_first_and_the_log_says_whom_it_waits_for() {
    needs!();
    let line = "trap 'echo trapped; exit 8' TERM; echo ready; sleep 3600; echo never";
    let mut run = Init::new().cmd(["/bin/sh", "-c", line]).spawn();
    run.expect_stdout("ready\n");
    let sleep = run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_stderr("its trap runs once sleep[");
    run.signal_to(sleep, libc::SIGKILL);
    run.expect_exit(8);
    assert_eq!(run.stdout(), "ready\ntrapped\n");
}

#[test]
fn a_trap_of_a_shell_in_wait_comes_at_once_as_the_log_says_it_may() {
    needs!();
    let line = "trap 'echo trapped; exit 8' TERM; sleep 3600 & echo ready; wait";
    let mut run = Init::new().cmd(["/bin/sh", "-c", line]).spawn();
    run.expect_stdout("ready\n");
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_stderr(", or at once if it is in `wait`");
    run.expect_exit(8);
}
