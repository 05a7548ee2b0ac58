//! A node that is taken away gives less time than the pod asks for.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD044",
    name: "node-shutdown",
    formula: "pods on spot nodes: K ≤ the notice (25 s on GKE)",
    severity: "info on Kubernetes",
    worst: Severity::Info,
    about: "A spot node goes 25 to 30 s (GKE) or 120 s (EC2) after its notice, whatever the pod's grace period.",
    fix: "Keep delay and drain within the notice, or keep the pod off such nodes.",
    source: "the documentation of GKE on Spot VMs",
    example: "nodeSelector cloud.google.com/gke-spot with terminationGracePeriodSeconds 60",
    over: Over::Workloads,
    check,
};

const NOTICE: Duration = Duration::from_secs(25);

fn check(case: &Case<'_>) -> Verdict {
    let (spot, grace) = (&case.workload.spot, &case.container.grace);
    if case.platform() != Platform::Kubernetes || !spot.is(&true) {
        return holds();
    }
    let k = one(grace)?;
    if k <= NOTICE {
        return holds();
    }
    let message = format!("a spot node may be gone before the grace period is over: K {} > 25", seconds(k));
    Broken::new(Severity::Info, message).with(grace).with(spot).found()
}
