//! Native sidecars stop last, out of the same time.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD034",
    name: "sidecar-budget",
    formula: "native sidecars: P + D + G + what the sidecar takes ≤ K",
    severity: "warning on Kubernetes",
    worst: Severity::Warning,
    about: "A sidecar (an init container with restartPolicy Always) gets its signal only after the containers have \
            ended, and has what they leave of the one grace period.",
    fix: "Raise terminationGracePeriodSeconds by what the sidecar takes.",
    source: "the documentation of Kubernetes on sidecar containers",
    example: "D 15, G 30 and a log shipper as sidecar, with a grace period of 45",
    over: Over::Containers,
    check,
};

/// What a sidecar needs when nothing says so.
const LEAST: Duration = Duration::from_secs(5);

fn check(case: &Case<'_>) -> Verdict {
    let Some(sidecar) = case.workload.containers.iter().find(|container| container.sidecar) else { return holds() };
    // A sidecar is not what it is stopped after.
    if case.platform() != Platform::Kubernetes || case.lameduck().is_none() || case.container.sidecar {
        return holds();
    }
    let (pre_stop, delay, drain, grace) =
        (&case.container.pre_stop, case.delay(), case.bounded_drain(), &case.container.grace);
    let [p, d, g, k] = all([pre_stop, &delay, &drain, grace])?;
    let own = sidecar.launch.lameduck().map_or(LEAST, |settings| {
        settings.delay.known().copied().unwrap_or_default() + settings.drain.known().copied().flatten().unwrap_or_default()
    });
    let total = p + d + g + own;
    if total <= k {
        return holds();
    }
    let message = format!(
        "too little is left for the sidecar {}: {}D {} + G {} + {} = {} > K {}",
        sidecar.name, super::hook(p), seconds(d), seconds(g), seconds(own), seconds(total), seconds(k)
    );
    Broken::new(Severity::Warning, message).with(&delay).with(&drain).with_hook(pre_stop).with(grace).found()
}
