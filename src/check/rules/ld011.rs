//! Five minutes for every task that is replaced.

use super::{Broken, Over, Rule, Severity, Verdict, each_group, one};
use crate::check::case::Case;
use crate::check::flow::Flow;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD011",
    name: "deregistration-default",
    formula: "sequential flow: R is less than its default of 300 s",
    severity: "info",
    worst: Severity::Info,
    about: "Every task that is replaced waits so long for its target to be unused, unless all connections end \
            sooner, which those that are kept alive do not.",
    fix: "Set the deregistration delay to the longest request and a little more.",
    source: "the ECS page on optimizing connection draining",
    example: "a service whose target group has no deregistration_delay.timeout_seconds",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    each_group(case, Flow::Sequential, |group| {
        let waits = one(&group.deregistration)? >= Duration::from_secs(300);
        let message = || format!("every task that is replaced may wait 5 minutes for target group {}", group.name);
        Ok(waits.then(|| Broken::new(Severity::Info, message()).with(&group.deregistration)))
    })
}
