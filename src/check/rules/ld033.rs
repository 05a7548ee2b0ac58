//! The new one has to be there before the old one goes.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;

pub(super) const RULE: Rule = Rule {
    id: "LD033",
    name: "no-overlap",
    formula: "a deploy leaves at least one running: no Recreate, no least % of 0, not one alone without surge",
    severity: "warning",
    worst: Severity::Warning,
    about: "However orderly the stop, there is nobody to serve when all the old ones go before a new one is ready.",
    fix: "Let the new one start first: minimumHealthyPercent 100 with maximumPercent 200, RollingUpdate with \
          maxUnavailable 0, or update_config.order start-first.",
    source: "reports of 502s in every deploy on aws/containers-roadmap; the documentation of Kubernetes",
    example: "minimumHealthyPercent 0",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    // What nothing sends requests to may be gone for a while.
    let Some(rollout) = case.workload.rollout.as_ref().filter(|_| !case.workload.routes.is_empty()) else {
        return holds();
    };
    let message = "for a while nobody serves in a deploy: the old ones may all go before a new one is ready";
    let broken = |fix: &str| Broken::new(Severity::Warning, message).fix(fix);
    if let Some(recreate) = &rollout.recreate {
        return broken("set strategy.type to RollingUpdate").with(recreate).found();
    }
    let (replicas, least) = (one(&rollout.replicas)?, one(&rollout.least_percent)?);
    // Rounded up, as the scheduler does: any share of any is one. Where none runs, nobody serves anyway.
    if replicas == 0 || least > 0 {
        return holds();
    }
    broken(super::keeps_one(case.platform(), rollout)).with(&rollout.least_percent).with(&rollout.replicas).found()
}
