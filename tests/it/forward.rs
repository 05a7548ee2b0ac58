//! Signals reach the server: each of them, once, and a stop signal always.

use crate::support::files::tempdir;
use crate::support::{Init, Running, alone, fixtures, free_port, procfs, scaled, until};
use lameduck::core::policy::REMEMBERED;
use nix::libc;
use std::time::{Duration, Instant};

/// All that can be held and is not about a child's end.
fn holdable() -> impl Iterator<Item = i32> {
    (1..=64).filter(|signal| !matches!(*signal, libc::SIGKILL | libc::SIGSTOP | libc::SIGCHLD | 32 | 33))
}

#[test]
fn every_signal_that_can_be_held_reaches_the_server_once() {
    needs!();
    let mut run = Init::new().flags(["--stop-on", "TERM"]).recorder(&["15=7"]);
    // TERM last: it is the stop.
    let all: Vec<i32> = holdable().filter(|signal| *signal != libc::SIGTERM).chain([libc::SIGTERM]).collect();
    for signal in &all {
        run.signal(*signal);
        run.expect_stdout(&format!("got {signal}\n"));
    }
    run.expect_exit(7);
    let seen: Vec<String> = run.stdout().lines().skip(1).map(str::to_owned).collect();
    let expected: Vec<String> = all.iter().map(|signal| format!("got {signal}")).collect();
    assert_eq!(seen, expected);
}

#[test]
fn quit_stops_as_term_does_and_reaches_the_server_as_what_it_is() {
    needs!();
    let mut run = Init::new().env("DRAIN", "0.1").env("STATUS", "7").python(fixtures::SERVER, &[]).spawn();
    run.told("port");
    run.signal(libc::SIGQUIT);
    run.expect_exit(7);
    assert!(run.stdout().ends_with("got 3\ndrained\n"), "{}", run.stdout());
}

#[test]
fn a_server_that_waits_for_its_signals_is_seen_to_handle_them() {
    needs!();
    let mut run = Init::new().recorder(&["3=7"]);
    // While it waits the kernel shows none of them as blocked.
    let main = run.main();
    until("the server waits", || !procfs::holds(main, "SigBlk", libc::SIGQUIT));
    run.signal(libc::SIGQUIT);
    run.expect_exit(7);
    assert_eq!(run.stdout(), "ready\ngot 3\n");
}

#[test]
fn a_storm_of_signals_does_not_lose_the_stop() {
    needs!();
    let _alone = alone();
    let mut run = Init::new().recorder(&["15=7"]);
    let storm = [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH, libc::SIGINT, 34, 50, 64];
    for count in 0..100_000 {
        // The queue of real-time signals has an end; the others merge.
        let _ = run.try_signal(storm[count % storm.len()]);
        if count % 1_000 == 0 {
            run.stdout();
        }
    }
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    let out = run.stdout();
    assert_eq!(out.matches("got 15\n").count(), 1);
    // Those with a higher number may wait behind TERM, on which the recorder leaves.
    for signal in storm.into_iter().filter(|signal| *signal < libc::SIGTERM) {
        assert!(out.contains(&format!("got {signal}\n")), "signal {signal} never came through");
    }
}

#[test]
fn a_storm_that_never_ends_does_not_keep_the_stop_of_a_server_behind_a_shell_waiting() {
    needs!();
    let _alone = alone();
    // Each HUP takes a look at who is behind the shell, and there is another one when it is over; and an
    // ALRM with it, which takes none.
    let server = "signal.signal(1, signal.SIG_IGN)\n\
                  if not (os.fork() and os.fork()):\n \
                  while True: os.kill(1, 1); os.kill(1, 14)\n\
                  signal.signal(15, lambda *_: os._exit(7))";
    let port = format!("127.0.0.1:{}", free_port());
    for health in [&[][..], &["--health-listen", &port]] {
        let line = format!("trap '' ALRM; {}; exit $?", fixtures::SERVER_IN_SHELL);
        let mut run =
            Init::new().env("S", &fixtures::handling(server)).flags(health).cmd(["/bin/sh", "-c", &line]).spawn();
        run.expect_stdout("ready\n");
        run.signal(libc::SIGTERM);
        run.expect_exit(7);
    }
}

/// Sends TERM as soon as the kernel would not drop it any more, and sees the end.
fn stop_at_the_first_moment(flags: &[&str]) {
    for count in 0..200 {
        let mut run = Init::new().flags(flags).cmd(["/bin/sleep", "600"]).spawn();
        let began = Instant::now();
        // Once it waits for signals it no longer shows them as blocked; by then it has its child.
        while !procfs::holds(run.pid, "SigBlk", libc::SIGTERM) && procfs::children(run.pid).is_empty() {
            assert!(began.elapsed() < scaled(Duration::from_secs(20)), "run {count}: signals are never blocked");
        }
        run.signal(libc::SIGTERM);
        run.expect_exit(128 + libc::SIGTERM);
    }
}

#[test]
fn a_stop_at_the_first_moment_is_not_lost() {
    needs!();
    stop_at_the_first_moment(&[]);
}

#[test]
fn a_stop_at_the_first_moment_is_not_lost_in_group_mode() {
    needs!();
    stop_at_the_first_moment(&["--group"]);
}

#[test]
fn a_signal_that_may_not_be_sent_is_a_log_line() {
    needs!("setpriv");
    let recorder = fixtures::python(fixtures::RECORDER, &["10=7"]);
    let other = ["setpriv", "--reuid", "65534", "--clear-groups", "--"].map(Into::into);
    let command: Vec<std::ffi::OsString> = other.into_iter().chain(recorder).collect();
    let mut run = Init::new().through(["setpriv", "--bounding-set", "-kill", "--"]).cmd(command).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGHUP);
    run.expect_stderr("SIGHUP could not be sent");
    run.goes_on_for(Duration::from_millis(100));
    let main = run.main();
    run.signal_to(main, libc::SIGUSR1);
    run.expect_exit(7);
    assert_eq!(run.stdout(), "ready\ngot 10\n");
}

#[test]
fn a_signal_to_what_was_seen_to_be_no_shell_costs_two_system_calls() {
    needs!("strace", "mount");
    // What is not there need not be looked for each time either.
    for has_proc in [true, false] {
        costs_two_system_calls(has_proc);
    }
}

fn costs_two_system_calls(has_proc: bool) {
    let line = if has_proc { "exec \"$0\" \"$@\"" } else { "mount -t tmpfs none /proc; exec \"$0\" \"$@\"" };
    let dir = tempdir();
    let trace = dir.path.join("trace");
    let strace = ["strace", "--quiet=all", "--output", trace.to_str().unwrap()];
    let mut run = Init::new().through(strace).through(["sh", "-c", line]).recorder(&["15=7"]);
    let lameduck = run.descendant("lameduck");
    let began = Instant::now();
    for count in 1..=50 {
        run.signal_to(lameduck, libc::SIGHUP);
        run.expect_stdout_times("got 1\n", count);
    }
    // What was seen is remembered for so long.
    let most_looks = began.elapsed().as_secs() / REMEMBERED.as_secs() + 1;
    run.signal_to(lameduck, libc::SIGTERM);
    run.expect_exit(7);
    let text = std::fs::read_to_string(trace).unwrap();
    let taken = text.split("rt_sigtimedwait(").filter(|from| from.lines().next().unwrap().contains("=SIGHUP"));
    let (passed_on, looked): (Vec<_>, Vec<_>) =
        taken.partition(|from| from.lines().count() == 2 && from.lines().nth(1).unwrap().starts_with("kill("));
    assert_eq!(passed_on.len() + looked.len(), 50, "{text}");
    assert!(looked.len() as u64 <= most_looks, "looked {} times: {text}", looked.len());
    // After a look it is asked once whether other signals wait. The stop signal is a look too.
    let most_asked = if has_proc { most_looks + 1 } else { 0 };
    assert!(text.matches("EAGAIN").count() as u64 <= most_asked, "{text}");
}

#[test]
fn signals_are_rewritten_and_dropped_as_asked() {
    needs!();
    let flags = ["--rewrite", "HUP:USR1,USR2:0", "-r", "RTMIN+3:RTMAX", "-r", "TERM:INT"];
    let mut run = Init::new().flags(flags).recorder(&["2=7"]);
    for (signal, seen) in [(libc::SIGHUP, "got 10\n"), (libc::SIGUSR2, ""), (37, "got 64\n")] {
        run.signal(signal);
        run.expect_stdout(seen);
    }
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    assert_eq!(run.stdout(), "ready\ngot 10\ngot 64\ngot 2\n");
}

/// A recorder and, in the same process group, another that is its child.
fn pair(flags: &[&str]) -> Running {
    let two = "import os\npid = os.fork()\nos.environ['WHO'] = 'main' if pid else 'child'\n\
               import signal, sys\nevery = signal.valid_signals() - {9, 19, 17}\n\
               signal.pthread_sigmask(signal.SIG_BLOCK, every)\n\
               os.write(1, b'ready\\n')\n\
               while True:\n n = signal.sigwaitinfo(every).si_signo\n \
               os.write(1, b'%s got %d\\n' % (os.environ['WHO'].encode(), n))\n if n == 15: os._exit(0)\n";
    let mut run = Init::new().flags(flags).python(two, &[]).spawn();
    run.expect_stdout_times("ready\n", 2);
    run
}

#[test]
fn only_the_server_itself_gets_a_signal_unless_its_group_is_asked_for() {
    needs!();
    let mut run = pair(&[]);
    run.signal(libc::SIGUSR1);
    run.expect_stdout("main got 10\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    let out = run.stdout();
    assert!(!out.contains("child got 10"), "{out}");
    assert!(out.contains("child got 15\n"), "swept: {out}");

    let mut run = pair(&["--group"]);
    run.signal(libc::SIGUSR1);
    run.expect_stdout("main got 10\n");
    run.expect_stdout("child got 10\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    let out = run.stdout();
    assert_eq!(out.matches("got 15\n").count(), 2, "{out}");
    assert!(run.stderr().contains("SIGTERM to python3[2] and its group; "), "{}", run.stderr());
}

#[test]
fn a_server_that_left_its_group_is_signalled_alone() {
    needs!();
    let leave = "import time\npid = os.fork()\nif pid == 0:\n time.sleep(600)\nos.setpgid(pid, pid)\n\
                 os.setpgid(0, pid)\nsignal.signal(15, lambda *_: os._exit(7))";
    let mut run = Init::new().flags(["--group"]).python(&fixtures::handling(leave), &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
}
