//! The stop, phase by phase, with a server that serves.

use crate::support::{Init, NO_DUPLICATE, Running, fixtures, http, procfs, until};
use lameduck::core::policy::REMEMBERED;
use nix::libc;
use std::time::{Duration, Instant};

/// A server that answers, and its port.
fn server(flags: &[&str], environ: &[(&str, &str)]) -> (Running, u32) {
    let init = environ.iter().fold(Init::new().flags(flags), |init, (name, value)| init.env(name, value));
    let mut run = init.python(fixtures::SERVER, &[]).spawn();
    let port = run.told("port");
    assert!(http::answers(port, "/"));
    (run, port)
}

/// How long the stop took, by the last line of the log.
pub(crate) fn stop_took(run: &mut Running) -> Duration {
    let log = run.stderr();
    let last = log.lines().rfind(|line| line.contains("lameduck: gone: ")).unwrap_or_else(|| panic!("no end: {log}"));
    let (_, after) = last.rsplit_once("(elapsed ").unwrap_or_else(|| panic!("no time: {last}"));
    Duration::from_secs_f64(after.split('s').next().unwrap().parse().unwrap())
}

#[test]
fn the_server_serves_through_the_delay_and_finishes_what_is_in_flight() {
    needs!();
    let (mut run, port) = server(&["--delay", "3s"], &[("STATUS", "42"), ("SLOW", "5")]);
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 3s, then SIGTERM to python3[2]");
    let slow = http::send(port, "/slow").unwrap();
    run.expect_stdout("slow\n");
    let mut answered = 0;
    loop {
        // Only once the delay is over may one be refused.
        if !http::answers(port, "/") {
            assert!(began.elapsed() >= Duration::from_secs(3), "a request in the delay was refused: {}", run.stderr());
            break;
        }
        if run.stdout().contains("got 15\n") {
            break;
        }
        answered += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    run.expect_stdout("got 15\n");
    assert!(answered > 0 && began.elapsed() >= Duration::from_secs(3), "{answered} answered");
    assert!(slow.answered(), "a request in flight was cut off");
    run.expect_exit(42);
    assert!(run.stdout().contains("drained\n"));
    assert!(stop_took(&mut run) >= Duration::from_secs(4));
}

#[test]
fn a_second_stop_signal_ends_the_delay() {
    needs!();
    let (mut run, _) = server(&["--delay", "10m"], &[]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    run.goes_on_for(NO_DUPLICATE);
    assert!(!run.stdout().contains("got"));
    run.hurry();
    run.expect_stderr("hurried by SIGTERM");
    run.expect_exit(0);
    assert_eq!(run.stdout().matches("got 15\n").count(), 1);
    assert!(run.stdout().contains("drained\n"));
}

#[test]
fn a_stop_delivered_twice_is_one_stop() {
    needs!();
    let (mut run, port) = server(&["--delay", "1s"], &[("DRAIN", "0.1")]);
    let began = Instant::now();
    // The second is there before the first is taken, however late this thread is with it.
    let init = run.pid;
    run.signal(libc::SIGSTOP);
    until("it stands still", || procfs::state(init) == Some('T'));
    run.signal(libc::SIGTERM);
    run.signal(libc::SIGQUIT);
    run.signal(libc::SIGCONT);
    run.expect_stdout("got ");
    assert!(began.elapsed() >= Duration::from_secs(1), "the delay was cut");
    run.expect_exit(0);
    assert_eq!(run.stdout().matches("got ").count(), 1, "port {port}: {}", run.stdout());
}

#[test]
fn repeated_stop_signals_can_be_ignored() {
    needs!();
    let (mut run, _) = server(&["--delay", "3s", "--repeat", "ignore"], &[("DRAIN", "0.1")]);
    let began = Instant::now();
    for _ in 0..3 {
        run.signal(libc::SIGTERM);
        run.goes_on_for(NO_DUPLICATE);
    }
    run.expect_stdout("got 15\n");
    assert!(began.elapsed() >= Duration::from_secs(3), "the delay was cut");
    run.expect_exit(0);
    assert!(run.stderr().contains("ignored, as --repeat says"), "{}", run.stderr());
}

#[test]
fn at_the_drain_deadline_everything_is_killed() {
    needs!();
    let mut run = Init::new().flags(["--drain-timeout", "500ms"]).python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    run.expect_exit(137);
    assert!(began.elapsed() >= Duration::from_millis(500));
    assert!(run.stderr().contains("the drain did not end within 500ms"), "{}", run.stderr());
    assert_eq!(run.stderr().matches("python3[").count(), 4, "both are named as killed: {}", run.stderr());
}

#[test]
fn a_drain_of_nothing_asks_and_kills_in_one_breath() {
    needs!();
    let mut run = Init::new().flags(["--drain-timeout", "0"]).python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    let log = run.stderr();
    let asked = log
        .find("lameduck: draining: SIGTERM from outside the container; SIGTERM to python3[2]; SIGKILL 0s later")
        .unwrap_or_else(|| panic!("not asked: {log}"));
    assert!(log.find("SIGKILL to python3[2]").is_some_and(|killed| asked < killed), "{log}");
}

#[test]
fn a_drain_without_deadline_takes_what_it_takes() {
    needs!();
    let (mut run, _) = server(&["--drain-timeout", "none"], &[("DRAIN", "0.5"), ("STATUS", "3")]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("no drain deadline");
    run.expect_exit(3);
}

#[test]
fn a_server_that_ends_in_the_delay_is_told_of_at_once() {
    needs!();
    let (mut run, _) = server(&["--delay", "10m"], &[]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on");
    let main = run.main();
    run.signal_to(main, libc::SIGKILL);
    run.expect_exit(137);
    assert!(run.stderr().contains("in the delay"), "{}", run.stderr());
}

#[test]
fn other_signals_pass_in_the_delay_and_change_nothing() {
    needs!();
    let mut run = Init::new().flags(["--delay", "3s"]).recorder(&["15=7"]);
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    for (signal, seen) in
        [(libc::SIGHUP, "got 1\n"), (libc::SIGUSR1, "got 10\n"), (libc::SIGINT, "got 2\n"), (40, "got 40\n")]
    {
        run.signal(signal);
        run.expect_stdout(seen);
    }
    assert!(!run.stdout().contains("got 15\n") || began.elapsed() >= Duration::from_secs(3));
    run.expect_exit(7);
    assert!(began.elapsed() >= Duration::from_secs(3));
    assert!(run.stdout().ends_with("got 15\n"));
}

#[test]
fn a_second_term_in_the_drain_reaches_the_server() {
    needs!();
    let (mut run, _) = server(&[], &[("DRAIN", "600")]);
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    run.hurry();
    run.expect_stdout_times("got 15\n", 2);
    run.expect_exit(99);
}

#[test]
fn interrupt_in_the_drain_reaches_the_server() {
    needs!();
    let mut run = Init::new().recorder(&["2=9"]);
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    run.signal(libc::SIGINT);
    run.expect_exit(9);
    assert_eq!(run.stdout(), "ready\ngot 15\ngot 2\n", "and no CONT, as it was not stopped");
}

#[test]
fn a_stopped_server_is_woken_to_drain() {
    needs!();
    let (mut run, _) = server(&[], &[("DRAIN", "0.1"), ("STATUS", "4")]);
    let main = run.main();
    run.signal_to(main, libc::SIGSTOP);
    until("the server is stopped", || procfs::state(main) == Some('T'));
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(run.stdout().contains("drained\n"));
}

#[test]
fn a_launcher_that_has_become_another_program_is_stopped_as_what_it_is() {
    needs!();
    let launcher = "def become(*_): open('/proc/self/comm', 'w').write('apache2'); os.write(1, b'became\\n')\n\
                    signal.signal(signal.SIGUSR1, become)\n\
                    signal.signal(signal.SIGWINCH, lambda *_: os._exit(6))";
    let mut run = Init::new().flags(["--delay", "300ms"]).python(&fixtures::handling(launcher), &[]).spawn();
    run.expect_stdout("ready\n");
    // Looked at, and found to be a python.
    run.signal(libc::SIGUSR1);
    run.expect_stdout("became\n");
    // What was seen is remembered for that long.
    run.goes_on_for(REMEMBERED + Duration::from_millis(100));
    run.signal(libc::SIGWINCH);
    run.expect_stderr("serving on for 300ms, then SIGWINCH to apache2[2]");
    run.expect_exit(6);
    assert!(run.stderr().contains("gone: apache2[2] exited with status 6 while draining"), "{}", run.stderr());
}

/// A helper in its own session that says `tidied` half a second after TERM, or never ends.
fn with_helper(flags: &[&str], on_term: &str) -> Running {
    let helper =
        format!("setsid sh -c 'trap \"{on_term}\" TERM; echo helping; while :; do sleep 0.1; done' & exec $SERVER");
    let mut run = Init::new().flags(flags).env("DRAIN", "0.1").env("STATUS", "4").shell(&helper).spawn();
    run.expect_stdout("helping\n");
    run.told("port");
    run
}

#[test]
fn what_the_server_leaves_behind_is_told_and_given_time() {
    needs!();
    // Not the whole of it: the harness would not wait that long.
    let mut run = with_helper(&["--linger", "10m"], "sleep 0.5; echo tidied; exit");
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    let out = run.stdout();
    assert!(out.find("drained\n").unwrap() < out.find("tidied\n").unwrap(), "{out}");
}

#[test]
fn what_outlives_the_linger_is_killed_and_named() {
    needs!();
    let mut run = with_helper(&["--linger", "500ms"], ":");
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(run.stderr().contains("what was left behind did not end in time"), "{}", run.stderr());
    assert!(run.stderr().lines().last().unwrap().contains("; killed: "), "{}", run.stderr());
}

#[test]
fn a_stop_signal_in_the_sweep_ends_it() {
    needs!();
    let mut run = with_helper(&["--linger", "10m"], ":");
    run.signal(libc::SIGTERM);
    run.expect_stderr("left behind: ");
    run.hurry();
    run.expect_exit(4);
    let log = run.stderr();
    assert!(log.contains("lameduck: sweeping: SIGTERM again, from outside the container"), "{log}");
    assert!(log.contains("lameduck: warning: sweeping: SIGKILL to sh["), "{log}");
    assert!(!log.contains("did not end in time"), "it was not given its time: {log}");
}

#[test]
fn the_first_stop_signal_is_no_repetition_though_the_server_has_ended_by_itself() {
    needs!();
    let deaf = "trap '' TERM; sleep 600 & exit 4";
    let hook = ["--hook-timeout", "10m", "--on-exit", "sh -c 'echo stuck; sleep 600'"];
    for (flags, line, when, cut) in [
        (
            &["--linger", "10m"][..],
            deaf,
            "left behind: ",
            "sweeping: SIGTERM from outside the container: what was left",
        ),
        (&hook, "exit 4", "stuck\n", "gone: SIGTERM from outside the container: the on-exit hook"),
    ] {
        let mut run = Init::new().flags(flags).cmd(["/bin/sh", "-c", line]).spawn();
        run.expect_stderr(when);
        run.signal(libc::SIGTERM);
        run.expect_exit(4);
        let log = run.stderr();
        assert!(log.contains(cut) && !log.contains("again"), "{log}");
    }
}

#[test]
fn with_nothing_left_nothing_is_waited_for() {
    needs!();
    // For either, the harness would not wait that long.
    let (mut run, _) = server(&["--linger", "10m", "--drain-timeout", "10m"], &[("DRAIN", "0.1")]);
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
}

#[test]
fn a_process_that_joined_the_namespace_changes_nothing() {
    needs!("nsenter");
    let (mut run, _) = server(&["--delay", "500ms", "--linger", "10m"], &[("STATUS", "4"), ("DRAIN", "0.1")]);
    let mut guest = run.inside(&["/bin/sleep", "600"]).spawn().unwrap();
    let guest_pid = i32::try_from(guest.id()).unwrap();
    // nsenter forks into the namespace: the sleep is its child.
    until("the guest runs", || !procfs::children(guest_pid).is_empty());
    run.signal(libc::SIGTERM);
    // Nor is it waited for: the harness would not wait that long.
    run.expect_exit(4);
    assert!(!run.stderr().contains("sleep"), "the guest is none of ours: {}", run.stderr());
    guest.wait().unwrap();
}
