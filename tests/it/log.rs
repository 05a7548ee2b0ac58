//! The log: quiet until the stop, then a line for each phase, in words or in JSON.

use crate::support::init::Stream;
use crate::support::{Init, Running, fixtures};
use nix::libc;
use serde_json::Value;
use std::io::Read as _;

/// Each line of standard error as JSON.
fn lines(run: &mut Running) -> Vec<Value> {
    let log = run.stderr();
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn seconds(line: &Value, key: &str) -> f64 {
    line[key].as_f64().unwrap_or_else(|| panic!("no {key}: {line}"))
}

/// A server stopped after half a second, with these flags. In a network of its own: connections to anybody
/// else's server would be worth a line.
fn stopped(flags: &[&str]) -> Running {
    let init = Init::new().own_network().flags(["--delay", "500ms", "--drain-timeout", "20s"]).flags(flags);
    let mut run = init.env("DRAIN", "0.3").env("STATUS", "4").python(fixtures::SERVER, &[]).spawn();
    run.told("port");
    assert_eq!(run.stderr(), "", "quiet until the stop");
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    run
}

#[test]
fn a_stop_in_words_is_a_line_for_each_phase() {
    needs!("unshare", "ip");
    let log = stopped(&[]).stderr();
    let lines: Vec<&str> = log.lines().collect();
    let [lame_duck, draining, gone] = lines.as_slice() else { panic!("not three lines: {log}") };
    assert!(
        lame_duck.starts_with("lameduck: lame-duck: SIGTERM from outside the container; serving on for 500ms"),
        "{log}"
    );
    assert!(lame_duck.contains("then SIGTERM to python3[3]; SIGKILL 20s later"), "{log}");
    assert!(draining.starts_with("lameduck: draining: delay over; SIGTERM to python3[3]; SIGKILL 20s later"), "{log}");
    assert!(gone.starts_with("lameduck: gone: python3[3] exited with status 4 while draining"), "{log}");
    assert!(lines.iter().all(|line| line.contains("(elapsed ")), "{log}");
    assert!(lame_duck.contains(", remaining 20.") && draining.contains(", remaining "), "{log}");
}

#[test]
fn a_stop_in_json_carries_the_same_under_keys() {
    needs!("unshare", "ip");
    let lines = lines(&mut stopped(&["--log", "json"]));
    let phases: Vec<&str> = lines.iter().map(|line| line["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["lame-duck", "draining", "gone"]);
    let [lame_duck, draining, gone] = lines.as_slice() else { unreachable!() };
    assert_eq!(lame_duck["signal"], "SIGTERM");
    assert_eq!(lame_duck["sender_pid"], 0);
    assert_eq!(lame_duck["sender_uid"], 0);
    assert_eq!(lame_duck["sender"], "outside the container");
    assert!((seconds(lame_duck, "delay_s") - 0.5).abs() < 1e-9);
    assert!((seconds(lame_duck, "remaining_s") + seconds(lame_duck, "elapsed_s") - 20.5).abs() < 0.1, "{lame_duck}");
    assert!(seconds(draining, "elapsed_s") >= 0.5, "{draining}");
    assert_eq!(draining["reason"], "delay");
    assert!(seconds(gone, "elapsed_s") >= 0.8, "{gone}");
    assert_eq!(gone["exit_code"], 4);
    assert_eq!(gone["during"], "draining");
    assert_eq!(gone["killed"], false);
    for line in &lines {
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z') && time.contains('T')), "{line}");
        assert!(line["level"].is_string() && line["message"].is_string(), "{line}");
    }
}

#[test]
fn every_line_of_everything_that_is_logged_is_json() {
    needs!();
    let odd = "odd \"name\"\\\n\u{1}\u{fc}";
    let dir = crate::support::files::tempdir();
    let program = dir.file(
        odd,
        "#!/bin/sh\ntrap 'exit 3' TERM; (sleep 0; exit 3) & echo ready; while :; do sleep 0.1; done\n",
        0o755,
    );
    let flags = ["--log", "json", "-vv", "-w", "--delay", "300ms"];
    let init = Init::new().files(dir).flags(flags).env("LAMEDUCK_ODD\"\n", "x").cmd([program]);
    let mut run = init.spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGWINCH);
    run.signal(libc::SIGTERM);
    run.expect_exit(3);
    let lines = lines(&mut run);
    assert!(lines.len() >= 5, "{lines:#?}");

    let mut run = Init::new().flags(["--log", "json"]).cmd([odd]).run();
    run.expect_exit(127);
    assert_eq!(self::lines(&mut run).len(), 1);
}

#[test]
fn a_sender_inside_is_named() {
    needs!("nsenter");
    let mut run = Init::new().flags(["--log", "json"]).recorder(&["15=7"]);
    // A shell's own `kill`, so that the sender is still there to be looked at.
    let mut sender = run.inside(&["/bin/sh", "-c", "kill -TERM 1; sleep 600"]).spawn().unwrap();
    run.expect_exit(7);
    sender.wait().unwrap();
    let lines = lines(&mut run);
    assert_eq!(lines[0]["sender_comm"], "sh", "{lines:#?}");
    assert!(lines[0]["sender_pid"].as_i64().is_some_and(|pid| pid > 1), "{lines:#?}");
}

#[test]
fn a_stop_that_the_terminal_asked_for_names_the_terminal() {
    needs!();
    let (mut log, stderr) = std::io::pipe().unwrap();
    let flags = ["--stop-on", "HUP", "--stop-signal", "TERM", "--log", "json"];
    let server = "trap '' HUP; trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let init = Init::new().terminal().stderr(Stream::To(stderr.into())).flags(flags);
    let mut run = init.cmd(["/bin/sh", "-c", server]).spawn();
    run.expect_stdout("ready");
    // The kernel tells the leader of the session, which process 1 is.
    run.hang_up();
    run.expect_exit(7);
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&line["signal"], &line["sender"]), (&"SIGHUP".into(), &"terminal/kernel".into()), "{line}");
    assert!(line["sender_pid"].is_null() && line["sender_uid"].is_null(), "{line}");
}

#[test]
fn a_death_that_nobody_asked_for_is_told() {
    needs!();
    let mut run = Init::new().cmd(["/bin/sh", "-c", "kill -KILL $$"]).run();
    run.expect_exit(137);
    let log = run.stderr();
    assert!(log.contains("sh[2] was ended by SIGKILL though no stop was asked for, not by lameduck"), "{log}");
}

#[test]
fn a_deadline_that_kills_says_what_it_killed() {
    needs!();
    let init = Init::new().flags(["--log", "json", "--drain-timeout", "300ms"]);
    let mut run = init.python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    let lines = lines(&mut run);
    let killed = lines.iter().find_map(|line| line["killed"].as_str()).unwrap();
    assert_eq!(killed.matches("python3[").count(), 2, "{killed}");
    let gone = lines.last().unwrap();
    assert_eq!((&gone["killed"], &gone["ended_by"]), (&Value::from(true), &Value::from("SIGKILL")), "{gone}");
}

#[test]
fn a_server_that_ends_by_itself_is_not_worth_a_line() {
    needs!();
    for status in [0, 3] {
        let mut run = Init::new().cmd(["/bin/sh", "-c", &format!("exit {status}")]).run();
        run.expect_exit(status);
        assert_eq!(run.stderr(), "");
    }
}

#[test]
fn less_is_logged_when_asked_for() {
    needs!("unshare", "ip");
    assert_eq!(stopped(&["--log-level", "warn"]).stderr(), "");
}
