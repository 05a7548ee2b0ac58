//! A balancer without a healthy target sends to all of them.

use super::{Broken, Needs, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::flow::Flow;

pub(super) const RULE: Rule = Rule {
    id: "LD018",
    name: "fail-open",
    formula: "hc flow: one healthy target is left during a deploy (replicas × least %, rounded up)",
    severity: "warning",
    worst: Severity::Warning,
    about: "With no healthy target an ALB fails open: it sends requests to all it has, those that just said they \
            are not ready included. The flip then has no effect.",
    fix: "Run two that are replaced one by one, or let the new one start first.",
    source: "the API of Elastic Load Balancing: target_group_health",
    example: "desiredCount 1 with minimumHealthyPercent 0",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if !case.flows(Flow::HealthChecks)? || case.groups()?.is_empty() {
        return holds();
    }
    let Some(rollout) = &case.workload.rollout else {
        let how = if case.platform().is_ecs() { ": give its service" } else { ", and how many run at once" };
        return Err(Needs::one(format!("how {} is replaced{how}", case.workload.name)));
    };
    let (replicas, least) = (one(&rollout.replicas)?, one(&rollout.least_percent)?);
    // Rounded up, as the scheduler does: any share of any is one.
    if replicas > 0 && least > 0 {
        return holds();
    }
    let message = format!("no healthy target may be left in a deploy: {replicas} × {least} % < 1");
    let broken = Broken::new(Severity::Warning, message).fix(super::keeps_one(case.platform(), rollout));
    broken.with(&rollout.replicas).with(&rollout.least_percent).found()
}
