//! Fargate waits two minutes at the most.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD005",
    name: "fargate-stop-range",
    formula: "Fargate: 2 ≤ stopTimeout ≤ 120, so D + G + B ≤ 120",
    severity: "error on Fargate",
    worst: Severity::Error,
    about: "Fargate refuses a task definition outside of this range. On EC2 the agent sets no upper limit.",
    fix: "Stay within 120 s: shorten the health check, and so the delay, before the drain.",
    source: "the API of ECS: ContainerDefinition.stopTimeout",
    example: "stopTimeout 180 with requiresCompatibilities FARGATE",
    over: Over::Containers,
    check,
};

const LEAST: Duration = Duration::from_secs(2);
const MOST: Duration = Duration::from_secs(120);

fn check(case: &Case<'_>) -> Verdict {
    if case.platform() != Platform::Fargate {
        return holds();
    }
    let grace = &case.container.grace;
    let k = one(grace)?;
    if !(LEAST..=MOST).contains(&k) {
        let message = format!("Fargate takes a stopTimeout from 2 to 120, not {}", seconds(k));
        return Broken::new(Severity::Error, message).with(grace).found();
    }
    if case.lameduck().is_none() {
        return holds();
    }
    let (delay, drain, buffer) = (case.delay(), case.bounded_drain(), case.buffer());
    let [d, g, b] = super::all([&delay, &drain, &buffer])?;
    let total = d + g + b;
    if total <= MOST {
        return holds();
    }
    let message = format!(
        "no stopTimeout that Fargate takes is enough: D {} + G {} + B {} = {} > 120",
        seconds(d), seconds(g), seconds(b), seconds(total)
    );
    Broken::new(Severity::Error, message).with(&delay).with(&drain).with(&buffer).with(grace).found()
}
