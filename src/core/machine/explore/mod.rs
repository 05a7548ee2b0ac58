//! All that can happen, in any order: what always holds must hold then too.
//!
//! [`rules`] states what always holds and checks it at each step of a walk; here every walk of a
//! stated alphabet is taken to a stated depth; [`random`] takes long walks under random policies.

mod random;
mod rules;

use crate::core::fixtures::{ms, secs};
use crate::core::policy::Hold;
use crate::core::{Hook, Policy, Sender, Signal, WaitStatus};
use rules::{Move, World};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Everything that is tried at every step of every walk.
const ALPHABET: [Move; 22] = [
    Move::Started,
    Move::NotStarted,
    Move::Signal(Signal::TERM, Sender::Outside { uid: 0 }),
    Move::Signal(Signal::TERM, Sender::Process { pid: 90, uid: 0 }),
    Move::Signal(Signal::INT, Sender::Kernel),
    Move::Signal(Signal::USR1, Sender::Outside { uid: 0 }),
    Move::Signal(Signal::HUP, Sender::Process { pid: 90, uid: 0 }),
    Move::MainDied(WaitStatus::exited(3)),
    Move::MainDied(WaitStatus::killed(Signal::TERM)),
    Move::OtherDied,
    Move::Reaped(true),
    Move::Reaped(false),
    Move::Seen(World::Server),
    Move::Seen(World::Shell),
    Move::Seen(World::Nothing),
    Move::HookEnded(Hook::OnStop),
    Move::HookEnded(Hook::OnExit),
    Move::Quiet,
    Move::Owed(Some(0)),
    Move::Owed(Some(3)),
    Move::NextDeadline,
    Move::Pass(ms(50)),
];

/// Far past any deadline, in one go.
const FROZEN: Move = Move::Pass(secs(3_600));

/// What was walked under one policy.
#[derive(Default)]
struct Walked {
    steps: u64,
    /// Each state, and how many steps were taken from it.
    states: HashMap<u64, u8>,
    exits: u64,
}

// === impl Walked ===

impl Walked {
    /// Takes every step from here, `left` deep. Two walks that lead to the same state at the same
    /// moment with the same past (as far as the rules ask for it) go on alike, so that one of them is
    /// enough.
    fn from(&mut self, at: &rules::Walk, left: u8) {
        let mut hasher = DefaultHasher::new();
        at.hash(&mut hasher);
        match self.states.entry(hasher.finish()) {
            Entry::Occupied(known) if *known.get() >= left => return,
            Entry::Occupied(mut known) => {
                known.insert(left);
            }
            Entry::Vacant(unknown) => {
                at.check_that_it_ends();
                unknown.insert(left);
            }
        }
        if left == 0 {
            return;
        }
        for next in ALPHABET.iter().chain([&FROZEN]) {
            let mut there = at.clone();
            there.go(next);
            self.steps += 1;
            if there.has_exited() {
                self.exits += 1;
            } else {
                self.from(&there, left - 1);
            }
        }
    }
}

#[allow(clippy::print_stdout, reason = "how much was walked is the result of the test")]
/// All walks of `depth` steps under `policy`, and all those again that begin with a server stopped.
fn walk_all(name: &str, policy: &Policy, depth: u8) {
    let mut walked = Walked::default();
    let mut walk = rules::Walk::new(policy.clone());
    walked.from(&walk, depth);
    walk.go(&Move::Started);
    walk.go(&Move::Signal(Signal::TERM, Sender::Outside { uid: 0 }));
    walked.from(&walk, depth);
    let Walked { steps, states, exits } = walked;
    let letters = ALPHABET.len() + 1;
    println!(
        "{name}: all sequences of {depth} out of {letters} events, from the start and from a first stop signal: \
         {steps} steps, {} states, {exits} exits",
        states.len()
    );
    assert!(exits > 0, "no walk came to an end");
}

/// How many events deep: the whole takes less than a minute on one core.
const DEPTH: u8 = 7;

#[test]
fn every_sequence_under_the_defaults() {
    walk_all("defaults", &Policy::default(), DEPTH);
}

#[test]
fn every_sequence_with_a_delay() {
    walk_all("delay", &Policy { delay: secs(15), ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_with_hooks_watch_and_hold() {
    let hook = Some(secs(5));
    let policy =
        Policy { delay: secs(15), on_stop: hook, on_exit: hook, watch: true, hold: Hold::Always, ..Policy::default() };
    walk_all("delay, hooks, watch, hold", &policy, DEPTH);
}

#[test]
fn every_sequence_with_a_hold_and_no_delay() {
    walk_all("hold", &Policy { watch: true, hold: Hold::Always, ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_without_a_drain_deadline() {
    walk_all("drain none", &Policy { drain: None, ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_with_a_drain_of_nothing() {
    walk_all("drain 0", &Policy { drain: Some(ms(0)), delay: secs(1), ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_with_repeats_ignored() {
    walk_all("repeat ignore", &Policy { hurry: false, delay: secs(15), ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_in_group_mode() {
    walk_all("group", &Policy { group: true, ..Policy::default() }, DEPTH);
}

#[test]
fn every_sequence_with_a_linger() {
    let policy = Policy { linger: Some(secs(1)), map_exit: vec![(3, 0), (143, 9)], ..Policy::default() };
    walk_all("linger 1s", &policy, DEPTH);
    walk_all("linger 0s", &Policy { linger: Some(ms(0)), ..Policy::default() }, DEPTH);
}
