//! Everything on the way of a request has to serve on as long.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};

pub(super) const RULE: Rule = Rule {
    id: "LD038",
    name: "essential-peer",
    formula: "every other essential container that serves has lameduck with the same delay, or stops later",
    severity: "warning",
    worst: Severity::Warning,
    about: "All containers are signalled together. When nginx serves on for 15 s in front of an application that \
            leaves at once, nginx has 15 s in which to answer 502.",
    fix: "Run lameduck with the same delay in every container on the way of a request, or let nginx depend on the \
          application: ECS then stops nginx first.",
    source: "the API of ECS; the documentation of Kubernetes: containers of a pod are stopped in parallel",
    example: "nginx under lameduck with a delay of 15 s, and app, which is essential, without",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    // A sidecar hears of the stop when the others are gone: it has no peer to outlast.
    if case.lameduck().is_none() || case.container.sidecar {
        return holds();
    }
    let (pre_stop, delay) = (&case.container.pre_stop, case.delay());
    let d = one(&delay)?;
    if d.is_zero() {
        return holds();
    }
    let mut broken = Vec::new();
    for other in &case.workload.containers {
        let serves = !other.ports.is_empty() || other.readiness.is_some();
        let later = case.container.depends_on.iter().any(|name| name.is(&other.name));
        if other.name == case.container.name || other.sidecar || later || !serves || !one(&other.essential)? {
            continue;
        }
        let own = other.launch.lameduck().map(|settings| settings.delay.clone());
        let delayed = own.as_ref().and_then(|delay| delay.known().copied()).unwrap_or_default();
        // A hook holds up the signal of its own container alone.
        let lasts = one(&other.pre_stop)? + delayed;
        let p = super::hook_at_least(pre_stop);
        if lasts >= p + d {
            one(pre_stop)?;
            continue;
        }
        let message = format!(
            "{} serves on for {} s only, and {} beside it for {}",
            other.name, seconds(lasts), case.container.name, seconds(p + d)
        );
        let other_place = own.unwrap_or_else(|| Fact::derived("nothing delays the stop", "delay", delayed, Some(other.place)));
        let fix = format!(
            "run {other} under lameduck too, with the same delay{ecs}",
            other = other.name,
            ecs = if case.platform().is_ecs() {
                format!(", or let {} depend on it (dependsOn): ECS then stops {} only afterwards", case.container.name, other.name)
            } else {
                String::new()
            }
        );
        let finding = Broken::new(Severity::Warning, message).fix(fix).with(&delay).with_hook(pre_stop);
        broken.push(finding.with(&other_place).with_hook(&other.pre_stop));
    }
    Ok(broken)
}
