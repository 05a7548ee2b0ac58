//! States, whole and broken: a file may hold anything, and another server may answer.

use super::source::ready_in;
use crate::core::{Phase, Sender, Signal, State};
use crate::fuzz::{self, Dice, SOME, TEN_MILLION};
use std::time::Duration;

/// Where the mutants start from: states, and what is none.
const SEEDS: [&[u8]; 7] = [
    br#"{"schema":1,"phase":"serving","ready":true,"pid":7,"signal":null,"sender":null,"elapsed_s":null,"remaining_s":null,"phase_elapsed_s":3.000,"phase_remaining_s":null,"exit_code":null}"#,
    br#"{"schema":1,"phase":"lame-duck","ready":false,"pid":7,"signal":"SIGTERM","sender":{"pid":0,"uid":0},"elapsed_s":0.001,"remaining_s":44.999,"phase_elapsed_s":0.001,"phase_remaining_s":14.999,"exit_code":null}"#,
    br#"{"ready":{"ready":true},"not-ready":false}"#,
    br#"{"ready": true}"#,
    br#"{"ready" :{"ready":true}}"#,
    b"<p>\"ready\":</p>",
    b"\"ready\":\xff",
];

fn mutate(dice: &mut Dice, input: &mut Vec<u8>) {
    dice.mutant(input, &SEEDS, b"{}[]\":,truefalsready");
}

/// What must hold for any bytes: nothing is told that they do not say; and where they are JSON that
/// speaks of it once, nothing else than what it says.
fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(told) = ready_in(&text) else { return };
    assert!(text.contains(&format!("\"ready\":{told}")));
    let once = text.matches("ready\"").count() == 1;
    if let Ok(serde_json::Value::Object(object)) = serde_json::from_str(&text)
        && once
        && let Some(ready) = object.get("ready")
    {
        assert_eq!(ready, &serde_json::Value::Bool(told));
    }
}

#[test]
fn whatever_the_state_what_it_says_of_readiness_is_read() {
    for phase in Phase::ALL {
        for ready in [true, false] {
            for stop in
                [None, Some((Signal::TERM, Sender::Process { pid: 90, uid: 33 })), Some((Signal::INT, Sender::Kernel))]
            {
                let state = State {
                    phase,
                    ready,
                    main: Some(7),
                    stop,
                    elapsed: stop.map(|_| Duration::from_secs(3)),
                    remaining: None,
                    phase_elapsed: Duration::ZERO,
                    phase_remaining: Some(Duration::MAX),
                    exit_code: Some(4),
                };
                let text = state.json().to_string();
                assert_eq!(ready_in(&text), Some(ready), "{text}");
            }
        }
    }
}

#[test]
fn half_a_state_says_what_the_whole_one_says_or_nothing() {
    for seed in &SEEDS[..2] {
        let whole = std::str::from_utf8(seed).unwrap();
        let told = |length: usize| ready_in(&whole[..length]);
        assert!(told(whole.len()).is_some());
        assert!((0..whole.len()).all(|length| told(length).is_none() || told(length) == told(whole.len())));
    }
}

#[test]
fn what_is_no_state_breaks_nothing() {
    SEEDS.into_iter().for_each(check);
    fuzz::run(SOME, mutate, check);
}

#[test]
#[ignore = "takes a minute: see crate::fuzz"]
fn ten_million_states_break_nothing() {
    fuzz::run(TEN_MILLION, mutate, check);
}
