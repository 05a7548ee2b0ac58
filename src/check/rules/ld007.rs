//! Compose waits ten seconds.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;

pub(super) const RULE: Rule = Rule {
    id: "LD007",
    name: "compose-grace",
    formula: "Compose: D + G + B ≤ stop_grace_period, which is 10 s by default",
    severity: "error when D + G ≥ K; warning when only the buffer B is eaten",
    worst: Severity::Error,
    about: "What is not over in stop_grace_period is killed. The default is too short for every usual drain. Hooks \
            of pre_stop run before that time begins.",
    fix: "Write stop_grace_period: it costs nothing when the server is quicker.",
    source: "the Compose specification",
    example: "LAMEDUCK_DELAY=15s without stop_grace_period",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if case.platform() != Platform::Compose || case.lameduck().is_none() {
        return holds();
    }
    let (delay, drain, buffer, grace) = (case.delay(), case.bounded_drain(), case.buffer(), &case.container.grace);
    let [d, g, b, k] = all([&delay, &drain, &buffer, grace])?;
    let total = d + g + b;
    if total <= k {
        return holds();
    }
    let sum = format!("D {} + G {} + B {} = {} > K {}", seconds(d), seconds(g), seconds(b), seconds(total), seconds(k));
    let (severity, what) = if d + g >= k {
        (Severity::Error, "Compose kills the server in the middle of its drain")
    } else {
        (Severity::Warning, "the stop leaves nothing to spare before Compose kills")
    };
    Broken::new(severity, format!("{what}: {sum}"))
        .fix(format!("set stop_grace_period to {}s", seconds(total)))
        .with(&delay)
        .with(&drain)
        .with(&buffer)
        .with(grace)
        .found()
}
