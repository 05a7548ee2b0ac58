//! The server must not close a connection that the balancer still means to use.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};
use crate::check::model::BalancerKind;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD039",
    name: "keepalive-lb",
    formula: "the server's keep-alive time-out > A, the balancer's idle time-out",
    severity: "warning",
    worst: Severity::Warning,
    about: "A server that closes silent connections first does so at the moment when the balancer sends a request \
            on one, now and then: a sporadic 502 that has nothing to do with deploys. Node's default is 5 s, \
            gunicorn's 2 s, puma's 20 s; an ALB's is 60 s.",
    fix: "Raise the server's keep-alive time-out above the balancer's idle time-out.",
    source: "AWS on HTTP 502 of an ALB; the documentation of the servers",
    example: "--set keepalive=5s behind an ALB",
    over: Over::Workloads,
    check,
};

const IDLE: Duration = Duration::from_secs(60);

fn check(case: &Case<'_>) -> Verdict {
    for group in case.groups()? {
        if !group.balancer.is(&BalancerKind::Application) {
            continue;
        }
        let set = case.given.time("lb-idle");
        let idle = match (set.value.is_ok(), case.model.balancers.as_slice()) {
            (true, _) => set,
            (false, [balancer]) => balancer.idle.clone(),
            (false, []) => Fact::default_of("ALB", "idle_timeout.timeout_seconds", IDLE, Some(group.place)),
            (false, _) => Fact::unknown("lb-idle", "which balancer's idle time-out counts: --set lb-idle=…", None),
        };
        let keepalive = case.given.time("keepalive");
        let [k, a] = all([&keepalive, &idle])?;
        if k <= a {
            let message = format!("the server closes connections that the balancer still uses: {} ≤ A {}", seconds(k), seconds(a));
            return Broken::new(Severity::Warning, message).with(&keepalive).with(&idle).found();
        }
    }
    holds()
}
