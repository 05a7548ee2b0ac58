//! `--on-stop` and `--on-exit`: run, told what they need, bounded, and never in the way.

use crate::support::{Init, Running, fixtures, procfs, until};
use nix::libc;
use std::time::{Duration, Instant};

/// The server of the tests under these flags; it drains for a tenth of a second and leaves with 4.
fn server(flags: &[&str]) -> Running {
    let mut run = Init::new()
        .flags(flags)
        .env("DRAIN", "0.1")
        .env("STATUS", "4")
        .env("LAMEDUCK_LINGER", "5s")
        .env("LAMEDUCK_PHASE", "stale")
        .python(fixtures::SERVER, &[])
        .spawn();
    run.told("port");
    run
}

/// A hook that says what it was told.
const TELL: &str = "/bin/sh -c 'echo \"hook: $LAMEDUCK_PHASE ${LAMEDUCK_SIGNAL-unset} ${LAMEDUCK_MAIN_PID-unset} \
                    ${LAMEDUCK_EXIT_CODE-unset} ${LAMEDUCK_LINGER-unset}\"; readlink /proc/self/fd/0'";

#[test]
fn hooks_know_the_stop_and_write_to_our_log() {
    needs!();
    let mut run = server(&["--delay", "300ms", "--on-stop", TELL, "--on-exit", TELL]);
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    let log = run.stderr();
    assert!(log.contains("hook: lame-duck SIGTERM 2 unset unset\n"), "{log}");
    assert!(log.contains("hook: gone SIGTERM unset 4 unset\n"), "{log}");
    assert_eq!(log.matches("/dev/null\n").count(), 2, "a hook has nothing to read: {log}");
    assert!(!run.stdout().contains("hook"), "standard output is the server's");
    let order = [
        "serving on for the on-stop hook, 5s at the most, and 300ms after it",
        "the on-stop hook ended well",
        "delay over",
    ];
    let places: Vec<_> =
        order.iter().map(|text| log.find(text).unwrap_or_else(|| panic!("no {text}: {log}"))).collect();
    assert!(places.is_sorted(), "{log}");
}

#[test]
fn without_a_stop_there_is_no_signal_to_know() {
    needs!();
    let mut run = Init::new().flags(["--on-stop", TELL, "--on-exit", TELL]).cmd(["/bin/sh", "-c", "exit 3"]).run();
    run.expect_exit(3);
    assert_eq!(run.stderr().matches("hook: gone unset unset 3 unset\n").count(), 1, "{}", run.stderr());
    assert_eq!(run.stderr().matches("hook: ").count(), 1, "{}", run.stderr());
}

#[test]
fn the_delay_begins_when_the_hook_has_ended() {
    needs!();
    let began = Instant::now();
    let mut run = server(&["--delay", "500ms", "--on-stop", "sleep 0.5"]);
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    assert!(began.elapsed() >= Duration::from_secs(1));
    run.expect_exit(4);
}

#[test]
fn hooks_that_fail_change_nothing_but_the_log() {
    needs!();
    for (hook, told) in [
        ("sh -c 'exit 7'", "hook exited with status 7"),
        ("sh -c 'kill -SEGV $$'", "hook was ended by SIGSEGV"),
        ("/no/such/hook", "hook did not run: cannot run \"/no/such/hook\": no such"),
        ("no-such-hook x", "hook did not run: cannot run \"no-such-hook\": no such program in PATH"),
        ("/etc/passwd", "hook did not run: cannot run \"/etc/passwd\": permission denied"),
    ] {
        let mut run = server(&["--delay", "100ms", "--on-stop", hook, "--on-exit", hook]);
        run.signal(libc::SIGTERM);
        run.expect_exit(4);
        let log = run.stderr();
        for name in ["on-stop", "on-exit"] {
            assert_eq!(log.matches(&format!("the {name} {told}")).count(), 1, "{hook}: {log}");
        }
        assert!(run.stdout().contains("drained\n") && log.contains("delay over"), "{hook}: {log}");
    }
}

#[test]
fn a_hook_that_is_not_there_is_told_of_at_the_start() {
    needs!();
    let mut run = Init::new().flags(["--on-exit", "no-such-hook"]).cmd(["/bin/true"]).run();
    run.expect_exit(0);
    assert!(run.stderr().contains("warning: --on-exit: there is no program \"no-such-hook\""), "{}", run.stderr());
}

/// Ignores TERM, and so do its two children, one of them in a session of its own.
const STUBBORN: &str = "sh -c 'trap \"\" TERM; sleep 600 & setsid sleep 601 & echo stuck; wait; sleep 602'";

/// How many processes of that name run under it.
fn count(run: &Running, comm: &str) -> usize {
    let alive = |pid: &i32| procfs::comm(*pid) == comm && procfs::state(*pid) != Some('Z');
    procfs::descendants(run.pid).iter().filter(|pid| alive(pid)).count()
}

#[test]
fn a_hook_that_takes_too_long_is_killed_with_its_children() {
    needs!();
    let mut run = server(&["--delay", "10m", "--hook-timeout", "3s", "--on-stop", STUBBORN]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    until("both children run", || count(&run, "sleep") == 2);
    run.expect_stderr("the on-stop hook took too long and is killed");
    until("none of them is left", || count(&run, "sleep") + count(&run, "sh") == 0);
    run.hurry();
    run.expect_exit(4);
    assert!(!run.stderr().contains("left behind"), "{}", run.stderr());
}

#[test]
fn a_second_stop_signal_does_not_wait_for_a_hook() {
    needs!();
    let mut run = server(&["--delay", "10m", "--hook-timeout", "10m", "--on-stop", STUBBORN]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    run.hurry();
    run.expect_exit(4);
    assert!(run.stderr().contains("hurried by SIGTERM") && !run.stderr().contains("left behind"), "{}", run.stderr());
}

#[test]
fn a_crash_while_a_hook_runs_kills_the_hook_and_sweeps_none_of_it() {
    needs!();
    let mut run = server(&["--delay", "10m", "--hook-timeout", "10m", "--on-stop", STUBBORN]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    until("both children run", || count(&run, "sleep") == 2);
    let server = run.descendant("python3");
    run.signal_to(server, libc::SIGKILL);
    run.expect_exit(137);
    let log = run.stderr();
    assert!(log.contains("in the delay") && !log.contains("left behind"), "{log}");
}

#[test]
fn what_a_hook_leaves_behind_is_swept_like_anything_else() {
    needs!();
    let mut run = server(&["--delay", "100ms", "--on-stop", "sh -c 'sleep 600 >/dev/null 2>&1 & :'"]);
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(run.stderr().contains("left behind: SIGTERM to sleep["), "{}", run.stderr());
}

#[test]
fn an_exit_hook_is_bounded_and_cut_by_a_stop_signal() {
    needs!();
    let mut run = server(&["--hook-timeout", "200ms", "--on-exit", STUBBORN]);
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(run.stderr().contains("the on-exit hook took too long"), "{}", run.stderr());

    let mut run = server(&["--hook-timeout", "10m", "--on-exit", STUBBORN]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    run.hurry();
    run.expect_exit(4);
    let log = run.stderr();
    assert!(
        log.contains("gone: SIGTERM again") && log.contains("the on-exit hook is not waited for any longer"),
        "{log}"
    );
}

#[test]
fn signals_pass_while_a_hook_runs() {
    needs!();
    let mut run = Init::new()
        .flags(["--delay", "10m", "--on-stop", "sh -c 'echo stuck; sleep 600'", "--hook-timeout", "10m"])
        .python(fixtures::RECORDER, &["10=9"])
        .spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    run.signal(libc::SIGHUP);
    run.expect_stdout("got 1\n");
    run.signal(libc::SIGUSR1);
    run.expect_exit(9);
}

#[test]
fn a_hook_is_no_orphan_to_warn_of() {
    needs!();
    let mut run = server(&["-w", "--on-stop", "true", "--on-exit", "true"]);
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(!run.stderr().contains("reaped"), "{}", run.stderr());
}
