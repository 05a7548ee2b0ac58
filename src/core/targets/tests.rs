//! Who is told, in trees of processes of all shapes.

use super::*;
use crate::core::fixtures::{MAIN, app, nginx, program, seen, shell, sleep};

fn behind_term(snapshot: &Snapshot) -> Vec<Pid> {
    behind(snapshot, MAIN, Signal::TERM)
}

#[test]
fn a_server_is_told_itself_and_its_workers_are_not() {
    assert_eq!(behind_term(&seen([nginx(MAIN), nginx(20).under(MAIN)])), [MAIN]);
    assert_eq!(behind_term(&seen([sleep(MAIN), nginx(20).under(MAIN)])), [MAIN], "a wrapper that is no shell");
}

#[test]
fn a_main_process_that_was_not_seen_is_told_itself() {
    assert_eq!(behind_term(&Snapshot::default()), [MAIN]);
    assert_eq!(behind_term(&seen([nginx(20).under(MAIN)])), [MAIN]);
}

#[test]
fn a_shell_of_which_proc_tells_too_little_is_told_itself() {
    let snapshot = seen([Process { caught: None, ..shell(MAIN) }, nginx(20).under(MAIN)]);
    assert_eq!(behind_term(&snapshot), [MAIN]);
}

#[test]
fn a_shell_that_only_blocks_the_signal_is_looked_through() {
    assert_eq!(behind_term(&seen([shell(MAIN).blocks(&[Signal::TERM]), nginx(20).under(MAIN)])), [20]);
}

#[test]
fn a_nested_shell_with_a_trap_is_told_in_place_of_its_children() {
    let snapshot = seen([shell(MAIN), shell(20).under(MAIN).catches(&[Signal::TERM]), nginx(21).under(20)]);
    assert_eq!(behind_term(&snapshot), [20]);
}

#[test]
fn a_nested_shell_without_children_is_told_itself() {
    assert_eq!(behind_term(&seen([shell(MAIN), shell(20).under(MAIN), nginx(21).under(MAIN)])), [20, 21]);
}

#[test]
fn of_nested_shells_only_the_listening_is_told_wherever_it_is() {
    let snapshot = seen([
        shell(MAIN),
        app(20).under(MAIN),
        shell(21).under(MAIN).listening(),
        nginx(22).under(21).listening(),
        app(23).under(21),
    ]);
    assert_eq!(behind_term(&snapshot), [22]);
    assert_eq!(beside(&snapshot, MAIN, Signal::TERM), [20, 23]);
}

#[test]
fn without_a_listener_nobody_is_beside_those_told() {
    let snapshot = seen([shell(MAIN), app(20).under(MAIN).writes(5), app(21).under(MAIN).reads(5)]);
    assert_eq!(behind_term(&snapshot), [20]);
    assert!(beside(&snapshot, MAIN, Signal::TERM).is_empty());
}

#[test]
fn a_reader_of_the_outside_world_is_no_reader_of_a_sibling() {
    assert_eq!(behind_term(&seen([shell(MAIN), app(20).under(MAIN).reads(5), app(21).under(MAIN)])), [20, 21]);
    assert_eq!(behind_term(&seen([shell(MAIN), app(20).under(MAIN).reads(5).writes(5)])), [20], "its own pipe");
    // The pipe leads to a cousin, not to a sibling.
    let snapshot = seen([shell(MAIN), app(20).under(MAIN).reads(5), app(21).under(20).writes(5)]);
    assert_eq!(behind_term(&snapshot), [20]);
}

#[test]
fn when_all_children_read_from_each_other_the_shell_is_told() {
    let snapshot = seen([shell(MAIN), app(20).under(MAIN).reads(5).writes(6), app(21).under(MAIN).reads(6).writes(5)]);
    assert_eq!(behind_term(&snapshot), [MAIN]);
}

#[test]
fn circles_and_endless_chains_end() {
    assert_eq!(behind_term(&seen([shell(MAIN).under(MAIN)])), [MAIN], "its own parent");
    let circle = seen([shell(MAIN).under(20), shell(20).under(MAIN), app(21).under(MAIN)]);
    let told = behind_term(&circle);
    assert!(told.contains(&21) && told.iter().filter(|pid| **pid == 21).count() == 1, "{told:?}");
    let chain = Snapshot { processes: (MAIN..100_000).map(|pid| shell(pid).under(pid - 1)).collect(), blind: false };
    assert_eq!(behind_term(&chain), [MAIN + 32]);
}

#[test]
fn processes_are_reached_by_what_they_are_to_us() {
    let child = app(20).under(MAIN);
    assert_eq!(target(MAIN, MAIN, Some(&app(MAIN)), false), Target::Child(MAIN));
    assert_eq!(target(MAIN, MAIN, None, true), Target::Group(MAIN));
    assert_eq!(target(20, MAIN, Some(&child), false), Target::Descendant { pid: 20, parent: MAIN });
    assert_eq!(target(20, MAIN, Some(&child), true), Target::Descendant { pid: 20, parent: MAIN });
    assert_eq!(target(20, MAIN, None, false), Target::Child(20));
}

#[test]
fn the_graceful_signal_is_written_down_known_received_or_term() {
    let auto = Policy::default();
    let signal =
        |policy: &Policy, process: &Process, received| graceful(policy, Some(process), process.program(), received).0;
    assert_eq!(signal(&auto, &nginx(MAIN), Signal::TERM), Signal::QUIT);
    assert_eq!(signal(&auto, &nginx(MAIN).catches(&[Signal::TERM]), Signal::TERM), Signal::TERM);
    assert_eq!(signal(&auto, &program("postgres", MAIN), Signal::QUIT), Signal::INT);
    assert_eq!(signal(&auto, &app(MAIN), Signal::QUIT), Signal::QUIT);
    assert_eq!(signal(&auto, &sleep(MAIN), Signal::QUIT), Signal::TERM);
    let to_itself = Policy { rewrite: vec![(Signal::TERM, Some(Signal::TERM))], ..Policy::default() };
    assert_eq!(signal(&to_itself, &nginx(MAIN), Signal::TERM), Signal::QUIT, "nothing was rewritten");
    assert_eq!(graceful(&auto, None, "nginx", Signal::TERM).0, Signal::QUIT, "without /proc it is trusted");
}

#[test]
fn in_group_mode_the_server_behind_the_shell_says_which_signal_the_group_gets() {
    let policy = Policy { group: true, ..Policy::default() };
    let snapshot = seen([shell(MAIN), nginx(20).under(MAIN), app(21).under(MAIN)]);
    let choices = choose(&policy, &snapshot, MAIN, "sh", Signal::TERM);
    assert_eq!(choices.len(), 1);
    assert_eq!((choices[0].target, choices[0].signal, choices[0].pid), (Target::Group(MAIN), Signal::QUIT, 20));
}

#[test]
fn leftovers_get_their_own_signal_or_term() {
    assert_eq!(leftover_signal(&nginx(20)), Signal::QUIT);
    assert_eq!(leftover_signal(&program("httpd", 20).catches(&[])), Signal::TERM);
    assert_eq!(leftover_signal(&app(20)), Signal::TERM);
}
