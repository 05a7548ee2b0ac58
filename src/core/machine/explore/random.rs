//! Long walks under random policies: what the exhaustive exploration is too short for.

use super::rules::{Move, Walk, World};
use crate::core::fixtures::{ms, secs};
use crate::core::policy::{Hold, StopOn};
use crate::core::{Hook, Policy, Sender, Signal, SignalSet, StopSignal, Unready, WaitStatus};
use proptest::prelude::*;
use std::time::Duration;

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(ms(0)),
        Just(ms(1)),
        Just(ms(199)),
        Just(ms(200)),
        Just(secs(1)),
        (0_u64..100_000).prop_map(Duration::from_millis)
    ]
}

fn sender() -> impl Strategy<Value = Sender> {
    prop_oneof![Just(Sender::Outside { uid: 0 }), Just(Sender::Process { pid: 90, uid: 1000 }), Just(Sender::Kernel)]
}

fn signal() -> impl Strategy<Value = Signal> {
    prop_oneof![
        4 => Just(Signal::TERM),
        1 => Just(Signal::QUIT),
        1 => Just(Signal::INT),
        5 => (1..=64).prop_map(|number| Signal::new(number).unwrap())
    ]
}

fn world() -> impl Strategy<Value = World> {
    prop_oneof![
        Just(World::Server),
        Just(World::Shell),
        Just(World::Nothing),
        Just(World::Listening),
        Just(World::WentOn),
        Just(World::Trap)
    ]
}

fn status() -> impl Strategy<Value = WaitStatus> {
    prop_oneof![any::<u8>().prop_map(WaitStatus::exited), signal().prop_map(WaitStatus::killed)]
}

fn step() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => Just(Move::Started),
        1 => (0..40_u8).prop_map(|rarely| if rarely == 0 { Move::NotStarted } else { Move::Started }),
        8 => (signal(), sender()).prop_map(|(signal, sender)| Move::Signal(signal, sender)),
        1 => status().prop_map(Move::MainDied),
        1 => Just(Move::OtherDied),
        2 => any::<u8>().prop_map(|byte| Move::Reaped(byte % 8 != 0)),
        12 => world().prop_map(Move::Seen),
        2 => prop_oneof![Just(Hook::OnStop), Just(Hook::OnExit)].prop_map(Move::HookEnded),
        1 => Just(Move::Quiet),
        4 => prop_oneof![Just(None), Just(Some(0)), Just(Some(0)), Just(Some(7))].prop_map(Move::Owed),
        12 => Just(Move::NextDeadline),
        6 => time().prop_map(Move::Pass),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let times = (time(), proptest::option::of(time()), proptest::option::of(time()));
    let hooks = (proptest::option::of(time()), proptest::option::of(time()));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    let stop_on = prop_oneof![
        4 => Just(StopOn::Auto),
        1 => Just(StopOn::These(SignalSet::EMPTY.with(Signal::TERM))),
        1 => Just(StopOn::These(SignalSet::EMPTY.with(Signal::INT).with(Signal::TERM)))
    ];
    let stop_signal = prop_oneof![Just(StopSignal::Auto), Just(StopSignal::Same), Just(StopSignal::This(Signal::USR2))];
    let hold = prop_oneof![Just(Hold::Auto), Just(Hold::Always), Just(Hold::Never)];
    let unready = prop_oneof![Just(Unready::Start), Just(Unready::End), Just(Unready::Never)];
    let map_exit = proptest::collection::vec(any::<(u8, u8)>(), 0..3);
    (times, hooks, switches, stop_on, stop_signal, (hold, unready), map_exit).prop_map(
        |(
            (delay, drain, linger),
            (on_stop, on_exit),
            (hurry, group, watch),
            stop_on,
            stop_signal,
            (hold, unready),
            map_exit,
        )| {
            Policy {
                delay,
                drain,
                stop_signal,
                stop_on,
                hurry,
                rewrite: Vec::new(),
                group,
                linger,
                map_exit,
                on_stop,
                on_exit,
                watch,
                hold,
                unready,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn long_walks_under_any_policy_keep_the_rules(policy in policy(), steps in proptest::collection::vec(step(), 1..120)) {
        let mut walk = Walk::new(policy);
        for step in &steps {
            walk.go(step);
        }
        walk.check_that_it_ends();
    }
}
