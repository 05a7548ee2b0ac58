//! Signals: which arrive, where, and as what.

use super::{Init, Seen, Situation, all, compare, dumb_init, needs_originals, of_words, situation, tini};
use crate::support::{Running, fixtures, kill, procfs, until};
use nix::libc;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The last signal there is: when it has arrived so has everything that was sent before, since the
/// kernel hands out the lowest number first.
const LAST: i32 = 64;

pub(super) fn table() -> Vec<Situation> {
    vec![
        situation("every signal but those of job control", all(""), |init| {
            hears_all(init, |n| !matches!(n, libc::SIGCHLD | libc::SIGCONT | 20..=22))
        }),
        situation("every signal, to the whole group", [Some("-g"), None, Some("-g")], |init| {
            hears_all(init, |n| !matches!(n, libc::SIGCHLD | libc::SIGCONT | 20..=22))
        }),
        situation("every signal, to the main process alone", dumb_init("-c"), |init| {
            hears_all(init, |n| !matches!(n, libc::SIGCHLD | libc::SIGCONT | 20..=22))
        }),
        situation("CHLD by hand", all(""), |init| hears(init, &[libc::SIGCHLD])),
        situation("CONT", all(""), |init| hears(init, &[libc::SIGCONT])),
        situation("TERM, TERM and QUIT", all(""), |init| hears(init, &[15, 15, 3])),
        situation("TSTP", [Some(""), None, Some("")], |init| hears(init, &[20])),
        situation("TTIN and TTOU", [Some(""), None, Some("")], |init| hears(init, &[21, 22])),
        situation("TERM reaches the main process or its group", [Some("-g"), Some(""), Some("-g")], family),
        situation("TERM reaches the main process alone", [Some(""), Some("-c"), Some("")], family),
        situation("the group by variable", [Some(""), Some(""), None], family)
            .environ(&[("TINI_KILL_PROCESS_GROUP", "1"), ("DUMB_INIT_SETSID", "0")]),
        situation("the group by an empty variable", [Some(""), Some(""), None], family)
            .environ(&[("TINI_KILL_PROCESS_GROUP", ""), ("DUMB_INIT_SETSID", "")]),
        situation("the group by a variable that says no", [Some(""), Some(""), None], family)
            .environ(&[("TINI_KILL_PROCESS_GROUP", "false"), ("DUMB_INIT_SETSID", "false")]),
        situation("rewritten", dumb_init("-r 15:3 -r 1:10"), |init| hears(init, &[15, 1, 2])),
        situation("rewritten to nothing", dumb_init("--rewrite 15:0"), |init| hears(init, &[15, 1])),
        situation("rewritten twice", dumb_init("-r 15:3 -r 15:10"), |init| hears(init, &[15])),
        situation("rewritten, to the main process alone", dumb_init("-c -r 15:3"), |init| hears(init, &[15])),
        situation("real-time signals are not rewritten with the others", dumb_init("-r 15:3"), |init| {
            hears(init, &[34, 50])
        }),
        situation("stopped by TSTP, not being process 1", all(""), |init| stops(init, libc::SIGTSTP)),
        situation("stopped by TTOU, not being process 1", all(""), |init| stops(init, libc::SIGTTOU)),
        situation("stopped by TSTP, the main process alone", dumb_init("-c"), |init| stops(init, libc::SIGTSTP)),
        situation("TSTP rewritten to itself", dumb_init("-r 20:20"), |init| stops(init, libc::SIGTSTP)),
        situation("TSTP rewritten to nothing", dumb_init("-r 20:0"), |init| stops(init, libc::SIGTSTP)),
        of_words("-p when the parent dies", tini("-s -p SIGHUP --"), orphaned),
        of_words("-p of a deadly signal", tini("-s -p SIGTERM --"), orphaned),
        of_words("nothing when the parent dies", all("--"), orphaned),
    ]
}

fn recorder(init: Init) -> Running {
    let mut run = init.python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\n");
    run
}

/// The numbers that the recorder was told of, but for the marker.
fn heard(run: &mut Running) -> Vec<i32> {
    let numbers = run.stdout();
    numbers.lines().filter_map(|line| line.trim().strip_prefix("got ")?.parse().ok()).filter(|n| *n != LAST).collect()
}

/// Sends one by one, and each only when the one before has gone through.
fn hears(init: Init, signals: &[i32]) -> Seen {
    let mut run = recorder(init);
    send_each(&mut run, signals);
    Seen::default().with("heard", in_words(&heard(&mut run)))
}

fn send_each(run: &mut Running, signals: &[i32]) {
    for (times, signal) in (1..).zip(signals) {
        run.signal(*signal);
        run.signal(LAST);
        run.expect_stdout_times(&format!("got {LAST}\n"), times);
    }
}

fn hears_all(init: Init, sent: impl Fn(i32) -> bool) -> Seen {
    let mut run = recorder(init);
    let cannot_be_sent = |n| matches!(n, libc::SIGKILL | libc::SIGSTOP | 32 | 33);
    let signals: Vec<i32> = (1..LAST).filter(|n| !cannot_be_sent(*n) && sent(*n)).collect();
    send_each(&mut run, &signals);
    let heard = heard(&mut run);
    let lost: Vec<i32> = signals.into_iter().filter(|n| !heard.contains(n)).collect();
    Seen::default().with("lost", in_words(&lost))
}

fn in_words(numbers: &[i32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Who of a family hears TERM.
fn family(init: Init) -> Seen {
    let mut run = init.python(fixtures::FAMILY, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.signal(LAST);
    run.expect_stdout(&format!("main got {LAST}\n"));
    let main = run.main();
    for child in procfs::children(main) {
        run.signal_to(child, LAST - 1);
    }
    run.expect_stdout(&format!("helper got {}\n", LAST - 1));
    run.expect_stdout(&format!("stranger got {}\n", LAST - 1));
    let out = run.stdout();
    let mut heard: Vec<&str> = out.lines().filter_map(|line| line.strip_suffix(" got 15")).collect();
    heard.sort_unstable();
    Seen::default().with("heard", heard.join(" "))
}

/// What a signal of job control does to both, and that CONT continues both.
fn stops(init: Init, signal: i32) -> Seen {
    let mut run = recorder(init.not_pid_one());
    let (pid, main) = (run.pid, run.main());
    run.signal(signal);
    run.signal(LAST);
    let is_stopped = |pid| procfs::state(pid) == Some('T');
    until("it stops, or the signal has gone through", || {
        is_stopped(pid) || run.stdout().contains(&format!("got {LAST}\n"))
    });
    let init_stops = is_stopped(pid);
    // CONT would take away what the main process has not yet heard of.
    until("the main process has heard all of it", || {
        let waiting = [signal, libc::SIGSTOP].iter().any(|signal| procfs::holds(main, "ShdPnd", *signal));
        !waiting && matches!(procfs::state(main), Some('S' | 'T'))
    });
    let main_stops = is_stopped(main);
    run.signal(libc::SIGCONT);
    run.expect_stdout(&format!("got {LAST}\n"));
    Seen::default()
        .with("init stops", init_stops)
        .with("main stops", main_stops)
        .with("heard", in_words(&heard(&mut run).into_iter().filter(|n| *n != libc::SIGCONT).collect::<Vec<_>>()))
}

/// Whether it has taken all signals that were sent to it, and waits for more; or is gone.
fn is_idle(init: i32) -> bool {
    // In this order: who takes one is running until it has done with it.
    let waiting = ["SigPnd", "ShdPnd"].map(|field| procfs::status(init, field));
    let none = waiting.iter().flatten().all(|set| set.bytes().all(|digit| digit == b'0'));
    none && matches!(procfs::state(init), None | Some('S' | 'Z'))
}

/// What the command hears when the parent of the init dies. The recorder leaves with 0 on each of the
/// signals that are asked for, so that nothing is left behind.
fn orphaned(words: &[OsString]) -> Seen {
    let recorder = fixtures::python(fixtures::RECORDER, &["1=0", "15=0", &format!("{LAST}=0")]);
    let middle = fixtures::python(fixtures::ORPHANED, &[]);
    let words: Vec<OsString> = middle.into_iter().chain(words.iter().cloned()).chain(recorder).collect();
    let mut child = Command::new("setsid")
        .arg("--wait")
        .args(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut next = |line: &mut String| std::io::BufRead::read_line(&mut out, line).unwrap();
    next(&mut line);
    assert_eq!(line, "ready\n");
    let init = *procfs::children(i32::try_from(child.id()).unwrap()).first().expect("the init runs");
    let recorder = *procfs::descendants(init).last().expect("the recorder runs");
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
    until("the init has done what it does about it", || is_idle(init));
    // Of what waits for the recorder this comes last, or it ends what was not told.
    let _ = kill(recorder, LAST);
    let mut heard = String::new();
    while next(&mut heard) > 0 {}
    Seen::default().with("heard", heard.lines().next().unwrap_or_default())
}

#[test]
fn signals_arrive_where_they_arrive() {
    needs_originals!();
    compare(&table());
}
