//! An NLB goes on sending connections to addresses it should have forgotten.

use super::{Broken, Over, Rule, Severity, Verdict, holds, hook_and_delay, one, shorter};
use crate::check::case::Case;
use crate::check::flow::Flow;
use crate::check::model::{BalancerKind, Platform};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD015",
    name: "nlb-ip",
    formula: "NLB with targets by address: P + D ≥ 120; not in the sequential flow",
    severity: "warning",
    worst: Severity::Warning,
    about: "New connections were seen for two minutes and more after the target was deregistered, whatever the \
            deregistration delay. On Fargate it cannot be covered: delay and drain have 120 s together.",
    fix: "Raise the delay to 120 s, use targets by instance, or accept the loss.",
    source: "aws-load-balancer-controller issue 2366 (one report)",
    example: "a pod behind an NLB with target type ip and a delay of 15 s",
    over: Over::Containers,
    check,
};

const LEAST: Duration = Duration::from_secs(120);

fn check(case: &Case<'_>) -> Verdict {
    let mut broken = Vec::new();
    for group in case.groups()? {
        if group.balancer.is(&BalancerKind::Application) || group.by_address.is(&false) {
            continue;
        }
        if case.flows(Flow::Sequential)? || one(&group.balancer)? != BalancerKind::Network || !one(&group.by_address)? {
            continue;
        }
        let (pre_stop, delay) = (&case.container.pre_stop, case.delay());
        if let Some((p, d)) = shorter(pre_stop, &delay, LEAST)? {
            let message = format!("the NLB may send new connections for two minutes more: {} < 120", hook_and_delay(p, d));
            let mut finding = Broken::new(Severity::Warning, message).with(&delay).with_hook(pre_stop);
            finding = finding.with(&group.balancer).with(&group.by_address);
            if case.platform() == Platform::Fargate {
                finding = finding.fix("on Fargate it cannot be covered, for the whole stop has 120 s: accept it or use an ALB");
            }
            broken.push(finding);
        }
    }
    if broken.is_empty() { holds() } else { Ok(broken) }
}
