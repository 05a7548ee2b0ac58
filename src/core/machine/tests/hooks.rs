//! The commands at both ends of a stop.

use super::Run;
use crate::core::fixtures::{MAIN, app, delayed, ms, secs};
use crate::core::note::Made;
use crate::core::{Event, Hook, Note, Phase, Policy, Signal};

fn hooked() -> Policy {
    Policy { on_stop: Some(secs(5)), on_exit: Some(secs(4)), ..delayed() }
}

#[test]
fn the_delay_counts_from_the_end_of_the_hook() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().expect("unready, start on-stop").phase(Phase::LameDuck).deadline(Some(secs(5)));
    run.at(secs(3)).event(Event::HookEnded(Hook::OnStop)).expect("").deadline(Some(secs(18)));
    run.at(secs(18)).expect("tell 7 TERM");
}

#[test]
fn a_hook_that_takes_too_long_is_killed_and_the_stop_goes_on() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().at(secs(5)).expect("unready, start on-stop, kill on-stop").phase(Phase::LameDuck);
    run.noted(|note| *note == Note::HookTimedOut(Hook::OnStop)).deadline(Some(secs(20)));
    // Its end is told too, and means nothing any more.
    run.at(secs(6)).event(Event::HookEnded(Hook::OnStop)).expect("").deadline(Some(secs(20)));
}

#[test]
fn without_a_delay_the_drain_waits_for_the_hook() {
    let mut run = Run::of(Policy { delay: ms(0), ..hooked() }, [app(MAIN)]);
    run.term().expect("unready, start on-stop").phase(Phase::LameDuck);
    run.at(secs(1)).event(Event::HookEnded(Hook::OnStop)).expect("tell 7 TERM").deadline(Some(secs(31)));
    let mut run = Run::of(Policy { delay: ms(0), ..hooked() }, [app(MAIN)]);
    run.term().at(secs(5)).expect("unready, start on-stop, kill on-stop, tell 7 TERM").deadline(Some(secs(35)));
}

#[test]
fn a_second_stop_signal_kills_a_running_hook() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().at(secs(1)).term().expect("unready, start on-stop, kill on-stop, tell 7 TERM").phase(Phase::Draining);
    run.event(Event::HookEnded(Hook::OnStop)).expect("").deadline(Some(secs(31)));
}

#[test]
fn a_second_stop_signal_after_the_hook_kills_no_hook() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().at(secs(1)).event(Event::HookEnded(Hook::OnStop));
    run.at(secs(2)).term().expect("unready, start on-stop, tell 7 TERM");
}

#[test]
fn traffic_gone_quiet_does_not_cut_a_hook_short() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().at(secs(1)).event(Event::Quiet).expect("unready, start on-stop").phase(Phase::LameDuck);
    run.event(Event::HookEnded(Hook::OnStop)).event(Event::Quiet).expect("tell 7 TERM");
}

#[test]
fn a_crash_kills_the_hook_and_the_other_one_still_runs() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.term().at(secs(1)).exited(MAIN, 7).expect("unready, start on-stop, kill on-stop, start on-exit");
    run.phase(Phase::Gone).deadline(Some(secs(5)));
    // The end of the killed one is not mistaken for the running one's.
    run.event(Event::HookEnded(Hook::OnStop)).expect("");
    run.at(secs(2)).event(Event::HookEnded(Hook::OnExit)).expect("exit 7");
}

#[test]
fn the_exit_hook_runs_when_the_server_goes_by_itself_and_is_limited() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.exited(MAIN, 3).expect("unready, start on-exit").deadline(Some(secs(4)));
    run.at(secs(4)).expect("kill on-exit, exit 3");
    run.noted(|note| *note == Note::HookTimedOut(Hook::OnExit));
}

#[test]
fn the_exit_hook_is_cut_by_a_stop_signal_but_not_by_a_duplicate() {
    let policy = || Policy { on_exit: Some(secs(4)), ..Policy::default() };
    let mut run = Run::of(policy(), [app(MAIN)]);
    run.term().at(ms(100)).exited(MAIN, 0).expect("unready, tell 7 TERM, start on-exit");
    run.at(ms(150)).term().expect("");
    run.at(ms(300)).term().expect("kill on-exit, exit 0");
    run.noted(|note| matches!(note, Note::Again { made: Made::HookCut, signal: Signal::TERM, .. }));
}

#[test]
fn a_process_given_up_that_ends_during_the_exit_hook_gives_its_status() {
    let mut run = Run::of(Policy { on_exit: Some(secs(4)), ..Policy::default() }, [app(MAIN)]);
    run.term().at(secs(32)).expect("unready, tell 7 TERM, kill all, start on-exit").phase(Phase::Gone);
    assert_eq!(run.machine.state(run.now).exit_code, Some(137), "as of one that was killed, until it is known");
    run.at(secs(33)).killed(MAIN, Signal::KILL).expect("");
    run.event(Event::HookEnded(Hook::OnExit)).expect("exit 137");
    run.noted(|note| matches!(note, Note::Ended(ended) if ended.status.is_some()));
}

#[test]
fn hooks_that_were_not_asked_for_end_nothing() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.event(Event::HookEnded(Hook::OnStop)).event(Event::HookEnded(Hook::OnExit)).expect("");
    run.term().event(Event::HookEnded(Hook::OnStop)).event(Event::HookEnded(Hook::OnExit)).expect("unready");
    run.phase(Phase::LameDuck).deadline(Some(secs(15)));
}

#[test]
fn the_exit_hook_of_a_server_that_went_by_itself_is_cut_by_a_stop_signal() {
    let mut run = Run::of(hooked(), [app(MAIN)]);
    run.exited(MAIN, 3).at(secs(1)).term().expect("unready, start on-exit, kill on-exit, exit 3");
}
