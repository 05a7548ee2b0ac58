//! A node that is taken away gives less time than the pod asks for.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD044",
    name: "node-shutdown",
    formula: "pods on spot nodes: K ≤ the notice (25 s on GKE, 30 s on Azure, 120 s on EC2 and with Karpenter)",
    severity: "info on Kubernetes",
    worst: Severity::Info,
    about: "A spot node goes 30 s (GKE, which keeps some of it; Azure) or 120 s (EC2) after its notice, whatever the \
            pod's grace period.",
    fix: "Keep delay and drain within the notice, or keep the pod off such nodes.",
    source: "the documentation of GKE, Azure and EC2 on spot machines",
    example: "nodeSelector cloud.google.com/gke-spot with terminationGracePeriodSeconds 60",
    over: Over::Workloads,
    check,
};

/// What is left of the notice on nodes with such a label, in seconds: the first that fits.
const NOTICES: [(&str, u64); 5] =
    [("cloud.google.com", 25), ("azure", 30), ("eks.amazonaws.com", 120), ("karpenter.sh", 120), ("", 25)];

fn check(case: &Case<'_>) -> Verdict {
    let (spot, grace) = (&case.workload.spot, &case.container.grace);
    if case.platform() != Platform::Kubernetes || !spot.is(&true) {
        return holds();
    }
    let k = one(grace)?;
    let notice = NOTICES.iter().find(|(label, _)| spot.name.contains(label)).map_or(0, |(_, notice)| *notice);
    if k <= Duration::from_secs(notice) {
        return holds();
    }
    let message = format!("a spot node may be gone before the grace period is over: K {} > {notice}", seconds(k));
    Broken::new(Severity::Info, message).with(grace).with(spot).found()
}
