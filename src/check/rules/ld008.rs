//! A target that was taken out may finish what it has.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::flow::Flow;
use crate::check::model::Platform;

pub(super) const RULE: Rule = Rule {
    id: "LD008",
    name: "deregistration-covers-drain",
    formula: "hc and concurrent flow: R ≥ P + D + G",
    severity: "warning",
    worst: Severity::Warning,
    about: "When the deregistration delay is over, the balancer cuts what is still in flight. In these flows \
            that time runs beside hook, delay and drain. In the sequential flow it is over before the stop \
            begins, and LD009 is the rule.",
    fix: "Raise the deregistration delay to the sum of delay and drain.",
    source: "the API of Elastic Load Balancing: deregistration_delay.timeout_seconds",
    example: "deregistration 30, delay 15, drain 30: 30 < 45",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if case.flows(Flow::Sequential)? || case.lameduck().is_none() {
        return holds();
    }
    let mut broken = Vec::new();
    for group in case.groups()? {
        // A node stays a target when one of its pods goes.
        if case.platform() == Platform::Kubernetes && group.by_address.is(&false) {
            continue;
        }
        let (pre_stop, delay, drain) = (&case.container.pre_stop, case.delay(), case.bounded_drain());
        let deregistration = &group.deregistration;
        let [d, g, r] = all([&delay, &drain, deregistration])?;
        let p = super::hook_at_least(pre_stop);
        let stop = p + d + g;
        if r < stop {
            let message = format!(
                "the balancer cuts what is in flight before the drain is over: R {} < {}D {} + G {} = {}",
                seconds(r), super::hook(p), seconds(d), seconds(g), seconds(stop)
            );
            let fix = format!("set {} of {} to {}", deregistration.name, group.name, seconds(stop));
            let finding = Broken::new(Severity::Warning, message).fix(fix).with(deregistration);
            broken.push(finding.with_hook(pre_stop).with(&delay).with(&drain));
        } else {
            one(pre_stop)?;
        }
    }
    Ok(broken)
}
