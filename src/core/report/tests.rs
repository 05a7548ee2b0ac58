//! Facts in, JSON out; and what is left out of one that is too long.

use super::{HookRun, MOST_BYTES, Recorder};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, secs, seen};
use crate::core::traffic::{Evidence, Row, Source, Traffic};
use crate::core::{Action, Event, Hook, Machine, Policy, Process, Sender, Signal, Tick, WaitStatus};
use crate::json::Value;
use proptest::prelude::*;

/// A machine with a recorder beside it, as the shell would have them.
struct Run {
    machine: Machine,
    recorder: Recorder,
    world: Vec<Process>,
    ended: Option<crate::core::note::Ended>,
    now: Tick,
}

impl Run {
    fn of(policy: Policy) -> Self {
        let settings = vec![("delay", "15s".to_owned())];
        let command = vec!["nginx".to_owned(), "-g".to_owned(), "daemon off;".to_owned()];
        let mut run = Self {
            machine: Machine::new(policy, "nginx"),
            recorder: Recorder::new(command, settings),
            world: vec![nginx(MAIN)],
            ended: None,
            now: secs(0),
        };
        run.event(secs(0), Event::Started(MAIN));
        run.recorder.started(MAIN, "nginx", secs(0));
        run
    }

    fn event(&mut self, now: Tick, event: Event) {
        self.now = now;
        let mut actions = Vec::new();
        self.machine.step(now, event, &mut actions);
        for action in actions {
            match action {
                Action::Note(note) => {
                    self.recorder.note(&note, now);
                    if let crate::core::Note::Ended(ended) = note {
                        self.ended = Some(ended);
                    }
                }
                Action::Send(delivery) => self.recorder.delivered(delivery),
                Action::KillAll => self.recorder.killed(&[(MAIN, "nginx".to_owned())]),
                Action::Look(_) => {
                    let world = self.world.clone();
                    let mut snapshot = seen([]);
                    snapshot.processes = world;
                    self.event(now, Event::Seen(snapshot));
                }
                _ => {}
            }
        }
    }

    fn term(&mut self, now: Tick) {
        self.event(now, Event::Signal(Signal::TERM, Sender::Process { pid: 90, uid: 33 }));
        self.recorder.stopped(Some("nginx"), Some("deploy"));
    }

    fn died(&mut self, now: Tick, status: WaitStatus) {
        self.world.clear();
        self.event(now, Event::Died(MAIN, status));
        self.event(now, Event::Reaped { children_left: false });
    }

    fn line(&self) -> String {
        let state = self.machine.state(self.now);
        self.recorder.line(&state, self.ended.as_ref(), self.now, "2026-01-31T23:59:59.123Z".to_owned())
    }

    fn read(&self) -> serde_json::Value {
        serde_json::from_str(&self.line()).expect("valid JSON")
    }
}

#[test]
fn a_stop_that_went_well() {
    let mut run = Run::of(delayed());
    run.event(secs(5), Event::Signal(Signal::HUP, Sender::Outside { uid: 0 }));
    run.event(secs(6), Event::Signal(Signal::HUP, Sender::Outside { uid: 0 }));
    run.term(secs(10));
    run.event(secs(25), Event::Time);
    run.died(secs(27), WaitStatus::exited(0));
    let expected = concat!(
        r#"{"schema":1,"version":""#,
        env!("CARGO_PKG_VERSION"),
        r#"","time":"2026-01-31T23:59:59.123Z","command":["nginx","-g","daemon off;"],"#,
        r#""server":{"pid":7,"comm":"nginx"},"served_s":10.000,"outcome":"exited","exit_code":0,"#,
        r#""ended_by":null,"during":"draining","signal":"SIGTERM","#,
        r#""sender":{"pid":90,"uid":33,"comm":"deploy"},"stop_took_s":17.000,"hurried":false,"#,
        r#""phases":[{"phase":"lame-duck","at_s":0.000,"seconds":15.000},"#,
        r#"{"phase":"draining","at_s":15.000,"seconds":2.000},"#,
        r#"{"phase":"sweeping","at_s":17.000,"seconds":0.000},{"phase":"gone","at_s":17.000,"seconds":0.000}],"#,
        r#""told":[{"pid":7,"comm":"nginx","signal":"SIGQUIT"}],"forwarded":[{"signal":"SIGHUP","count":2}],"#,
        r#""killed":[],"hooks":[],"settings":{"delay":"15s"},"warnings":[],"truncated":false}"#,
        "\n"
    );
    assert_eq!(run.line(), expected);
}

#[test]
fn each_outcome_has_its_name() {
    let mut killed = Run::of(delayed());
    killed.term(secs(1));
    killed.event(secs(16), Event::Time);
    killed.event(secs(46), Event::Time);
    killed.died(secs(47), WaitStatus::killed(Signal::KILL));
    let read = killed.read();
    assert_eq!(
        (&read["outcome"], &read["exit_code"], &read["ended_by"]),
        (&"killed".into(), &137.into(), &"SIGKILL".into())
    );
    assert_eq!(read["killed"][0]["comm"], "nginx");

    let mut crashed = Run::of(delayed());
    crashed.term(secs(1));
    crashed.died(secs(2), WaitStatus::exited(3));
    let read = crashed.read();
    assert_eq!(
        (&read["outcome"], &read["exit_code"], &read["during"]),
        (&"died-in-delay".into(), &3.into(), &"lame-duck".into())
    );

    let mut by_itself = Run::of(delayed());
    by_itself.died(secs(90), WaitStatus::exited(0));
    let read = by_itself.read();
    assert_eq!(
        (&read["outcome"], &read["signal"], &read["stop_took_s"]),
        (&"exited".into(), &serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!((&read["served_s"], &read["phases"][0]["at_s"]), (&90.0.into(), &0.0.into()));

    let mut given_up = Run::of(delayed());
    given_up.term(secs(1));
    for at in [16, 46, 48] {
        given_up.event(secs(at), Event::Time);
    }
    assert_eq!((&given_up.read()["outcome"], &given_up.read()["exit_code"]), (&"killed".into(), &137.into()));

    let mut never = Machine::new(delayed(), "nginx");
    let mut recorder = Recorder::new(vec!["nginx".to_owned()], Vec::new());
    let mut actions = Vec::new();
    never.step(secs(0), Event::NotStarted(127), &mut actions);
    for action in &actions {
        if let Action::Note(note) = action {
            recorder.note(note, secs(0));
        }
    }
    let line = recorder.line(&never.state(secs(0)), Some(&never.ended(secs(0))), secs(0), String::new());
    let read: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&read["outcome"], &read["exit_code"], &read["server"]),
        (&"not-started".into(), &127.into(), &serde_json::Value::Null)
    );
    assert_eq!(read["phases"], serde_json::json!([]));
}

#[test]
fn a_hurried_stop_says_so_and_a_duplicate_does_not_count() {
    let mut run = Run::of(delayed());
    run.term(secs(1));
    run.term(secs(1) + ms(50));
    assert_eq!(run.read()["hurried"], false);
    run.term(secs(3));
    assert_eq!(run.read()["hurried"], true);

    // What was left behind is waited for no longer.
    let mut run = Run::of(Policy { linger: Some(secs(5)), ..delayed() });
    run.event(secs(1), Event::Died(MAIN, WaitStatus::exited(0)));
    run.event(secs(1), Event::Reaped { children_left: true });
    run.term(secs(2));
    assert_eq!((&run.read()["hurried"], &run.read()["served_s"]), (&true.into(), &1.0.into()));
}

#[test]
fn hooks_and_traffic_are_told_as_they_came() {
    let mut run = Run::of(delayed());
    run.recorder.hook(HookRun { hook: Hook::OnStop, exit_code: Some(0), took: ms(1_500), timed_out: false });
    run.recorder.hook(HookRun { hook: Hook::OnExit, exit_code: None, took: secs(5), timed_out: true });
    run.recorder.traffic(Value::Object(vec![("verdict", "no traffic seen".into())]));
    run.recorder.warning("mind".to_owned());
    let read = run.read();
    assert_eq!(
        read["hooks"],
        serde_json::json!([
            {"name": "on-stop", "exit_code": 0, "seconds": 1.5, "timed_out": false},
            {"name": "on-exit", "exit_code": null, "seconds": 5.0, "timed_out": true}
        ])
    );
    assert_eq!((&read["traffic"]["verdict"], &read["warnings"][0]), (&"no traffic seen".into(), &"mind".into()));
}

/// Evidence of ten requests and a connection in each of so many seconds.
fn traffic(seconds: u32) -> Value {
    let evidence = Evidence {
        per_second: (0..seconds).map(|second| Row { second, connections: 1, requests: 10 }).collect(),
        ..Traffic::new(secs(0), Source::SockDiag, None).evidence(secs(1), secs(1), secs(1))
    };
    evidence.json(&[8_080], "SIGTERM")
}

/// The same, with this for a verdict.
fn traffic_with_verdict(seconds: u32, verdict: String) -> Value {
    let Value::Object(mut told) = traffic(seconds) else { panic!("no object") };
    let (_, said) = told.iter_mut().find(|(key, _)| *key == "verdict").expect("there is a verdict");
    *said = verdict.into();
    Value::Object(told)
}

#[test]
fn what_is_too_long_loses_seconds_first_then_settings_then_lists() {
    let mut run = Run::of(delayed());
    run.recorder.traffic(traffic(20));
    let read = run.read();
    assert_eq!((&read["truncated"], read["traffic"]["per_second"].as_array().unwrap().len()), (&false.into(), 20));

    run.recorder.traffic(traffic(300));
    let (line, read) = (run.line(), run.read());
    let rows = read["traffic"]["per_second"].as_array().unwrap();
    assert!(line.len() <= MOST_BYTES && line.len() > MOST_BYTES / 2, "{}", line.len());
    assert_eq!((&read["truncated"], &read["settings"]["delay"]), (&true.into(), &"15s".into()));
    // Each row begins where that before it ends.
    let (seconds, last) = (rows[1]["second"].as_i64().unwrap(), rows.len() - 1);
    assert!(seconds > 1 && rows[last]["second"].as_i64() == i64::try_from(last).ok().map(|last| last * seconds));
    assert_eq!((&rows[1]["connections"], &rows[1]["requests"]), (&seconds.into(), &(10 * seconds).into()));
    let requests: i64 = rows.iter().map(|row| row["requests"].as_i64().unwrap()).sum();
    assert_eq!(requests, 3_000, "no request is lost by merging");

    for at in 0..200 {
        run.recorder.warning(format!("warning {at}: {}", "x".repeat(40)));
    }
    let read = run.read();
    assert!(run.line().len() <= MOST_BYTES);
    assert_eq!((&read["settings"], read["warnings"].as_array().unwrap().len()), (&serde_json::json!({}), 4));
    assert_eq!(read["command"], serde_json::json!(["nginx", "-g", "daemon off;"]));
}

#[test]
fn traffic_that_is_too_long_in_itself_is_left_out_at_last() {
    let mut run = Run::of(delayed());
    run.recorder.traffic(traffic_with_verdict(300, "x".repeat(MOST_BYTES)));
    let (line, read) = (run.line(), run.read());
    assert!(line.len() <= MOST_BYTES, "{}", line.len());
    assert_eq!((&read["truncated"], &read["traffic"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(read["server"], serde_json::json!({"pid": 7, "comm": "nginx"}));
}

#[test]
fn of_many_warnings_the_first_hundred_are_kept() {
    let mut run = Run::of(delayed());
    for at in 0..150 {
        run.recorder.warning(at.to_string());
    }
    let read = run.read();
    let kept = read["warnings"].as_array().unwrap();
    assert_eq!((kept.len(), &kept[99], &read["truncated"]), (100, &"99".into(), &false.into()));
}

#[test]
fn what_is_short_enough_is_left_as_it_is() {
    let mut run = Run::of(delayed());
    run.world.push(app(20));
    let long = "x".repeat(2_000);
    run.recorder.warning(long.clone());
    assert_eq!((&run.read()["truncated"], &run.read()["warnings"][0]), (&false.into(), &long.into()));
}

/// Texts as hostile as they come: control characters take six bytes each.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,40}", "[\u{1}-\u{1f}\"\\\\]{0,300}", "[a-z]{0,3000}", "\u{fffd}{0,100}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_facts_the_report_is_valid_json_and_short_enough(
        command in proptest::collection::vec(text(), 0..40),
        settings in proptest::collection::vec(text(), 0..30),
        warnings in proptest::collection::vec(text(), 0..40),
        killed in proptest::collection::vec(text(), 0..300),
        server in text(), verdict in text(),
        forwarded in proptest::collection::vec(1_i32..=64, 0..200),
        rows in 0_u32..500,
    ) {
        let mut run = Run::of(delayed());
        run.recorder = Recorder::new(command, settings.into_iter().map(|value| ("delay", value)).collect());
        run.recorder.started(MAIN, &server, secs(0));
        run.recorder.stopped(Some(&server), Some(&server));
        for warning in warnings {
            run.recorder.warning(warning);
        }
        for number in forwarded {
            run.event(secs(1), Event::Signal(Signal::new(number).unwrap(), Sender::Kernel));
        }
        run.recorder.killed(&killed.into_iter().map(|comm| (1, comm)).collect::<Vec<_>>());
        run.recorder.traffic(traffic_with_verdict(rows, verdict));
        let line = run.line();
        prop_assert!(line.len() <= MOST_BYTES, "{}", line.len());
        let read: serde_json::Value = serde_json::from_str(&line).expect("valid JSON");
        prop_assert!(read["outcome"].is_string() && read["phases"].is_array());
    }
}
