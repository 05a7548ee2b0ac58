//! The graceful signal, a second stop signal after it, the deadline and the kill.

use super::{INSIDE, OUTSIDE, Run, TERMINAL};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, program, secs, shell, sleep};
use crate::core::note::Made;
use crate::core::{Event, Note, Phase, Policy, Signal, StopSignal, WaitStatus};

/// nginx, told to drain at 0 s.
fn draining(policy: Policy) -> Run {
    let mut run = Run::of(policy, [nginx(MAIN)]);
    run.term().expect("unready, tell 7 QUIT").phase(Phase::Draining);
    run
}

#[test]
fn the_graceful_signal_is_the_programs_own() {
    for (process, tell) in [
        (nginx(MAIN), "tell 7 QUIT"),
        (program("httpd", MAIN), "tell 7 WINCH"),
        (program("haproxy", MAIN), "tell 7 USR1"),
        (program("postgres", MAIN), "tell 7 INT"),
        (app(MAIN), "tell 7 TERM"),
        // Busybox calls itself httpd too.
        (program("httpd", MAIN).catches(&[Signal::TERM]), "tell 7 TERM"),
        (sleep(MAIN), "tell 7 TERM"),
    ] {
        let mut run = Run::of(Policy::default(), [process]);
        run.term().expect(&format!("unready, {tell}"));
    }
}

#[test]
fn an_unknown_program_gets_the_signal_as_received_if_it_handles_it() {
    let mut run = Run::of(Policy::default(), [app(MAIN)]);
    run.signal(Signal::QUIT, OUTSIDE).expect("unready, tell 7 QUIT");
    let mut run = Run::of(Policy::default(), [app(MAIN).catches(&[Signal::TERM])]);
    run.signal(Signal::QUIT, OUTSIDE).expect("unready, tell 7 TERM");
}

#[test]
fn the_signal_asked_for_beats_the_table() {
    let this = Policy { stop_signal: StopSignal::This(Signal::INT), ..Policy::default() };
    Run::of(this, [nginx(MAIN)]).term().expect("unready, tell 7 INT");
    let same = Policy { stop_signal: StopSignal::Same, ..Policy::default() };
    Run::of(same, [nginx(MAIN)]).term().expect("unready, tell 7 TERM");
}

#[test]
fn a_rewritten_stop_signal_is_the_graceful_signal() {
    for stop_signal in [StopSignal::Auto, StopSignal::Same] {
        let rewrite = vec![(Signal::TERM, Some(Signal::USR2))];
        Run::of(Policy { stop_signal, rewrite, ..Policy::default() }, [nginx(MAIN)])
            .term()
            .expect("unready, tell 7 USR2");
    }
}

#[test]
fn a_dropped_stop_signal_stops_nothing() {
    let mut run = Run::of(Policy { rewrite: vec![(Signal::TERM, None)], ..delayed() }, [nginx(MAIN)]);
    run.term().expect("").phase(Phase::Serving);
    run.signal(Signal::QUIT, OUTSIDE).at(secs(1)).term().expect("unready").phase(Phase::LameDuck);
}

#[test]
fn without_proc_the_command_names_the_program() {
    let mut run = Run::of(Policy::default(), []);
    run.machine = super::Machine::new(Policy::default(), "nginx");
    run.blind = true;
    run.event(Event::Started(MAIN)).term().expect("ready, unready, tell 7 QUIT");
    run.noted(|note| matches!(note, Note::Draining { told, .. } if told[0].name == "nginx"));
}

#[test]
fn the_program_is_looked_up_when_the_delay_is_over_not_before() {
    let mut run = Run::of(delayed(), [sleep(MAIN)]);
    run.term().at(secs(1)).becomes(nginx(MAIN)).at(secs(15)).expect("unready, tell 7 QUIT");
}

#[test]
fn during_the_drain_term_and_int_are_passed_on_untranslated() {
    let mut run = draining(Policy::default());
    run.at(secs(3)).term().expect("pass TERM to 7");
    run.noted(|note| matches!(note, Note::Again { made: Made::PassedOn, signal: Signal::TERM, sender: OUTSIDE }));
    run.signal(Signal::INT, TERMINAL).signal(Signal::INT, INSIDE).expect("pass INT to 7, pass INT to 7");
    run.phase(Phase::Draining).deadline(Some(secs(30)));
}

#[test]
fn a_second_quit_during_the_drain_is_not_passed_on() {
    let mut run = draining(Policy::default());
    run.at(secs(3)).signal(Signal::QUIT, OUTSIDE).expect("");
    run.noted(|note| matches!(note, Note::Again { made: Made::AlreadyDraining, .. }));
}

#[test]
fn reloads_are_passed_on_in_every_phase() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.signal(Signal::HUP, INSIDE).expect("pass HUP to 7");
    run.term().signal(Signal::HUP, INSIDE).expect("unready, pass HUP to 7").deadline(Some(secs(15)));
    run.at(secs(15)).signal(Signal::HUP, INSIDE).expect("tell 7 QUIT, pass HUP to 7").deadline(Some(secs(45)));
    run.at(secs(45)).signal(Signal::HUP, INSIDE).expect("kill all, pass HUP to 7").deadline(Some(secs(47)));
}

#[test]
fn an_interrupt_during_the_delay_is_immediate() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.term().at(secs(1)).signal(Signal::INT, TERMINAL).expect("unready, pass INT to 7").phase(Phase::LameDuck);
}

#[test]
fn a_drain_that_takes_too_long_is_killed() {
    let mut run = draining(Policy::default());
    run.at(ms(29_999)).expect("").phase(Phase::Draining);
    run.at(secs(30)).expect("kill all").phase(Phase::Killing).deadline(Some(secs(32)));
    run.noted(|note| matches!(note, Note::Killing { drain } if *drain == secs(30)));
    run.at(secs(31)).killed(MAIN, Signal::KILL).expect("exit 137");
    run.noted(|note| {
        matches!(note, Note::Ended(ended) if ended.killed && ended.phase == Phase::Killing && !ended.left_behind
            && ended.code == 137 && ended.stop_took == Some(secs(31)))
    });
}

#[test]
fn a_server_that_ends_in_the_instant_of_the_deadline_is_not_killed() {
    let mut run = draining(Policy::default());
    run.now = secs(30);
    run.exited(MAIN, 0).expect("exit 0");
}

#[test]
fn what_cannot_be_reaped_is_given_up_after_2_s() {
    let mut run = draining(Policy::default());
    run.at(ms(31_999)).expect("kill all").phase(Phase::Killing);
    run.at(secs(32)).expect("exit 137").phase(Phase::Gone);
    run.noted(|note| matches!(note, Note::Ended(ended) if ended.killed && ended.left_behind && ended.status.is_none()));
}

#[test]
fn stop_signals_during_the_kill_change_nothing() {
    let mut run = draining(Policy::default());
    run.at(secs(30)).expect("kill all").term().signal(Signal::QUIT, OUTSIDE).expect("").deadline(Some(secs(32)));
}

#[test]
fn the_killing_bounds_the_sweep_after_it() {
    let mut run = draining(Policy::default());
    run.born(app(8)).at(secs(31)).killed(MAIN, Signal::KILL).expect("kill all").phase(Phase::Sweeping);
    run.at(secs(32)).expect("exit 137");
    run.noted(|note| matches!(note, Note::Ended(ended) if ended.left_behind));
}

#[test]
fn a_drain_without_a_limit_waits_as_long_as_it_takes() {
    let mut run = draining(Policy { drain: None, ..Policy::default() });
    run.deadline(None).at(secs(1_000_000)).expect("");
    run.exited(MAIN, 0).expect("exit 0");
}

#[test]
fn a_drain_of_nothing_kills_at_once_but_asks_first() {
    let mut run = Run::of(Policy { drain: Some(ms(0)), ..Policy::default() }, [nginx(MAIN)]);
    run.term().expect("unready, tell 7 QUIT, kill all").phase(Phase::Killing).deadline(Some(secs(2)));
}

#[test]
fn a_deadline_does_not_wait_long_for_a_look_that_is_not_answered() {
    let mut run = Run::of(Policy { drain: Some(ms(0)), ..Policy::default() }, [nginx(MAIN)]);
    let mut actions = Vec::new();
    run.machine.step(ms(0), Event::Signal(Signal::TERM, OUTSIDE), &mut actions);
    run.deadline(Some(ms(10))).at(ms(10)).expect("kill all").deadline(Some(secs(2)));
}

#[test]
fn the_exit_status_is_the_servers_own_and_mapped_as_asked() {
    for code in 0..=255 {
        draining(Policy::default()).exited(MAIN, code).expect(&format!("exit {code}"));
    }
    for number in (1..=64).filter_map(Signal::new) {
        let code = 128 + number.number();
        draining(Policy::default()).killed(MAIN, number).expect(&format!("exit {code}"));
    }
    let mapped = || Policy { map_exit: vec![(143, 1), (143, 0), (3, 4), (4, 5)], ..Policy::default() };
    draining(mapped()).killed(MAIN, Signal::TERM).expect("exit 0");
    draining(mapped()).exited(MAIN, 3).expect("exit 4");
}

#[test]
fn a_server_that_goes_by_itself_is_reported_without_a_stop() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.at(secs(9)).died(MAIN, WaitStatus::from_raw(0x80 | 0x0b)).expect("unready, exit 139");
    run.noted(|note| {
        matches!(note, Note::Ended(ended) if ended.stop_took.is_none() && ended.phase == Phase::Serving && !ended.killed)
    });
}

#[test]
fn the_end_of_other_children_is_not_the_servers() {
    let mut run = draining(Policy::default());
    run.born(app(8)).exited(8, 3).expect("").phase(Phase::Draining);
}

#[test]
fn a_server_that_ended_by_itself_just_before_the_kill_keeps_its_status() {
    let mut run = draining(Policy::default());
    run.at(ms(30_001)).expect("kill all").exited(MAIN, 0).expect("exit 0");
    run.noted(|note| matches!(note, Note::Ended(ended) if !ended.killed && ended.code == 0));
}

#[test]
fn an_interrupt_that_is_a_stop_signal_is_passed_on_during_the_drain_and_so_is_a_term_that_is_none() {
    let stop_on = crate::core::policy::StopOn::These([Signal::INT].into_iter().collect());
    let mut run = Run::of(Policy { stop_on, ..Policy::default() }, [shell(MAIN), nginx(20).under(MAIN)]);
    run.signal(Signal::INT, TERMINAL).expect("unready, tell 20 under 7 QUIT").at(secs(1));
    run.signal(Signal::INT, TERMINAL).term().expect("pass INT to 20 under 7, pass TERM to 20 under 7");
}
