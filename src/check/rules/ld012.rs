//! Two minutes are all there is on Spot.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD012",
    name: "spot",
    formula: "Fargate Spot: R < 120, and K near 120",
    severity: "error for R ≥ 120 (also by default 300); warning for a K that leaves less than D + G",
    worst: Severity::Error,
    about: "Spot takes a task away two minutes after its notice. The target may stay registered until the task is \
            gone, so the balancer learns of it from its health checks (LD001, LD020), and a deregistration delay \
            that is longer is never waited out.",
    fix: "Set the deregistration delay below 120 s.",
    source: "AWS on interruptions of Fargate Spot",
    example: "FARGATE_SPOT with the default deregistration delay of 300 s",
    over: Over::Containers,
    check,
};

const NOTICE: Duration = Duration::from_secs(120);

fn check(case: &Case<'_>) -> Verdict {
    let spot = &case.workload.spot;
    if !case.platform().is_ecs() || !spot.is(&true) {
        return holds();
    }
    let mut broken = Vec::new();
    for group in case.groups()? {
        let [r] = all([&group.deregistration])?;
        if r >= NOTICE {
            let message = format!("Spot is gone before the balancer has let go of the target: R {} ≥ 120", seconds(r));
            broken.push(Broken::new(Severity::Error, message).with(&group.deregistration).with(spot));
        }
    }
    if case.platform() == Platform::Fargate && case.lameduck().is_some() {
        let (delay, drain, grace) = (case.delay(), case.bounded_drain(), &case.container.grace);
        let [d, g, k] = all([&delay, &drain, grace])?;
        if d + g >= k && k < NOTICE {
            let message = format!(
                "of the two minutes that Spot gives only K {} are used, though D {} + G {} = {}",
                seconds(k), seconds(d), seconds(g), seconds(d + g)
            );
            let fix = "set stopTimeout to 120";
            broken.push(Broken::new(Severity::Warning, message).fix(fix).with(grace).with(&delay).with(&drain));
        }
    }
    Ok(broken)
}
