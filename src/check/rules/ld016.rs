//! An NLB cuts the connections of a target that says it is not ready.

use super::{Broken, Over, Rule, Severity, Verdict, each_group, holds, one};
use crate::check::case::Case;
use crate::check::flow::Flow;
use crate::check::model::BalancerKind;

pub(super) const RULE: Rule = Rule {
    id: "LD016",
    name: "nlb-unhealthy-cut",
    formula: "hc flow behind an NLB: unhealthy targets keep their connections, or nothing flips",
    severity: "warning",
    worst: Severity::Warning,
    about: "By default an NLB ends all connections of a target as soon as it counts as unhealthy. The flip that is \
            to move new connections elsewhere then cuts those that are there.",
    fix: "Let unhealthy targets keep their connections: target_health_state.unhealthy.connection_termination.enabled false.",
    source: "the API of Elastic Load Balancing: attributes of target groups",
    example: "health checks on lameduck's own port, the attribute left to its default",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if !case.flips() {
        return holds();
    }
    each_group(case, Flow::HealthChecks, |group| {
        if one(&group.balancer)? != BalancerKind::Network || !one(&group.cuts_unhealthy)? {
            return Ok(None);
        }
        let message = format!("the flip cuts the connections that target group {} still holds", group.name);
        let fix = format!("set {} of {} to false", group.cuts_unhealthy.name, group.name);
        let finding = Broken::new(Severity::Warning, message).fix(fix);
        Ok(Some(finding.with(&group.cuts_unhealthy).with(&group.balancer)))
    })
}
