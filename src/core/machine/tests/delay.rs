//! Before the drain: the start, the delay, and what may cut it short.

use super::{INSIDE, OUTSIDE, Run, TERMINAL};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, secs};
use crate::core::note::{Made, Why};
use crate::core::policy::StopOn;
use crate::core::{Event, Note, Phase, Policy, Signal, WaitStatus};

const fn made(note: &Note) -> Option<Made> {
    match note {
        Note::Again { made, .. } => Some(*made),
        _ => None,
    }
}

#[test]
fn a_server_is_ready_until_the_stop_and_told_when_the_delay_is_over() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.phase(Phase::Serving).deadline(None);
    run.at(secs(100)).term().expect("unready").phase(Phase::LameDuck).deadline(Some(secs(115)));
    run.noted(|note| {
        matches!(note, Note::LameDuck { signal: Signal::TERM, sender: OUTSIDE, plan, hook: None, delay, drain }
            if plan.len() == 1 && plan[0].pid == MAIN && plan[0].name == "nginx" && plan[0].signal == Signal::QUIT
                && *delay == secs(15) && *drain == Some(secs(30)))
    });
    run.at(ms(114_999)).expect("").phase(Phase::LameDuck);
    run.at(secs(115)).expect("tell 7 QUIT").phase(Phase::Draining);
    run.noted(|note| matches!(note, Note::Draining { why: Why::DelayOver, cause: None, .. }));
    run.at(secs(120)).exited(MAIN, 0).expect("exit 0").phase(Phase::Gone);
    run.noted(|note| {
        matches!(note, Note::Ended(ended) if ended.phase == Phase::Draining && ended.code == 0 && !ended.killed
            && !ended.left_behind && ended.stop_took == Some(secs(20)) && ended.status == Some(WaitStatus::exited(0)))
    });
}

#[test]
fn without_a_delay_the_drain_begins_with_the_stop() {
    let mut run = Run::of(Policy::default(), [nginx(MAIN)]);
    run.at(secs(1)).term().expect("unready, tell 7 QUIT").phase(Phase::Draining).deadline(Some(secs(31)));
    run.noted(|note| matches!(note, Note::Draining { why: Why::NoDelay, cause: Some((Signal::TERM, OUTSIDE)), .. }));
}

#[test]
fn a_stop_before_the_start_is_remembered_and_starts_a_whole_delay() {
    let mut run = Run::idle(delayed());
    run.term().at(secs(2)).expect("").phase(Phase::Starting);
    run.world.push(nginx(MAIN));
    run.event(Event::Started(MAIN)).expect("ready, unready").phase(Phase::LameDuck).deadline(Some(secs(17)));
}

#[test]
fn signals_before_the_start_are_merged_like_the_kernels_and_kept_in_order() {
    let mut run = Run::idle(Policy::default());
    for _ in 0..1_000 {
        run.signal(Signal::HUP, OUTSIDE).term();
    }
    run.world.push(app(MAIN));
    run.event(Event::Started(MAIN)).expect("ready, unready, pass HUP to 7, tell 7 TERM");
}

#[test]
fn a_command_that_cannot_be_started_gives_its_status_unmapped_and_no_readiness() {
    let policy = Policy { map_exit: vec![(127, 0)], on_exit: Some(secs(5)), ..Policy::default() };
    let mut run = Run::idle(policy);
    run.term().event(Event::NotStarted(127)).expect("exit 127").phase(Phase::Gone).deadline(None);
    run.event(Event::Started(MAIN)).term().at(secs(100)).expect("");
}

#[test]
fn a_second_start_or_a_late_failure_to_start_changes_nothing() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.event(Event::Started(8)).event(Event::NotStarted(126)).expect("").phase(Phase::Serving);
    assert_eq!(run.machine.main(), Some(MAIN));
}

#[test]
fn a_second_stop_signal_ends_the_delay_at_once() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.term().at(ms(200)).signal(Signal::TERM, INSIDE).expect("unready, tell 7 QUIT").phase(Phase::Draining);
    run.noted(|note| matches!(note, Note::Draining { why: Why::Hurried(Signal::TERM, INSIDE), .. }));
    // The drain deadline counts from now, and the delay is not heard of again.
    run.deadline(Some(ms(30_200)));
}

#[test]
fn the_other_stop_signal_hurries_too_but_the_first_decides_with_what() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.term().at(secs(3)).signal(Signal::QUIT, TERMINAL).expect("unready, tell 7 TERM");
}

#[test]
fn within_200_ms_a_second_stop_signal_is_a_duplicate_in_every_phase() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.term().at(ms(199)).term().expect("unready").phase(Phase::LameDuck).deadline(Some(secs(15)));
    run.noted(|note| made(note) == Some(Made::Duplicate));

    let mut run = Run::of(Policy::default(), [nginx(MAIN)]);
    run.term().at(ms(199)).term().expect("unready, tell 7 QUIT");
    run.at(ms(200)).term().expect("pass TERM to 7");

    let mut run = Run::of(Policy::default(), [nginx(MAIN), app(8)]);
    run.term().at(ms(50)).exited(MAIN, 0).at(ms(150)).term().expect("unready, tell 7 QUIT, tell 8 TERM");
    run.phase(Phase::Sweeping);
}

#[test]
fn the_200_ms_count_from_the_first_stop_signal_not_from_the_last() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.term().at(ms(150)).term().at(ms(250)).term().expect("unready, tell 7 TERM");
}

#[test]
fn repeated_stop_signals_are_ignored_when_told_so() {
    let mut run = Run::of(Policy { hurry: false, ..delayed() }, [nginx(MAIN)]);
    run.term().at(secs(5)).term().expect("unready").phase(Phase::LameDuck).deadline(Some(secs(15)));
    run.noted(|note| made(note) == Some(Made::Ignored));
    run.at(secs(16)).expect("tell 7 QUIT").term().expect("");
    // An interrupt is no stop signal, and is not ignored.
    run.signal(Signal::INT, TERMINAL).expect("pass INT to 7");
}

#[test]
fn a_crash_during_the_delay_is_told_at_once_with_its_own_status() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.term().at(secs(4)).exited(MAIN, 7).expect("unready, exit 7").phase(Phase::Gone);
    run.noted(|note| matches!(note, Note::Ended(ended) if ended.phase == Phase::LameDuck && ended.code == 7));
}

#[test]
fn quiet_traffic_ends_the_delay_early() {
    let mut run = Run::of(Policy { watch: true, hold: crate::core::policy::Hold::Never, ..delayed() }, [app(MAIN)]);
    run.term().at(secs(6)).expect("unready, watch");
    run.event(Event::Quiet).expect("tell 7 TERM").phase(Phase::Draining).deadline(Some(secs(36)));
    run.noted(|note| matches!(note, Note::Draining { why: Why::Quiet, .. }));
    run.at(secs(7)).exited(MAIN, 0).expect("unwatch, exit 0");
}

#[test]
fn quiet_says_nothing_before_the_stop_or_after_the_delay() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.event(Event::Quiet).expect("").phase(Phase::Serving);
    run.term().at(secs(15)).event(Event::Quiet).expect("unready, tell 7 TERM");
}

#[test]
fn stop_signals_are_those_asked_for_and_no_others() {
    let these = StopOn::These([Signal::INT, Signal::USR2].into_iter().collect());
    let mut run = Run::of(Policy { stop_on: these, ..delayed() }, [app(MAIN)]);
    run.term().signal(Signal::QUIT, OUTSIDE).expect("pass TERM to 7, pass QUIT to 7").phase(Phase::Serving);
    run.signal(Signal::USR2, INSIDE).expect("unready").phase(Phase::LameDuck);
}

#[test]
fn any_sender_may_stop_with_term_and_quit() {
    for sender in [OUTSIDE, INSIDE, TERMINAL] {
        for signal in [Signal::TERM, Signal::QUIT] {
            let mut run = Run::of(delayed(), [app(MAIN)]);
            run.signal(signal, sender).expect("unready").phase(Phase::LameDuck);
        }
    }
}

#[test]
fn waking_late_runs_each_transition_once_and_in_order() {
    let mut run = Run::of(Policy { on_stop: Some(secs(5)), ..delayed() }, [app(MAIN)]);
    run.term().expect("unready, start on-stop");
    // Frozen over the end of the hook, the delay and the drain: each counts from when the one before ended.
    run.late(secs(1_000)).expect("kill on-stop").phase(Phase::LameDuck).deadline(Some(secs(1_015)));
    run.late(secs(2_000)).expect("tell 7 TERM").phase(Phase::Draining).deadline(Some(secs(2_030)));
    run.late(secs(3_000)).expect("kill all").phase(Phase::Killing).deadline(Some(secs(3_002)));
    run.late(secs(4_000)).expect("exit 137");
}

#[test]
fn the_moment_of_the_kill_is_known_ahead() {
    let mut run = Run::of(Policy { on_stop: Some(secs(5)), ..delayed() }, [app(MAIN)]);
    assert_eq!(run.machine.kill_at(), None);
    run.at(secs(1)).term();
    assert_eq!(run.machine.stop_began(), Some(secs(1)));
    assert_eq!(run.machine.kill_at(), Some(secs(51)));
    run.at(secs(2)).event(Event::HookEnded(crate::core::Hook::OnStop));
    assert_eq!(run.machine.kill_at(), Some(secs(47)));
    run.at(secs(17));
    assert_eq!(run.machine.kill_at(), Some(secs(47)));
    run.at(secs(47)).phase(Phase::Killing);
    assert_eq!(run.machine.kill_at(), None);
}

#[test]
fn what_was_asked_for_and_how_far_it_has_come_is_known() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    assert_eq!((run.machine.policy(), run.machine.stop(), run.machine.delay_ends()), (&delayed(), None, None));
    run.at(secs(3)).term();
    assert_eq!((run.machine.stop(), run.machine.delay_ends()), (Some((secs(3), Signal::TERM)), Some(secs(18))));
    run.at(secs(18));
    assert_eq!((run.machine.stop(), run.machine.delay_ends()), (Some((secs(3), Signal::TERM)), None));
}

#[test]
fn a_plan_that_comes_too_late_is_not_announced() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    let mut actions = Vec::new();
    run.machine.step(secs(0), Event::Signal(Signal::TERM, OUTSIDE), &mut actions);
    // The answer is taken for the question about the plan, which was asked first.
    run.late(secs(15)).phase(Phase::Draining);
    run.not_noted(|note| matches!(note, Note::LameDuck { .. }));
}
