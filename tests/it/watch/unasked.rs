//! Nothing of the watch runs before a stop signal, whatever was asked of it.

use crate::support::{Init, files::tempdir, fixtures, procfs};
use std::time::Duration;

const NOTHING: [&str; 2] = ["--delay", "15s"];
const ALL: [&str; 10] =
    ["--delay", "15s", "--quiet", "2s", "--min-delay", "3s", "--watch-port", "8080", "--wait-idle", "always"];

/// The system calls of lameduck from its start until it waits.
fn calls(flags: &[&str]) -> Vec<String> {
    let dir = tempdir();
    let trace = dir.path.join("trace");
    let strace = ["strace", "--quiet=all", "--output", trace.to_str().unwrap()];
    let mut run = Init::new().through(strace).flags(flags).python(fixtures::THINKING, &[]).spawn();
    run.told("port");
    let text = || std::fs::read_to_string(&trace).unwrap();
    crate::support::until("it waits", || text().lines().last().is_some_and(|last| last.starts_with("rt_sigtimedwait")));
    text().lines().filter_map(|line| Some(line.split_once('(')?.0.to_owned())).collect()
}

#[test]
fn the_system_calls_are_those_of_a_lameduck_that_watches_nothing() {
    needs!("strace");
    let (nothing, all) = (calls(&NOTHING), calls(&ALL));
    assert!(nothing.len() > 20, "{nothing:?}");
    assert_eq!(nothing, all);
}

#[test]
fn it_holds_nothing_starts_nothing_and_is_not_woken() {
    needs!();
    let start = |flags: &[&str]| {
        let mut run = Init::new().flags(flags).python(fixtures::THINKING, &[]).spawn();
        run.told("port");
        run
    };
    let holds = |pid| {
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        let field = |name| procfs::status(pid, name).unwrap();
        (descriptors, field("Threads"), field("VmData"))
    };
    let woken = |pid| procfs::status(pid, "voluntary_ctxt_switches").unwrap();
    let (mut nothing, mut all) = (start(&NOTHING), start(&ALL));
    let mut before = String::new();
    crate::support::until("it has gone to sleep", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = woken(all.pid);
        procfs::state(all.pid) == Some('S') && std::mem::replace(&mut before, now.clone()) == now
    });
    nothing.goes_on_for(Duration::from_millis(1));
    all.goes_on_for(Duration::from_secs(2));
    assert_eq!(woken(all.pid), before);
    assert_eq!(holds(all.pid), holds(nothing.pid));
}
