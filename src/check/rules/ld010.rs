//! Where the balancer drains first, a long delay only costs time.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::flow::Flow;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD010",
    name: "sequential-delay-small",
    formula: "sequential flow: D of 5 to 10 s is enough",
    severity: "info for 10 < D ≤ 30; warning above",
    worst: Severity::Warning,
    about: "The scheduler has already waited for the target to be unused when the stop signal comes. What is \
            left to wait for are connections that are kept alive. Each task takes R + D + G in a deploy.",
    fix: "Lower the delay to 10 s.",
    source: "the ECS page on optimizing connection draining",
    example: "delay 60 in a service with a target group",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if !case.flows(Flow::Sequential)? {
        return holds();
    }
    let delay = case.delay();
    let d = one(&delay)?;
    // Others learn of it later, and that is what the delay is for then.
    let others = case.workload.routes.iter().any(|route| !matches!(route.by, crate::check::model::By::Group(_)));
    let severity = match d {
        _ if others => return holds(),
        d if d > Duration::from_secs(30) => Severity::Warning,
        d if d > Duration::from_secs(10) => Severity::Info,
        _ => return holds(),
    };
    let message = format!(
        "the balancer is done with the task before it is stopped: of D {} s some 10 are enough",
        seconds(d)
    );
    Broken::new(severity, message).with(&delay).with(case.flow).found()
}
