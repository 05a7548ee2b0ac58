//! Holding the graceful signal for answers still owed.

use super::{OUTSIDE, Run};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, program, secs};
use crate::core::policy::Hold;
use crate::core::{Action, Event, Note, Phase, Policy, Signal};

fn holding() -> Policy {
    Policy { watch: true, hold: Hold::Auto, ..delayed() }
}

/// An unknown server, 15 s after its stop: the delay is over and the signal is held.
fn held(policy: Policy) -> Run {
    let mut run = Run::of(policy, [app(MAIN)]);
    run.term().at(secs(15)).expect("unready, watch").phase(Phase::Draining);
    run
}

#[test]
fn the_signal_is_held_until_two_samples_running_owe_nothing() {
    let mut run = held(holding());
    for owed in [3, 0, 1, 0] {
        run.event(Event::Owed(Some(owed))).expect("");
    }
    run.at(secs(16)).event(Event::Owed(Some(0))).expect("tell 7 TERM").deadline(Some(secs(45)));
    // It was told once, and what is owed later is its own affair.
    run.event(Event::Owed(Some(0))).event(Event::Owed(Some(0))).at(secs(29)).expect("");
}

#[test]
fn a_hold_takes_half_the_drain_at_most_and_the_deadline_stands() {
    let mut run = held(holding());
    run.deadline(Some(secs(30))).at(ms(29_999)).event(Event::Owed(Some(9))).expect("");
    run.at(secs(30)).expect("tell 7 TERM").deadline(Some(secs(45)));
    run.noted(|note| matches!(note, Note::Draining { left: Some(left), .. } if *left == secs(15)));
    run.at(secs(45)).expect("kill all");
}

#[test]
fn without_a_drain_deadline_a_hold_takes_10_s_at_most() {
    let mut run = held(Policy { drain: None, ..holding() });
    run.deadline(Some(secs(25))).at(secs(25)).expect("tell 7 TERM").deadline(None);
    run.noted(|note| matches!(note, Note::Draining { left: None, .. }));
}

#[test]
fn a_watch_that_cannot_tell_holds_nothing() {
    held(holding()).event(Event::Owed(None)).expect("tell 7 TERM");
}

#[test]
fn a_stop_signal_ends_the_hold_and_is_not_passed_on() {
    for signal in [Signal::TERM, Signal::QUIT] {
        let mut run = held(holding());
        run.at(secs(16)).signal(signal, OUTSIDE).expect("tell 7 TERM");
        run.noted(|note| matches!(note, Note::Again { made: crate::core::note::Made::Hurried, .. }));
    }
}

#[test]
fn repeats_that_are_ignored_do_not_end_a_hold() {
    let mut run = held(Policy { hurry: false, ..holding() });
    run.at(secs(16)).term().expect("").deadline(Some(secs(30)));
}

#[test]
fn a_hurried_stop_is_not_held() {
    let mut run = Run::of(holding(), [app(MAIN)]);
    run.term().at(secs(2)).term().expect("unready, watch, tell 7 TERM");
}

#[test]
fn programs_that_drain_by_themselves_are_not_held_but_those_that_only_have_a_signal_are() {
    let mut run = Run::of(holding(), [nginx(MAIN)]);
    run.term().at(secs(15)).expect("unready, watch, tell 7 QUIT");
    let mut run = Run::of(holding(), [program("java", MAIN)]);
    run.term().at(secs(15)).expect("unready, watch");
}

#[test]
fn without_a_delay_nothing_is_held_unless_always() {
    let mut run = Run::of(Policy { delay: ms(0), ..holding() }, [app(MAIN)]);
    run.term().expect("unready, watch, tell 7 TERM");
    let mut run = Run::of(Policy { delay: ms(0), hold: Hold::Always, ..holding() }, [nginx(MAIN)]);
    run.term().expect("unready, watch").phase(Phase::Draining).deadline(Some(secs(15)));
}

#[test]
fn never_and_a_missing_watch_hold_nothing() {
    for policy in [Policy { hold: Hold::Never, ..holding() }, Policy { watch: false, ..holding() }] {
        let mut run = Run::of(policy, [app(MAIN)]);
        run.term().at(secs(15)).phase(Phase::Draining);
        assert!(run.done.contains(&"tell 7 TERM".to_owned()));
    }
}

#[test]
fn a_server_that_ends_while_held_is_not_told() {
    let mut run = held(holding());
    run.at(secs(16)).exited(MAIN, 0).expect("unwatch, exit 0");
}

#[test]
fn what_is_owed_before_the_drain_does_not_count() {
    let mut run = Run::of(holding(), [app(MAIN)]);
    run.event(Event::Owed(Some(0))).term().event(Event::Owed(Some(0))).event(Event::Owed(None));
    run.at(secs(15)).event(Event::Owed(Some(0))).expect("unready, watch");
    run.event(Event::Owed(Some(0))).expect("tell 7 TERM");
}

#[test]
fn a_held_signal_is_chosen_when_it_goes_out() {
    let mut run = held(holding());
    run.becomes(nginx(MAIN)).at(secs(30)).expect("tell 7 QUIT");
}

#[test]
fn waking_late_from_a_hold_asks_and_kills_in_order() {
    let mut run = held(holding());
    let mut actions = Vec::new();
    run.machine.step(secs(100), Event::Time, &mut actions);
    actions.retain(|action| !matches!(action, Action::Note(_)));
    assert!(matches!(actions[..], [Action::Look(_)]), "{actions:?}");
    run.now = secs(100);
    run.event(Event::Seen(run.look(crate::core::Look::Main(MAIN)))).expect("tell 7 TERM, kill all");
    run.phase(Phase::Killing);
}

#[test]
fn the_log_says_for_how_many_answers_it_waits() {
    let mut run = held(holding());
    run.not_noted(|note| matches!(note, Note::Holding { .. }));
    run.at(secs(16)).event(Event::Owed(Some(3)));
    run.noted(|note| *note == Note::Holding { owed: Some(3), longest: secs(14) });
    run.event(Event::Owed(Some(2))).not_noted(|note| matches!(note, Note::Holding { .. }));
}

#[test]
fn the_log_says_nothing_of_a_hold_for_no_answers() {
    let mut run = held(holding());
    run.event(Event::Owed(Some(0))).event(Event::Owed(Some(0))).expect("tell 7 TERM");
    run.not_noted(|note| matches!(note, Note::Holding { .. }));
}

#[test]
fn the_answers_that_a_hold_could_not_wait_for_are_counted() {
    for (owed, expected) in [(3, Some(3)), (0, None)] {
        let mut run = held(holding());
        run.at(secs(29)).event(Event::Owed(Some(owed))).at(secs(30)).expect("tell 7 TERM");
        run.noted(|note| matches!(note, Note::Draining { cut, .. } if *cut == expected));
    }
}

#[test]
fn samples_are_asked_for_as_long_as_the_signal_is_held() {
    let mut run = Run::of(holding(), [app(MAIN)]);
    run.term();
    assert!(!run.machine.is_holding(), "in the delay");
    run.at(secs(15));
    assert!(run.machine.is_holding());
    run.event(Event::Owed(None)).expect("unready, watch, tell 7 TERM");
    assert!(!run.machine.is_holding(), "once it was sent");
}

#[test]
fn a_stop_signal_before_the_answer_to_the_look_prevents_the_hold() {
    let mut run = Run::of(holding(), [app(MAIN)]);
    run.term();
    run.now = secs(15);
    let mut actions = Vec::new();
    run.machine.step(secs(15), Event::Time, &mut actions);
    run.event(Event::Signal(Signal::TERM, OUTSIDE)).expect("unready, watch");
    run.noted(|note| matches!(note, Note::Again { made: crate::core::note::Made::Hurried, .. }));
    run.event(Event::Seen(run.look(crate::core::Look::Main(MAIN)))).expect("tell 7 TERM");
}

#[test]
fn an_interrupt_during_a_hold_reaches_the_server_and_the_hold_goes_on() {
    let mut run = held(holding());
    run.at(secs(16)).signal(Signal::INT, crate::core::Sender::Kernel).expect("pass INT to 7").deadline(Some(secs(30)));
}

#[test]
fn a_server_that_ends_while_held_was_no_wrapper() {
    let mut run = held(holding());
    run.born(app(8)).at(secs(16)).exited(MAIN, 0).expect("unwatch, tell 8 TERM").deadline(Some(secs(21)));
}
