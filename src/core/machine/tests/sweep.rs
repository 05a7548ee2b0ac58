//! What the main process left behind.

use super::{INSIDE, OUTSIDE, Run};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, secs, seen, shell, sleep};
use crate::core::note::Made;
use crate::core::{Action, Event, Note, Phase, Policy, Signal, Snapshot, WaitStatus};

#[test]
fn after_a_stop_leftovers_are_told_and_given_the_linger() {
    let mut run = Run::of(Policy::default(), [app(MAIN), nginx(8), sleep(9), app(10).under(8)]);
    run.term().at(secs(2)).exited(MAIN, 3).expect("unready, tell 7 TERM, tell 8 QUIT, tell 9 TERM");
    run.noted(|note| matches!(note, Note::Sweeping { budget, told } if *budget == Some(secs(5)) && told.len() == 2));
    run.phase(Phase::Sweeping).deadline(Some(secs(7)));
    run.at(secs(3)).exited(9, 0).expect("").deadline(Some(secs(7)));
    // Its worker is ours now, and has not been told.
    run.at(secs(4)).exited(8, 0).expect("tell 10 TERM").deadline(Some(secs(7)));
    run.at(ms(6_999)).expect("").at(secs(7)).expect("kill all, exit 3");
    run.noted(|note| *note == Note::LeftBehind);
}

#[test]
fn nothing_is_waited_out_when_nothing_is_left() {
    let mut run = Run::of(Policy { linger: Some(secs(60)), ..Policy::default() }, [app(MAIN), app(8)]);
    run.term().exited(MAIN, 0).at(secs(1)).exited(8, 0).expect("unready, tell 7 TERM, tell 8 TERM, exit 0");
    run.noted(|note| matches!(note, Note::Ended(ended) if !ended.left_behind && ended.stop_took == Some(secs(1))));
}

#[test]
fn when_the_server_goes_by_itself_leftovers_get_no_time() {
    let mut run = Run::of(delayed(), [app(MAIN), app(8)]);
    run.at(secs(1)).exited(MAIN, 3).expect("unready, kill all, exit 3");
    assert!(!run.notes.contains(&Note::LeftBehind), "no time was given that could have been too short");
    run.noted(|note| matches!(note, Note::Ended(ended) if ended.left_behind));
}

#[test]
fn when_the_server_goes_by_itself_and_the_reaper_says_nothing_the_end_comes_all_the_same() {
    let mut run = Run::of(delayed(), [app(MAIN), app(8)]);
    run.reaper = false;
    run.exited(MAIN, 3).expect("unready").phase(Phase::Sweeping).deadline(Some(ms(10)));
    run.at(ms(10)).expect("kill all, exit 3");
}

#[test]
fn a_linger_given_holds_for_both() {
    let linger = || Policy { linger: Some(secs(2)), ..delayed() };
    let mut run = Run::of(linger(), [app(MAIN), app(8)]);
    run.exited(MAIN, 3).expect("unready, tell 8 TERM").deadline(Some(secs(2)));
    let mut run = Run::of(linger(), [app(MAIN), app(8)]);
    run.term().at(secs(1)).exited(MAIN, 3).expect("unready, tell 8 TERM").deadline(Some(secs(3)));
    let mut run = Run::of(Policy { linger: Some(ms(0)), ..delayed() }, [app(MAIN), app(8)]);
    run.term().at(secs(1)).exited(MAIN, 3).expect("unready, kill all, exit 3");
}

#[test]
fn leftovers_of_a_crash_during_the_delay_get_the_linger() {
    let mut run = Run::of(delayed(), [shell(MAIN), app(8).under(MAIN)]);
    run.term().at(secs(1)).exited(MAIN, 7).expect("unready, tell 8 TERM").deadline(Some(secs(6)));
}

#[test]
fn a_stop_signal_cuts_the_sweep() {
    let mut run = Run::of(Policy::default(), [app(MAIN), app(8)]);
    run.term().exited(MAIN, 0).at(secs(1)).expect("unready, tell 7 TERM, tell 8 TERM");
    run.signal(Signal::QUIT, INSIDE).expect("kill all, exit 0");
    assert!(!run.notes.contains(&Note::LeftBehind), "it did not take too long");
    run.noted(|note| matches!(note, Note::Again { made: Made::SweepCut, signal: Signal::QUIT, sender: INSIDE }));
}

#[test]
fn repeats_that_are_ignored_do_not_cut_the_sweep() {
    let mut run = Run::of(Policy { hurry: false, ..Policy::default() }, [app(MAIN), app(8)]);
    run.term().exited(MAIN, 0).at(secs(1)).term().expect("unready, tell 7 TERM, tell 8 TERM");
}

#[test]
fn a_servers_shell_leaves_it_the_rest_of_the_drain() {
    // The shell behind which the server was told ends first.
    let mut run = Run::of(Policy::default(), [shell(MAIN), nginx(20).under(MAIN), sleep(21).under(20)]);
    run.term().at(secs(1)).killed(MAIN, Signal::KILL).expect("unready, tell 20 under 7 QUIT");
    run.phase(Phase::Sweeping).deadline(Some(secs(30)));
    run.at(secs(2)).exited(20, 0).expect("tell 21 TERM").deadline(Some(secs(30)));
    run.at(secs(30)).expect("kill all, exit 137");
    run.noted(|note| matches!(note, Note::Ended(ended) if !ended.killed && ended.phase == Phase::Draining));
}

#[test]
fn a_wrapper_that_died_of_the_signal_leaves_the_server_the_rest_of_the_drain() {
    // npm: node → sh → server; node dies of TERM at once.
    let mut run = Run::of(Policy::default(), [sleep(MAIN), shell(20).under(MAIN), nginx(21).under(20)]);
    run.term().at(secs(1)).killed(MAIN, Signal::TERM).expect("unready, tell 7 TERM, tell 20 TERM");
    run.deadline(Some(secs(30)));
    run.at(secs(2)).killed(20, Signal::TERM).expect("tell 21 QUIT").deadline(Some(secs(30)));
    run.at(secs(9)).exited(21, 0).expect("exit 143");
}

#[test]
fn without_a_drain_deadline_a_wrappers_server_has_all_the_time() {
    let mut run = Run::of(Policy { drain: None, ..Policy::default() }, [sleep(MAIN), nginx(20).under(MAIN)]);
    run.term().killed(MAIN, Signal::TERM).expect("unready, tell 7 TERM, tell 20 QUIT").deadline(None);
    run.noted(|note| matches!(note, Note::Sweeping { budget: None, .. }));
    run.at(secs(100)).term().expect("kill all, exit 143");
}

#[test]
fn a_death_by_another_signal_or_an_exit_makes_no_wrapper() {
    for status in [WaitStatus::killed(Signal::new(11).unwrap()), WaitStatus::exited(143)] {
        let mut run = Run::of(Policy::default(), [sleep(MAIN), nginx(20).under(MAIN)]);
        run.term().at(secs(1)).died(MAIN, status).deadline(Some(secs(6)));
    }
}

#[test]
fn what_shared_the_group_that_was_told_is_not_told_again() {
    let group = Policy { group: true, ..Policy::default() };
    let mut run = Run::of(group, [nginx(MAIN), app(8), app(9).in_group(9)]);
    run.term().at(secs(1)).exited(MAIN, 0).expect("unready, tell group 7 QUIT, tell 9 TERM");
    // Without a stop nobody had a signal.
    let lingering = Policy { group: true, linger: Some(secs(1)), ..Policy::default() };
    let mut run = Run::of(lingering, [nginx(MAIN), app(8)]);
    run.exited(MAIN, 0).expect("unready, tell 8 TERM");
}

#[test]
fn after_the_exit_nothing_happens_any_more() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.exited(MAIN, 0).expect("unready, exit 0").deadline(None);
    run.term().exited(8, 1).event(Event::Quiet).at(secs(99)).expect("").phase(Phase::Gone);
}

#[test]
fn a_first_stop_signal_cuts_the_sweep_of_a_server_that_went_by_itself() {
    let policy = Policy { linger: Some(secs(60)), on_exit: Some(secs(4)), ..delayed() };
    let mut run = Run::of(policy, [app(MAIN), app(8)]);
    run.exited(MAIN, 3).at(secs(1)).term().expect("unready, tell 8 TERM, kill all, start on-exit");
    // Delivered twice it is still one stop, and the hook has its time.
    run.at(ms(1_100)).signal(Signal::TERM, OUTSIDE).expect("");
    run.at(secs(2)).term().expect("kill on-exit, exit 3");
}

#[test]
fn a_sweep_after_the_drain_deadline_kills_nothing_twice() {
    let mut run = Run::of(Policy::default(), [app(MAIN), app(8)]);
    run.term().at(secs(30)).expect("unready, tell 7 TERM, kill all");
    run.killed(MAIN, Signal::KILL).expect("").phase(Phase::Sweeping);
    assert_eq!(run.machine.kill_at(), None, "it was killed already");
    run.at(secs(31)).killed(8, Signal::KILL).expect("exit 137");
}

#[test]
fn a_pid_that_comes_back_is_another_process_and_is_told() {
    let mut run = Run::of(Policy::default(), [app(MAIN), app(8), app(9)]);
    run.term().exited(MAIN, 0).expect("unready, tell 7 TERM, tell 8 TERM, tell 9 TERM");
    run.at(secs(1)).gone(8).born(nginx(8)).event(Event::Died(8, WaitStatus::exited(0)));
    run.event(Event::Reaped { children_left: true }).expect("tell 8 QUIT");
}

#[test]
fn a_leftover_that_owns_a_port_of_the_clients_has_the_rest_of_the_drain() {
    let mut run = Run::of(Policy::default(), [app(MAIN), app(8).listening(), app(9)]);
    run.term().at(secs(1)).exited(MAIN, 0).expect("unready, tell 7 TERM, tell 8 TERM, tell 9 TERM");
    run.deadline(Some(secs(30)));
    run.noted(|note| matches!(note, Note::Sweeping { budget, .. } if *budget == Some(secs(29))));
}

#[test]
fn a_linger_of_nothing_does_not_cut_a_leftover_that_owns_a_port() {
    let linger = || Policy { linger: Some(ms(0)), ..Policy::default() };
    let mut run = Run::of(linger(), [app(MAIN), app(8).listening()]);
    run.term().at(secs(1)).exited(MAIN, 0).expect("unready, tell 7 TERM, tell 8 TERM").deadline(Some(secs(30)));
    let mut run = Run::of(linger(), [app(MAIN), app(8)]);
    run.term().at(secs(1)).exited(MAIN, 0).expect("unready, tell 7 TERM, kill all, exit 0");
}

#[test]
fn the_answer_to_a_look_at_the_server_is_not_taken_for_one_at_the_leftovers() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN)]);
    let mut actions = Vec::new();
    run.machine.step(secs(1), Event::Signal(Signal::HUP, INSIDE), &mut actions);
    run.now = secs(1);
    let tree = run.look(crate::core::Look::Main(MAIN));
    run.machine.step(secs(1), Event::Signal(Signal::TERM, OUTSIDE), &mut actions);
    run.machine.step(secs(1), Event::Died(MAIN, WaitStatus::exited(0)), &mut actions);
    run.machine.step(secs(1), Event::Reaped { children_left: true }, &mut actions);
    actions.clear();
    for _ in 0..2 {
        run.machine.step(secs(1), Event::Seen(tree.clone()), &mut actions);
        assert_eq!(actions, [], "answers to what was asked before the end");
    }
    run.gone(MAIN).gone(20).born(app(20));
    run.event(Event::Seen(run.look(crate::core::Look::Children))).expect("tell 20 TERM");
}

#[test]
fn leftovers_are_looked_at_once_for_a_batch_of_deaths_and_never_after_the_kill() {
    let mut machine = crate::core::Machine::new(Policy::default(), "app");
    let mut actions = Vec::new();
    let looks = |actions: &mut Vec<Action>| actions.drain(..).filter(|a| matches!(a, Action::Look(_))).count();
    machine.step(ms(0), Event::Started(MAIN), &mut actions);
    machine.step(ms(0), Event::Signal(Signal::TERM, OUTSIDE), &mut actions);
    let mut killed = machine.clone();
    assert_eq!(looks(&mut actions), 1);
    machine.step(ms(1), Event::Died(MAIN, WaitStatus::exited(0)), &mut actions);
    for _ in 0..3 {
        machine.step(ms(1), Event::Reaped { children_left: true }, &mut actions);
    }
    assert_eq!(looks(&mut actions), 1);
    killed.step(secs(30), Event::Seen(Snapshot::default()), &mut actions);
    killed.step(secs(31), Event::Died(MAIN, WaitStatus::killed(Signal::KILL)), &mut actions);
    killed.step(secs(31), Event::Reaped { children_left: true }, &mut actions);
    assert_eq!((killed.phase(), looks(&mut actions)), (Phase::Sweeping, 0));
}

#[test]
fn a_hook_that_still_ends_is_no_reason_to_tell_a_group() {
    // The child that is left is a hook's, which no look shows.
    let mut machine = crate::core::Machine::new(Policy::default(), "nginx");
    let mut actions = Vec::new();
    machine.step(ms(0), Event::Started(MAIN), &mut actions);
    machine.step(ms(1), Event::Signal(Signal::TERM, OUTSIDE), &mut actions);
    machine.step(ms(1), Event::Seen(seen([nginx(MAIN)])), &mut actions);
    machine.step(ms(2), Event::Died(MAIN, WaitStatus::exited(0)), &mut actions);
    machine.step(ms(2), Event::Reaped { children_left: true }, &mut actions);
    assert_eq!(machine.phase(), Phase::Sweeping);
    actions.clear();
    machine.step(ms(2), Event::Seen(Snapshot::default()), &mut actions);
    assert!(!actions.iter().any(|action| matches!(action, Action::Send(_))), "{actions:?}");
}

#[test]
fn without_proc_what_is_left_is_told_as_a_group() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN)]);
    run.blind = true;
    run.term().at(secs(1)).killed(MAIN, Signal::TERM);
    run.expect("unready, tell 7 TERM, tell what is left of group 7 TERM").deadline(Some(secs(30)));
    run.at(secs(2)).died(20, WaitStatus::exited(0)).expect("exit 143");
    // In group mode it had its signal.
    let mut run = Run::of(Policy { group: true, ..Policy::default() }, [shell(MAIN), app(20).under(MAIN)]);
    run.blind = true;
    run.term().at(secs(1)).killed(MAIN, Signal::TERM).expect("unready, tell group 7 TERM");
}
