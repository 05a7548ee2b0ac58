//! Where the balancer drains first, it has to wait for the longest request.

use super::{Broken, Over, Rule, Severity, Verdict, all, each_group, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::flow::Flow;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD009",
    name: "deregistration-covers-request",
    formula: "sequential flow: R ≥ longest request; a good value is 2×p99 + hook + 20",
    severity: "warning",
    worst: Severity::Warning,
    about: "In this flow requests are in flight while the target deregisters, before the server hears of \
            anything. What takes longer is cut by the balancer, however patient the server is.",
    fix: "Raise the deregistration delay above the longest request.",
    source: "the ECS page on optimizing connection draining; the rule of thumb is that of a published experiment",
    example: "deregistration 5 with --set p99=10s",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    each_group(case, Flow::Sequential, |group| {
        let (deregistration, longest) = (&group.deregistration, case.given.time("p99"));
        let [r, p99] = all([deregistration, &longest])?;
        if r >= p99 {
            return Ok(None);
        }
        let hook = one(&case.given.time("hook")).unwrap_or_default();
        let good = p99 * 2 + hook + Duration::from_secs(20);
        let message = format!(
            "the balancer cuts requests before the server is told to stop: R {} < p99 {}",
            seconds(r), seconds(p99)
        );
        let fix = format!("set {} of {} to {} (2×p99 + hook + 20)", deregistration.name, group.name, seconds(good));
        Ok(Some(Broken::new(Severity::Warning, message).fix(fix).with(deregistration).with(&longest)))
    })
}
