//! Idle means idle.

use crate::support::{Init, procfs};
use std::time::Duration;

/// How often it was woken, and how many threads it has.
fn switches_and_threads(pid: i32) -> (u64, u64, u64) {
    let number = |field| procfs::status(pid, field).unwrap().parse().unwrap();
    (number("voluntary_ctxt_switches"), number("nonvoluntary_ctxt_switches"), number("Threads"))
}

#[test]
fn five_seconds_pass_without_a_wake_up_in_one_thread() {
    needs!();
    let mut run = Init::new().flags(["--delay", "15s"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    // It is asleep once the count of its switches stands still.
    let mut before = switches_and_threads(run.pid);
    crate::support::until("it has gone to sleep", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = switches_and_threads(run.pid);
        procfs::state(run.pid) == Some('S') && std::mem::replace(&mut before, now) == now
    });
    run.goes_on_for(Duration::from_secs(5));
    assert_eq!(switches_and_threads(run.pid), before);
    assert_eq!(before.2, 1);
}

#[test]
fn the_delay_passes_without_a_wake_up() {
    needs!();
    let mut run = Init::new().flags(["--delay", "10m"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    run.signal(nix::libc::SIGTERM);
    run.expect_stderr("serving on");
    let mut before = switches_and_threads(run.pid);
    crate::support::until("it has gone to sleep", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = switches_and_threads(run.pid);
        procfs::state(run.pid) == Some('S') && std::mem::replace(&mut before, now) == now
    });
    run.goes_on_for(Duration::from_secs(2));
    assert_eq!(switches_and_threads(run.pid), before);
}
