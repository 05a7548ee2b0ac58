//! The numbers of a plan, from flags alone.

use super::*;
use crate::check::settings::Given;
use crate::plan::{Flags, ask};

/// The plan of these flags, written as on the command line.
fn planned(platform: Option<Platform>, ways: &[Way], set: &[&str], change: impl FnOnce(&mut Flags)) -> Plan {
    let mut given = Given::default();
    for text in set {
        given.set(text).unwrap();
    }
    let mut flags = Flags { platform, ways: ways.to_vec(), ..Flags::default() };
    change(&mut flags);
    plan(ask::of_flags(&flags, &given, None).unwrap())
}

fn usual(platform: Platform, way: Way) -> Plan {
    planned(Some(platform), &[way], &[], |_| ())
}

/// Delay, drain, grace and deregistration in seconds.
fn numbers(plan: &Plan) -> (u64, u64, u64, Option<u64>) {
    let of = |number: &Number| number.value.as_secs();
    (of(&plan.delay), of(&plan.drain), of(&plan.grace), plan.deregistration.as_ref().map(of))
}

#[test]
fn the_delay_is_what_the_way_takes_to_notice() {
    for (platform, way, delay) in [
        (Platform::EcsFargate, Way::Alb, 10),
        (Platform::EcsEc2, Way::Nlb, 10),
        (Platform::EcsFargate, Way::ServiceConnect, 15),
        (Platform::EcsFargate, Way::CloudMap, 90),
        (Platform::Kubernetes, Way::KubeProxy, 10),
        (Platform::Kubernetes, Way::Alb, 45),
        (Platform::Kubernetes, Way::Nlb, 120),
        (Platform::Compose, Way::Alb, 18),
        (Platform::Compose, Way::Nlb, 18),
        (Platform::Nomad, Way::Nlb, 120),
        (Platform::Docker, Way::Haproxy, 18),
        (Platform::Nomad, Way::Haproxy, 18),
    ] {
        let plan = usual(platform, way);
        assert_eq!(plan.delay.value.as_secs(), delay, "{} behind {}", platform.name(), way.name());
    }
}

#[test]
fn of_several_ways_the_slowest_counts() {
    let plan = planned(Some(Platform::EcsFargate), &[Way::Alb, Way::ServiceConnect], &[], |_| ());
    assert_eq!(numbers(&plan), (15, 30, 55, Some(30)));
}

#[test]
fn a_health_check_is_waited_for_with_its_time_out_and_five_to_spare() {
    let plan = planned(Some(Platform::Compose), &[Way::Alb], &[], |flags| {
        (flags.interval, flags.timeout, flags.threshold) =
            (Some(Duration::from_secs(30)), Some(Duration::from_secs(6)), Some(2));
    });
    assert_eq!(numbers(&plan), (71, 30, 110, Some(101)));
    assert!(plan.delay.why.contains("I 30 × U 2 + T 6 = 66"), "{}", plan.delay.why);
    assert!(plan.notes.iter().any(|note| note.starts_with("cheaper")), "{:?}", plan.notes);
}

#[test]
fn the_longest_request_makes_the_drain_and_the_deregistration() {
    let sequential = planned(Some(Platform::EcsFargate), &[Way::Alb], &["p99=20s", "hook=4s"], |_| ());
    assert_eq!(numbers(&sequential), (10, 44, 65, Some(64)));
    let short = planned(Some(Platform::EcsFargate), &[Way::Alb], &["p99=200ms"], |_| ());
    assert_eq!((short.drain.value.as_secs(), short.deregistration.unwrap().value.as_secs()), (10, 21));
    let concurrent = planned(Some(Platform::Kubernetes), &[Way::Alb], &["p99=20s"], |_| ());
    assert_eq!(numbers(&concurrent), (45, 40, 95, Some(85)));
}

#[test]
fn a_cost_counts_the_wait_before_the_signal_too() {
    let plan = planned(Some(Platform::EcsFargate), &[Way::Alb], &["p99=20s"], |_| ());
    assert_eq!((plan.cost.least.as_secs(), plan.cost.most.as_secs()), (10, 60 + 10 + 40));
    let plan = usual(Platform::Kubernetes, Way::KubeProxy);
    assert_eq!((plan.cost.least.as_secs(), plan.cost.most.as_secs()), (10, 40));
}

#[test]
fn lameduck_itself_has_nothing_against_the_grace_period() {
    for drain in 0..40 {
        let plan = planned(Some(Platform::Kubernetes), &[Way::KubeProxy], &[&format!("p99={drain}s")], |_| ());
        let own = Budget::of(&plan.policy()).total().unwrap();
        assert!(own < plan.grace.value && plan.grace.value < own + Duration::from_secs(6), "{own:?} {plan:?}");
    }
}

#[test]
fn what_fargate_has_no_time_for_is_refused_with_what_must_give_way() {
    // The defaults of an ALB on Spot: 71 + 30 fits, 71 + 60 does not, and the health check is to blame.
    let slow = |flags: &mut Flags| {
        (flags.interval, flags.timeout, flags.threshold) =
            (Some(Duration::from_secs(30)), Some(Duration::from_secs(6)), Some(2));
    };
    let hc = |p99: &str| {
        let mut given = Given::default();
        given.flow = Some(Flow::HealthChecks);
        given.set(p99).unwrap();
        let mut flags = Flags { platform: Some(Platform::EcsFargate), ways: vec![Way::Alb], ..Flags::default() };
        slow(&mut flags);
        plan(ask::of_flags(&flags, &given, None).unwrap())
    };
    let fits = hc("p99=15s");
    assert_eq!((numbers(&fits), fits.problems.len()), ((71, 30, 110, Some(101)), 0));
    let check = hc("p99=30s");
    assert!(check.problems[0].contains("Shorten the health check"), "{:?}", check.problems);
    let drain = hc("p99=70s");
    assert!(drain.problems[0].contains("Only 41 are left for the drain"), "{:?}", drain.problems);
    let delay = planned(Some(Platform::EcsFargate), &[Way::CloudMap], &["dns-ttl=300s"], |_| ());
    assert!(delay.problems[0].contains("The delay alone leaves no room: 102 at the most"), "{:?}", delay.problems);
    for refused in [check, drain, delay] {
        assert!(super::super::snippet::all(&refused).is_empty(), "nothing to paste of what does not fit");
    }
}

#[test]
fn all_of_the_two_minutes_of_fargate_may_be_used() {
    let plan = planned(Some(Platform::EcsFargate), &[Way::ServiceConnect], &["p99=48500ms"], |_| ());
    assert_eq!((numbers(&plan), plan.problems.len()), ((15, 97, 120, None), 0));
    let plan = planned(Some(Platform::EcsFargate), &[Way::ServiceConnect], &["p99=49s"], |_| ());
    assert_eq!(plan.problems.len(), 1, "15 + 98 + 7 is all of it, and lameduck warns");
}

#[test]
fn the_buffer_counts_where_it_is_more_than_lameducks_own() {
    let plan = planned(Some(Platform::Compose), &[Way::Haproxy], &["buffer=15s"], |_| ());
    assert_eq!(plan.grace.value.as_secs(), 65);
}

#[test]
fn how_requests_come_has_to_be_known() {
    let given = Given::default();
    let flags = Flags { platform: Some(Platform::Compose), ..Flags::default() };
    assert!(ask::of_flags(&flags, &given, None).unwrap_err().contains("--lb"));
    let kubernetes = Flags { platform: Some(Platform::Kubernetes), ..Flags::default() };
    assert_eq!(ask::of_flags(&kubernetes, &given, None).unwrap().ways, [Way::KubeProxy]);
}

#[test]
fn what_a_target_group_does_not_take_is_not_proposed() {
    let refused = |way: Way, interval: u64, timeout: u64, threshold: u64| {
        let millis = Duration::from_millis;
        let plan = planned(Some(Platform::EcsFargate), &[way], &[], |flags| {
            (flags.interval, flags.timeout, flags.threshold) =
                (Some(millis(interval)), Some(millis(timeout)), Some(threshold));
        });
        plan.problems.iter().any(|problem| problem.contains("refused"))
    };
    for (way, interval, timeout, threshold, is) in [
        (Way::Alb, 5000, 4000, 2, false),
        (Way::Alb, 5000, 5000, 2, true),
        (Way::Nlb, 10_000, 10_000, 2, false),
        (Way::Nlb, 10_000, 11_000, 2, true),
        (Way::Alb, 300_000, 120_000, 10, false),
        (Way::Alb, 301_000, 120_000, 2, true),
        (Way::Alb, 300_000, 121_000, 2, true),
        (Way::Alb, 4000, 2000, 2, true),
        (Way::Alb, 5000, 1000, 2, true),
        (Way::Alb, 5500, 2000, 2, true),
        (Way::Alb, 5000, 2500, 2, true),
        (Way::Alb, 5000, 2000, 1, true),
        (Way::Alb, 5000, 2000, 11, true),
        (Way::Haproxy, 1000, 1000, 1, false),
    ] {
        assert_eq!(refused(way, interval, timeout, threshold), is, "{} {interval} {timeout} {threshold}", way.name());
    }
}
