//! One wait is enough.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;

pub(super) const RULE: Rule = Rule {
    id: "LD004",
    name: "double-wait",
    formula: "not both P > 0 and D > 0",
    severity: "warning",
    worst: Severity::Warning,
    about: "A pre-stop hook that sleeps and lameduck's delay are for the same thing, and the stop takes both, out \
            of the same grace period.",
    fix: "Leave the hook out: lameduck's delay ends early when the server dies, and is logged.",
    source: "the documentation of Kubernetes: the hook runs before the stop signal",
    example: "preStop sleep 10 and LAMEDUCK_DELAY=15s",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let (pre_stop, delay) = (&case.container.pre_stop, case.delay());
    if pre_stop.known().is_some_and(std::time::Duration::is_zero) {
        return holds();
    }
    let [p, d] = all([pre_stop, &delay])?;
    if d.is_zero() {
        return holds();
    }
    let message = format!("the stop waits twice for the same thing: P {} + D {}", seconds(p), seconds(d));
    Broken::new(Severity::Warning, message).with(pre_stop).with(&delay).found()
}
