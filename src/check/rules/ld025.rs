//! A new target should count as healthy soon.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, one, short_timeout};
use crate::check::case::Case;
use crate::check::fact::seconds;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD025",
    name: "recovery-short",
    formula: "healthy threshold × I ≤ 30, and ≤ the health check grace period",
    severity: "info",
    worst: Severity::Info,
    about: "A deploy goes on only when the new target is healthy, and a service replaces a task that is not healthy \
            when its grace period is over.",
    fix: "Set the healthy threshold to 2, the interval to 5 and the time-out below it.",
    source: "the API of Elastic Load Balancing and of ECS",
    example: "HealthyThresholdCount 5 with an interval of 30: 150 s",
    over: Over::Workloads,
    check,
};

const LONG: Duration = Duration::from_secs(30);

fn check(case: &Case<'_>) -> Verdict {
    let mut broken = Vec::new();
    let grace = case.workload.rollout.as_ref().and_then(|rollout| rollout.check_grace.as_ref());
    for group in case.groups()? {
        let [i] = all([&group.check.interval])?;
        let count = one(&group.successes)?;
        let takes = i * u32::try_from(count).unwrap_or(u32::MAX);
        let sum = format!("{count} × I {} = {}", seconds(i), seconds(takes));
        let (successes, interval, timeout) = (&group.successes.name, &group.check.interval.name, &group.check.timeout);
        let fix = match timeout.known().map(|known| (known, short_timeout(*known))) {
            Some((known, short)) if short < *known => {
                format!("set {successes} to 2, {interval} to 5 and {} to {}", timeout.name, seconds(short))
            }
            _ => format!("set {successes} to 2 and {interval} to 5"),
        };
        let facts = |broken: Broken| broken.fix(fix).with(&group.successes).with(&group.check.interval);
        // A grace period of nothing is one that nobody relies on.
        if let Some(grace) = grace.filter(|grace| grace.known().is_some_and(|k| !k.is_zero() && *k < takes)) {
            let k = one(grace)?;
            let message = format!("a new task may be replaced before it counts as healthy: {sum} > {}", seconds(k));
            broken.push(facts(Broken::new(Severity::Info, message)).with(grace));
        } else if takes > LONG {
            let message = format!("every new task takes so long to count as healthy: {sum} > 30");
            broken.push(facts(Broken::new(Severity::Info, message)));
        }
    }
    if broken.is_empty() { holds() } else { Ok(broken) }
}
