//! The pre-stop hook ends inside the grace period.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;

pub(super) const RULE: Rule = Rule {
    id: "LD003",
    name: "prestop-inside-grace",
    formula: "P < K",
    severity: "error on Kubernetes",
    worst: Severity::Error,
    about: "The grace period runs from the beginning of the hook. A hook that takes all of it leaves the server \
            the 2 s that the kubelet adds, and then it is killed.",
    fix: "Shorten the hook or raise terminationGracePeriodSeconds.",
    source: "the documentation of Kubernetes on container hooks",
    example: "preStop sleep 30 with the default of 30",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let (pre_stop, grace) = (&case.container.pre_stop, &case.container.grace);
    if case.platform() != Platform::Kubernetes {
        return holds();
    }
    let [p, k] = all([pre_stop, grace])?;
    if p.is_zero() || p < k {
        return holds();
    }
    let message = format!(
        "the hook uses up the whole grace period before the server hears of the stop: P {} ≥ K {}",
        seconds(p), seconds(k)
    );
    Broken::new(Severity::Error, message).with(pre_stop).with(grace).found()
}
