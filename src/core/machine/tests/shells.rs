//! Shells in front of the server, and what becomes of them during the drain.

use super::{INSIDE, Run, TERMINAL};
use crate::core::action::{Action, Look};
use crate::core::fixtures::{MAIN, app, ms, nginx, secs, shell, sleep};
use crate::core::{Event, Note, Phase, Policy, Signal};

/// bash catches these as soon as a script has an EXIT trap.
const EXIT_TRAP: [Signal; 5] = [Signal::HUP, Signal::ILL, Signal::TRAP, Signal::TERM, Signal::SYS];

#[test]
fn the_server_behind_a_shell_is_told_and_the_shell_returns_its_status() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT").phase(Phase::Draining);
    run.noted(|note| matches!(note, Note::Draining { told, waits_for: None, .. } if told[0].pid == 20));
    run.at(secs(4)).gone(20).at(ms(4_010)).exited(MAIN, 42).expect("exit 42");
}

#[test]
fn shells_behind_shells_are_looked_through() {
    let mut run =
        Run::of(Policy::default(), [shell(MAIN), shell(20).under(MAIN), shell(21).under(20), nginx(22).under(21)]);
    run.term().expect("unready, tell 22 under 21 QUIT");
}

#[test]
fn the_reader_of_a_pipe_is_left_to_end_by_itself() {
    let mut run = Run::of(
        Policy::default(),
        [
            shell(MAIN),
            app(20).under(MAIN).writes(5),
            app(21).under(MAIN).reads(5).writes(6),
            app(22).under(MAIN).reads(6),
        ],
    );
    run.term().expect("unready, tell 20 under 7 TERM");
    // Its last lines may take a while: it is not cut short.
    run.at(secs(1)).gone(20).at(secs(20)).expect("").phase(Phase::Draining);
    run.gone(21).gone(22).exited(MAIN, 0).expect("exit 0");
}

#[test]
fn of_several_children_all_are_told() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN), nginx(21).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 TERM, tell 21 under 7 QUIT");
    run.at(secs(1)).term().expect("pass TERM to 20 under 7, pass TERM to 21 under 7");
    run.signal(Signal::INT, TERMINAL).expect("pass INT to 20 under 7, pass INT to 21 under 7");
}

#[test]
fn a_shell_with_a_trap_is_told_itself_and_the_log_names_what_it_waits_for() {
    let mut run = Run::of(Policy::default(), [shell(MAIN).catches(&[Signal::TERM]), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 7 TERM");
    run.noted(
        |note| matches!(note, Note::Draining { waits_for: Some((20, name)), told, .. } if name == "nginx" && told[0].pid == MAIN),
    );
    // It was told; nobody looks at it any more.
    run.deadline(Some(secs(30)));
}

#[test]
fn a_trap_for_another_signal_does_not_count() {
    let mut run = Run::of(Policy::default(), [shell(MAIN).catches(&[Signal::QUIT]), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT");
    let mut run = Run::of(Policy::default(), [shell(MAIN).catches(&[Signal::QUIT]), nginx(20).under(MAIN)]);
    run.signal(Signal::QUIT, INSIDE).expect("unready, tell 7 QUIT");
}

#[test]
fn an_exit_trap_of_bash_does_not_count() {
    let mut run = Run::of(Policy::default(), [shell(MAIN).catches(&EXIT_TRAP), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT");
}

#[test]
fn a_shell_without_anything_behind_it_is_told_itself() {
    let mut run = Run::of(Policy::default(), [shell(MAIN)]);
    run.term().expect("unready, tell 7 TERM").deadline(Some(secs(30)));
    run.noted(|note| matches!(note, Note::Draining { waits_for: None, .. }));
}

#[test]
fn in_group_mode_nothing_is_looked_for_but_the_signal() {
    let mut run = Run::of(Policy { group: true, ..Policy::default() }, [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell group 7 QUIT").deadline(Some(secs(30)));
    run.noted(|note| matches!(note, Note::Draining { told, waits_for: None, .. } if told.len() == 1));
}

#[test]
fn a_loop_that_went_on_to_the_server_is_told_for_what_it_is_now() {
    // until ready; do sleep 1; done; exec nginx
    let mut run = Run::of(Policy::default(), [shell(MAIN), sleep(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 TERM");
    run.at(ms(50)).gone(20).becomes(nginx(MAIN));
    // First seen gone at 100 ms.
    run.at(ms(599)).expect("").at(ms(600)).expect("tell 7 QUIT");
    run.noted(|note| matches!(note, Note::WentOn { told } if told[0].signal == Signal::QUIT && told[0].pid == MAIN));
    run.term().signal(Signal::INT, TERMINAL).expect("pass TERM to 7, pass INT to 7").deadline(Some(secs(30)));
    run.at(secs(1)).exited(MAIN, 0).expect("exit 0");
}

#[test]
fn a_restart_loop_is_ended_and_the_new_server_told() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT");
    run.at(secs(1)).gone(20).born(nginx(21).under(MAIN));
    run.at(ms(1_400)).expect("").at(secs(2)).expect("tell 7 TERM");
    run.killed(MAIN, Signal::TERM).expect("tell 21 QUIT").phase(Phase::Sweeping).deadline(Some(secs(30)));
    run.at(secs(3)).exited(21, 0).expect("exit 143");
}

#[test]
fn a_shell_that_is_busy_with_the_same_children_is_left_alone() {
    let mut run =
        Run::of(Policy { drain: Some(ms(30_050)), ..Policy::default() }, [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT");
    run.gone(20).at(secs(29)).expect("").phase(Phase::Draining);
    // Once everything was killed it is not looked at any more.
    run.at(ms(30_050)).expect("kill all").deadline(Some(ms(32_050)));
}

#[test]
fn a_server_that_is_seen_again_was_not_gone() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT");
    run.gone(20).at(ms(400)).born(nginx(20).under(MAIN)).at(ms(500)).gone(20).born(nginx(21).under(MAIN));
    run.at(ms(1_000)).expect("").at(ms(1_100)).expect("tell 7 TERM");
}

#[test]
fn the_plan_of_a_delay_names_the_server_behind_the_shell() {
    let policy = Policy { delay: secs(15), ..Policy::default() };
    let mut run = Run::of(policy, [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready");
    run.noted(
        |note| matches!(note, Note::LameDuck { plan, .. } if plan[0].pid == 20 && plan[0].signal == Signal::QUIT),
    );
    run.at(secs(15)).expect("tell 20 under 7 QUIT");
}

#[test]
fn a_signal_asked_for_goes_through_a_shell_that_does_not_handle_it() {
    let policy = Policy { stop_signal: crate::core::StopSignal::This(Signal::QUIT), ..Policy::default() };
    let world = || [shell(MAIN).catches(&[Signal::TERM]), app(20).under(MAIN)];
    Run::of(policy.clone(), world()).term().expect("unready, tell 20 under 7 QUIT");
    let rewritten = Policy { rewrite: vec![(Signal::TERM, Some(Signal::QUIT))], ..Policy::default() };
    Run::of(rewritten, world()).term().expect("unready, tell 20 under 7 QUIT");
}

#[test]
fn a_listening_reader_of_a_pipe_is_the_server() {
    let mut run = Run::of(
        Policy::default(),
        [shell(MAIN), app(20).under(MAIN).writes(5), nginx(21).under(MAIN).reads(5).listening()],
    );
    run.term().expect("unready, tell 21 under 7 QUIT");
}

#[test]
fn it_is_polled_every_100_ms_and_also_after_a_look_that_failed() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), nginx(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 QUIT").deadline(Some(ms(100)));
    run.at(ms(100)).deadline(Some(ms(200)));
    run.blind = true;
    run.at(ms(200)).deadline(Some(ms(300)));
    run.blind = false;
    run.gone(20).born(nginx(21).under(MAIN)).at(ms(799)).expect("").at(ms(800)).expect("tell 7 TERM");
}

#[test]
fn while_one_of_those_told_is_there_no_other_is_looked_at() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN), app(21).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 TERM, tell 21 under 7 TERM");
    let looks = |run: &Run, at| {
        let mut actions = Vec::new();
        run.machine.clone().step(at, Event::Time, &mut actions);
        actions
    };
    let told = |told| [Action::Look(Look::Told { main: MAIN, told })];
    assert_eq!(looks(&run, ms(100)), told(20));
    run.gone(20).at(ms(200));
    assert_eq!(looks(&run, ms(300)), told(21));
    run.gone(21).at(ms(300));
    assert_eq!(looks(&run, ms(400)), [Action::Look(Look::Main(MAIN))]);
}

#[test]
fn those_told_before_a_shell_went_on_are_not_told_again_by_the_sweep() {
    // The shell became the server while a helper it had started still runs.
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN)]);
    run.term().expect("unready, tell 20 under 7 TERM").becomes(nginx(MAIN)).at(secs(1)).expect("tell 7 QUIT");
    run.exited(MAIN, 0).expect("").phase(Phase::Sweeping);
    run.exited(20, 0).expect("exit 0");
}

#[test]
fn helpers_beside_a_listening_server_are_told_once_it_has_drained() {
    let mut run = Run::of(Policy::default(), [shell(MAIN), app(20).under(MAIN), nginx(21).under(MAIN).listening()]);
    run.term().expect("unready, tell 21 under 7 QUIT");
    run.at(secs(10)).expect("").gone(21);
    // `a & server & wait` waits for both: nothing is left to wait for.
    run.at(secs(11)).expect("tell 20 under 7 TERM").phase(Phase::Draining);
    run.noted(|note| matches!(note, Note::WentOn { told } if told.len() == 1 && told[0].pid == 20));
    run.at(secs(29)).expect("");
    run.gone(20).exited(MAIN, 0).expect("exit 0");
}
