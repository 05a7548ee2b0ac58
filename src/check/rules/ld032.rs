//! A rollout has to get on before its deadline.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD032",
    name: "rollout-deadline",
    formula: "progressDeadlineSeconds > start + minReadySeconds, and + P + D + G where the old pod ends first",
    severity: "warning on Kubernetes",
    worst: Severity::Warning,
    about: "A rollout that does not get on for so long counts as failed. Without surge the old pod has to be gone \
            before the new one starts, so its stop counts too.",
    fix: "Raise progressDeadlineSeconds, or allow a surge.",
    source: "the API of Kubernetes: DeploymentSpec",
    example: "progressDeadlineSeconds 60 with maxSurge 0, delay 15 and drain 30, --set start=20s",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(rollout) = &case.workload.rollout else { return holds() };
    let Some(deadline) = &rollout.deadline else { return holds() };
    let start = case.given.time("start");
    let limit = one(deadline)?;
    let settle = rollout.settle.as_ref().map_or(Ok(Duration::ZERO), one)?;
    let old_first = rollout.recreate.is_some() || one(&rollout.most_percent)? <= 100;
    let (pre_stop, delay, drain) = (&case.container.pre_stop, case.delay(), case.bounded_drain());
    let old = if old_first { one(pre_stop)? + one(&delay)? + one(&drain)? } else { Duration::ZERO };
    // What is known is enough where that alone is too long.
    let takes = one(&start).map(|start| start + settle + old).or_else(|missing| {
        if settle + old >= limit { Ok(settle + old) } else { Err(missing) }
    })?;
    if limit > takes {
        return holds();
    }
    let message = format!("the rollout may count as failed before it can get on: {} ≥ {}", seconds(takes), seconds(limit));
    let mut broken = Broken::new(Severity::Warning, message).with(deadline);
    if start.value.is_ok() {
        broken = broken.with(&start);
    }
    if let Some(settle) = &rollout.settle {
        broken = broken.with(settle);
    }
    if old_first { broken.with_hook(pre_stop).with(&delay).with(&drain) } else { broken }.found()
}
