//! The platform's limit is written down.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::{Origin, seconds};
use crate::check::model::Platform;

pub(super) const RULE: Rule = Rule {
    id: "LD006",
    name: "stop-timeout-implicit",
    formula: "D > 0: the platform's limit K is written down",
    severity: "warning",
    worst: Severity::Warning,
    about: "The defaults (30 s on ECS and Kubernetes, 10 s in Compose) are too short for most delays and drains, \
            and a number that stands nowhere is not thought of when another one is changed.",
    fix: "Write the number down, even where the default fits.",
    source: "the documentation of the platforms",
    example: "LAMEDUCK_DELAY=15s without stopTimeout",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let delay = case.delay();
    let grace = &case.container.grace;
    if one(&delay)?.is_zero() || !matches!(grace.origin, Origin::Default(_)) || case.platform() == Platform::Docker {
        return holds();
    }
    let k = one(grace)?;
    let message = format!(
        "the stop is delayed, and how long {} waits for it is left to a default of {} s",
        case.platform().name(), seconds(k)
    );
    Broken::new(Severity::Warning, message)
        .fix(format!("write {} down", case.platform().grace_field()))
        .with(&delay)
        .with(grace)
        .found()
}
