//! Orphans: every one is reaped, and none is taken for the server.

use crate::support::{Init, Running, alone, fixtures, procfs, until};
use nix::libc;

/// Whether every orphan has ended and was reaped: only the server is left.
fn all_are_reaped(run: &Running) -> bool {
    procfs::children(run.pid).len() == 1
}

#[test]
fn five_thousand_orphans_at_once_leave_no_zombie() {
    needs!();
    let _alone = alone();
    let mut run = Init::new().python(fixtures::ORPHANS, &["5000"]).spawn();
    run.expect_stdout("orphaned\n");
    until("all orphans are reaped", || all_are_reaped(&run));
    assert!(!run.ended());
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
}

#[test]
fn orphans_are_told_of_when_asked_for() {
    needs!();
    let mut run = Init::new().flags(["--warn-on-reap"]).python(fixtures::ORPHANS, &["5"]).spawn();
    run.expect_stdout("orphaned\n");
    until("all orphans are reaped", || all_are_reaped(&run));
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    assert_eq!(run.stderr().matches("exited with status 3; reaped").count(), 5, "{}", run.stderr());
}

#[test]
fn orphans_come_to_it_when_it_is_not_process_1() {
    needs!();
    let mut run = Init::new().not_pid_one().flags(["-s", "-w"]).python(fixtures::ORPHANS, &["5"]).spawn();
    run.expect_stdout("orphaned\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    assert_eq!(run.stderr().matches("; reaped").count(), 5, "{}", run.stderr());
}

#[test]
fn a_command_that_asked_to_be_traced_may_become_another_program() {
    needs!();
    let script = "import ctypes, os\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\nos.execv('/bin/sh', ['sh', '-c', 'exit 3'])";
    Init::new().python(script, &[]).run().expect_exit(3);
    // A TRAP of its own is one.
    let script = "import ctypes, os, signal\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\nsignal.raise_signal(5)";
    Init::new().python(script, &[]).run().expect_exit(128 + libc::SIGTRAP);
}

#[test]
fn an_orphan_that_lives_on_does_not_hold_up_the_end() {
    needs!();
    let mut run = Init::new()
        .cmd(["/bin/sh", "-c", "sleep 600 & while ! grep -qx sleep /proc/$!/comm; do :; done; exit 6"])
        .run();
    run.expect_exit(6);
    assert!(run.stderr().contains("sleep["), "the end names what it killed: {}", run.stderr());
}

#[test]
fn thousands_that_are_left_behind_end_by_the_signal_they_are_told() {
    needs!();
    let _alone = alone();
    let server = "for _ in range(3000): os.posix_spawn('/bin/sleep', ['sleep', '600'], os.environ)\n\
                  signal.signal(15, lambda *_: os._exit(6))";
    let mut run = Init::new().flags(["--linger", "10m"]).python(&fixtures::handling(server), &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(6);
    let log = run.stderr();
    assert!(log.contains("left behind: SIGTERM to sleep[") && log.contains(" and 2992 more; "), "{log}");
    assert_eq!(log.matches("left behind: ").count(), 1, "each is told once: {log}");
    assert!(!log.contains("SIGKILL to "), "{log}");
}
