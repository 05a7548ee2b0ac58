//! Signals that are not (or only sometimes) about stopping: passed on at once, to whom they concern.

use super::{INSIDE, OUTSIDE, Run, TERMINAL};
use crate::core::fixtures::{MAIN, app, delayed, ms, nginx, program, secs, shell, sleep};
use crate::core::policy::StopOn;
use crate::core::{Phase, Policy, Signal, SignalSet, StopSignal};

#[test]
fn every_other_signal_reaches_the_server_and_changes_nothing() {
    for signal in (1..=64).filter_map(Signal::new).filter(|s| !matches!(*s, Signal::TERM | Signal::QUIT)) {
        let mut run = Run::of(delayed(), [app(MAIN)]);
        let name = signal.to_string().replace("SIG", "");
        for sender in [OUTSIDE, INSIDE, TERMINAL] {
            run.signal(signal, sender).expect(&format!("pass {name} to 7")).phase(Phase::Serving);
        }
    }
}

#[test]
fn a_programs_graceful_signal_from_outside_is_a_stop() {
    for (name, signal) in
        [("httpd", Signal::WINCH), ("haproxy", Signal::USR1), ("postgres", Signal::INT), ("nats-server", Signal::USR2)]
    {
        let mut run = Run::of(delayed(), [program(name, MAIN)]);
        run.signal(signal, OUTSIDE).expect("unready").phase(Phase::LameDuck);
        let word = signal.to_string().replace("SIG", "");
        run.at(secs(15)).expect(&format!("tell 7 {word}"));
    }
}

#[test]
fn from_inside_or_the_terminal_it_stays_plain() {
    for (name, signal) in [("httpd", Signal::WINCH), ("haproxy", Signal::USR1), ("postgres", Signal::INT)] {
        for sender in [INSIDE, TERMINAL] {
            let mut run = Run::of(delayed(), [program(name, MAIN)]);
            let word = signal.to_string().replace("SIG", "");
            run.signal(signal, sender).expect(&format!("pass {word} to 7")).phase(Phase::Serving);
        }
    }
}

#[test]
fn another_programs_graceful_signal_stays_plain() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    run.signal(Signal::WINCH, OUTSIDE).signal(Signal::INT, OUTSIDE).expect("pass WINCH to 7, pass INT to 7");
    run.phase(Phase::Serving);
}

#[test]
fn a_second_one_from_outside_hurries_and_from_inside_does_not() {
    let mut run = Run::of(delayed(), [program("httpd", MAIN)]);
    run.signal(Signal::WINCH, OUTSIDE).at(secs(1)).signal(Signal::WINCH, TERMINAL).expect("unready, pass WINCH to 7");
    run.signal(Signal::WINCH, OUTSIDE).expect("tell 7 WINCH").phase(Phase::Draining);
    let mut run = Run::of(delayed(), [program("httpd", MAIN)]);
    run.term().at(secs(1)).signal(Signal::WINCH, OUTSIDE).expect("unready, tell 7 WINCH");
}

#[test]
fn a_programs_signal_is_found_behind_a_shell() {
    let mut run = Run::of(delayed(), [shell(MAIN), program("httpd", 20).under(MAIN)]);
    run.signal(Signal::WINCH, OUTSIDE).expect("unready").phase(Phase::LameDuck);
    run.at(secs(15)).expect("tell 20 under 7 WINCH");
}

#[test]
fn without_proc_the_command_tells_which_signal_is_a_stop() {
    let mut run = Run::of(delayed(), []);
    run.machine = super::Machine::new(delayed(), "haproxy");
    run.blind = true;
    run.event(crate::core::Event::Started(MAIN)).signal(Signal::USR1, OUTSIDE).expect("ready, unready");
}

#[test]
fn one_look_tells_that_it_is_a_stop_and_for_whom() {
    for (policy, what) in [(delayed(), "unready"), (Policy::default(), "unready, tell 7 WINCH")] {
        let mut run = Run::of(policy, [program("httpd", MAIN)]);
        run.signal(Signal::WINCH, OUTSIDE).expect(what);
        assert_eq!(run.looks, 1);
    }
    let mut run = Run::of(delayed(), [shell(MAIN), app(20).under(MAIN)]);
    run.signal(Signal::USR1, OUTSIDE).expect("pass USR1 to 20 under 7");
    assert_eq!(run.looks, 1);
}

#[test]
fn what_the_server_is_is_remembered_for_a_second() {
    let mut run = Run::of(delayed(), [nginx(MAIN)]);
    for (millis, looks) in [(0, 1), (999, 1), (1_000, 2), (1_999, 2), (2_000, 3)] {
        // HAProxy's graceful signal, so that it matters who gets it.
        run.at(ms(millis)).signal(Signal::USR1, OUTSIDE).expect("pass USR1 to 7");
        assert_eq!(run.looks, looks, "at {millis} ms");
    }
}

#[test]
fn what_is_remembered_of_the_server_keeps_no_stop_from_it() {
    let mut run = Run::of(delayed(), [program("haproxy", MAIN)]);
    run.signal(Signal::HUP, OUTSIDE).signal(Signal::USR1, OUTSIDE).expect("pass HUP to 7, unready");
}

#[test]
fn signals_asked_for_leave_the_table_out() {
    let policy = Policy { stop_on: StopOn::These([Signal::TERM].into_iter().collect()), ..delayed() };
    let mut run = Run::of(policy, [program("httpd", MAIN)]);
    run.signal(Signal::WINCH, OUTSIDE).expect("pass WINCH to 7").phase(Phase::Serving);
}

#[test]
fn without_stop_signals_everything_is_passed_on_as_tini_does() {
    let policy = Policy {
        stop_on: StopOn::These(SignalSet::EMPTY),
        stop_signal: StopSignal::Same,
        drain: None,
        linger: Some(secs(0)),
        ..Policy::default()
    };
    let mut run = Run::of(policy, [nginx(MAIN)]);
    run.term().term().signal(Signal::QUIT, INSIDE).expect("pass TERM to 7, pass TERM to 7, pass QUIT to 7");
    run.phase(Phase::Serving).killed(MAIN, Signal::TERM).expect("unready, exit 143");
}

#[test]
fn signals_are_rewritten_or_dropped_on_their_way() {
    let rewrite = vec![
        (Signal::HUP, Some(Signal::USR1)),
        (Signal::USR2, None),
        (Signal::INT, None),
        (Signal::INT, Some(Signal::WINCH)),
    ];
    let mut run = Run::of(Policy { rewrite, ..delayed() }, [app(MAIN)]);
    run.signal(Signal::HUP, INSIDE).signal(Signal::USR2, INSIDE).signal(Signal::INT, TERMINAL);
    // The last word on a signal counts, and what comes of a rewriting is not rewritten again.
    run.signal(Signal::USR1, INSIDE).expect("pass USR1 to 7, pass WINCH to 7, pass USR1 to 7");
}

#[test]
fn in_group_mode_everything_goes_to_the_group() {
    let mut run = Run::of(Policy { group: true, ..delayed() }, [nginx(MAIN)]);
    run.signal(Signal::HUP, INSIDE)
        .signal(Signal::WINCH, TERMINAL)
        .expect("pass HUP to group 7, pass WINCH to group 7");
    run.term().at(secs(15)).expect("unready, tell group 7 QUIT");
    run.term().signal(Signal::INT, TERMINAL).expect("pass TERM to group 7, pass INT to group 7");
}

#[test]
fn reloads_and_a_programs_own_signals_pass_through_a_shell() {
    for (signal, word) in [(Signal::HUP, "HUP"), (Signal::USR1, "USR1"), (Signal::USR2, "USR2")] {
        let mut run = Run::of(delayed(), [shell(MAIN), app(20).under(MAIN)]);
        run.signal(signal, INSIDE).expect(&format!("pass {word} to 20 under 7"));
        let mut run = Run::of(delayed(), [shell(MAIN).catches(&[signal]), app(20).under(MAIN)]);
        run.signal(signal, INSIDE).expect(&format!("pass {word} to 7"));
    }
    // The terminal's size is the shell's affair.
    let mut run = Run::of(delayed(), [shell(MAIN), app(20).under(MAIN)]);
    run.signal(Signal::WINCH, TERMINAL).expect("pass WINCH to 7");
}

#[test]
fn a_rewritten_reload_passes_through_a_shell_as_what_it_has_become() {
    let policy = Policy { rewrite: vec![(Signal::WINCH, Some(Signal::HUP))], ..delayed() };
    let mut run = Run::of(policy, [shell(MAIN), app(20).under(MAIN)]);
    run.signal(Signal::WINCH, TERMINAL).expect("pass HUP to 20 under 7");
}

#[test]
fn a_server_seen_to_be_no_shell_is_not_looked_at_for_every_signal_of_a_storm() {
    let mut run = Run::of(delayed(), [app(MAIN)]);
    run.signal(Signal::HUP, INSIDE).expect("pass HUP to 7");
    let mut actions = Vec::new();
    run.machine.step(run.now, crate::core::Event::Signal(Signal::HUP, INSIDE), &mut actions);
    assert!(matches!(actions[..], [crate::core::Action::Send(_)]), "{actions:?}");
    // A shell is looked at every time: what runs behind it changes.
    let mut run = Run::of(delayed(), [shell(MAIN), sleep(20).under(MAIN)]);
    run.signal(Signal::HUP, INSIDE).gone(20).born(app(21).under(MAIN)).signal(Signal::HUP, INSIDE);
    run.expect("pass HUP to 20 under 7, pass HUP to 21 under 7");
}

#[test]
fn a_launcher_that_becomes_the_server_is_looked_at_again() {
    let mut run = Run::of(delayed(), [program("launcher", MAIN)]);
    run.signal(Signal::USR1, OUTSIDE).expect("pass USR1 to 7");
    run.at(secs(2)).becomes(program("httpd", MAIN)).signal(Signal::WINCH, OUTSIDE).expect("unready");
    run.at(secs(17)).expect("tell 7 WINCH");
    // Or a shell in front of it, which the reload would only end.
    let mut run = Run::of(delayed(), [program("launcher", MAIN)]);
    run.signal(Signal::HUP, INSIDE).expect("pass HUP to 7");
    run.at(secs(2)).becomes(shell(MAIN)).born(app(20).under(MAIN)).signal(Signal::HUP, INSIDE);
    run.expect("pass HUP to 20 under 7");
}

#[test]
fn nobody_is_left_to_hear_a_signal_during_the_sweep() {
    let mut run = Run::of(Policy::default(), [app(MAIN), app(8)]);
    run.term().at(secs(1)).exited(MAIN, 0).expect("unready, tell 7 TERM, tell 8 TERM");
    run.signal(Signal::HUP, INSIDE).signal(Signal::INT, TERMINAL).expect("").phase(Phase::Sweeping);
}

#[test]
fn a_signal_its_namesake_does_not_handle_is_no_stop() {
    let mut run = Run::of(delayed(), [program("httpd", MAIN).catches(&[Signal::TERM])]);
    run.signal(Signal::WINCH, OUTSIDE).expect("pass WINCH to 7").phase(Phase::Serving);
}

#[test]
fn the_signal_that_asked_for_the_stop_cuts_the_sweep_too() {
    let mut run = Run::of(Policy::default(), [program("httpd", MAIN), app(8)]);
    run.signal(Signal::WINCH, OUTSIDE).at(secs(1)).exited(MAIN, 0).expect("unready, tell 7 WINCH, tell 8 TERM");
    run.at(secs(2)).signal(Signal::WINCH, OUTSIDE).expect("kill all, exit 0");
}

#[test]
fn a_look_that_saw_nothing_is_not_taken_for_one_that_saw_no_shell() {
    let mut run = Run::of(delayed(), [shell(MAIN), app(20).under(MAIN)]);
    run.blind = true;
    run.signal(Signal::HUP, INSIDE).expect("pass HUP to 7");
    run.blind = false;
    run.signal(Signal::HUP, INSIDE).expect("pass HUP to 20 under 7");
}
