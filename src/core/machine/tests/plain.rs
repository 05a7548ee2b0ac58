//! No stop sequence: what a stand-in for another init does with signals and with the end.

use super::{INSIDE, OUTSIDE, Run, TERMINAL};
use crate::core::fixtures::{MAIN, app, nginx, program, secs, shell};
use crate::core::policy::{Place, StopOn};
use crate::core::{Note, Phase, Policy, Signal};

fn plain() -> Policy {
    Policy { stop_on: StopOn::Nothing, drain: None, linger: Some(secs(0)), ..Policy::default() }
}

/// As dumb-init has it.
fn in_its_own_session() -> Policy {
    let stopped = [Signal::TSTP, Signal::TTIN, Signal::TTOU].map(|signal| (signal, Some(Signal::STOP)));
    Policy { group: true, place: Place::OwnSession, rewrite: stopped.to_vec(), ..plain() }
}

#[test]
fn every_signal_reaches_the_main_process_as_it_is_and_has_no_deadline() {
    for signal in (1..=64).filter_map(Signal::new) {
        let mut run = Run::of(plain(), [nginx(MAIN)]);
        let name = signal.to_string().replace("SIG", "");
        for sender in [OUTSIDE, INSIDE, TERMINAL] {
            run.signal(signal, sender).expect(&format!("pass {name} to 7")).phase(Phase::Serving).deadline(None);
        }
    }
}

#[test]
fn nobody_is_looked_for_behind_a_shell() {
    let mut run = Run::of(plain(), [shell(MAIN), nginx(20).under(MAIN)]);
    for signal in [Signal::HUP, Signal::USR1, Signal::TERM, Signal::QUIT] {
        run.signal(signal, OUTSIDE).expect(&format!("pass {} to 7", signal.to_string().replace("SIG", "")));
    }
}

#[test]
fn the_programs_own_graceful_signal_is_as_plain_as_any() {
    let mut run = Run::of(plain(), [program("httpd", MAIN)]);
    run.signal(Signal::WINCH, OUTSIDE).expect("pass WINCH to 7").phase(Phase::Serving);
}

#[test]
fn the_end_of_the_main_process_is_the_end_whoever_is_left() {
    let mut run = Run::of(plain(), [app(MAIN), app(20)]);
    run.exited(MAIN, 3).expect("unready, exit 3").phase(Phase::Gone);
    run.noted(|note| matches!(note, Note::Ended(ended) if !ended.left_behind && !ended.killed));
    let mut run = Run::of(plain(), [app(MAIN), app(20)]);
    run.term().killed(MAIN, Signal::TERM).expect("pass TERM to 7, unready, exit 143");
}

#[test]
fn a_session_is_bidden_farewell_with_term() {
    let mut run = Run::of(in_its_own_session(), [app(MAIN), app(20)]);
    run.term().expect("pass TERM to group 7");
    run.exited(MAIN, 0).expect("unready, pass TERM to what is left of group 7, exit 0");
    // Signals for the main process alone do not include the farewell.
    let mut run = Run::of(Policy { group: false, ..in_its_own_session() }, [app(MAIN), app(20)]);
    run.exited(MAIN, 0).expect("unready, exit 0");
}

#[test]
fn the_farewell_is_rewritten_like_any_term() {
    for (to, expected) in [(Some(Signal::QUIT), "pass QUIT to what is left of group 7, "), (None, "")] {
        let mut run = Run::of(Policy { rewrite: vec![(Signal::TERM, to)], ..in_its_own_session() }, [app(MAIN)]);
        run.exited(MAIN, 0).expect(&format!("unready, {expected}exit 0"));
    }
}

#[test]
fn what_stops_the_jobs_in_a_session_of_their_own_stops_us_too() {
    for (name, signal) in [("TSTP", Signal::TSTP), ("TTIN", Signal::TTIN), ("TTOU", Signal::TTOU)] {
        let mut run = Run::of(in_its_own_session(), [app(MAIN)]);
        run.signal(signal, INSIDE).expect("pass STOP to group 7, suspend");
        run.signal(Signal::CONT, INSIDE).expect("pass CONT to group 7");
        // Even when it is dropped.
        let mut run = Run::of(Policy { rewrite: vec![(signal, None)], ..in_its_own_session() }, [app(MAIN)]);
        run.signal(signal, INSIDE).expect("suspend");
        let mut run = Run::of(Policy { place: Place::OurGroup, ..plain() }, [app(MAIN)]);
        run.signal(signal, INSIDE).expect(&format!("pass {name} to 7, suspend"));
        let mut run = Run::of(plain(), [app(MAIN)]);
        run.signal(signal, INSIDE).expect(&format!("pass {name} to 7"));
    }
}

/// As `dumb-init -c` has it: our group is 1.
fn in_our_group() -> Run {
    Run::of(Policy { place: Place::OurGroup, ..plain() }, [app(MAIN).in_group(1)])
}

#[test]
fn a_main_process_in_our_group_hears_a_key_once() {
    let mut run = in_our_group();
    for (name, signal) in [("INT", Signal::INT), ("QUIT", Signal::QUIT), ("WINCH", Signal::WINCH)] {
        run.signal(signal, TERMINAL).expect("");
        run.signal(signal, OUTSIDE).expect(&format!("pass {name} to 7"));
    }
    run.signal(Signal::TERM, TERMINAL).expect("pass TERM to 7");
}

#[test]
fn the_key_that_stops_a_job_in_our_group_stops_us_too() {
    let mut run = in_our_group();
    run.signal(Signal::TSTP, TERMINAL).expect("suspend");
    run.signal(Signal::CONT, INSIDE).expect("pass CONT to 7");
    run.signal(Signal::TSTP, OUTSIDE).expect("pass TSTP to 7, suspend");
}

#[test]
fn a_main_process_that_has_left_our_group_is_told_what_the_key_told_us() {
    let mut run = Run::of(Policy { place: Place::OurGroup, ..plain() }, [app(MAIN)]);
    for (name, signal) in [("INT", Signal::INT), ("QUIT", Signal::QUIT), ("WINCH", Signal::WINCH)] {
        run.signal(signal, TERMINAL).expect(&format!("pass {name} to 7"));
    }
    run.signal(Signal::TSTP, TERMINAL).expect("pass TSTP to 7, suspend");
}

#[test]
fn a_hang_up_is_passed_on_as_only_the_leader_of_the_session_is_told() {
    in_our_group().signal(Signal::HUP, TERMINAL).expect("pass HUP to 7");
}
