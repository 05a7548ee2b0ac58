//! A watchdog outside must have the patience that a stop takes.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;

pub(super) const RULE: Rule = Rule {
    id: "LD023",
    name: "watchdog",
    formula: "strikes × period > D + G + start",
    severity: "warning",
    worst: Severity::Warning,
    about: "Something that restarts a server which does not answer takes a stop, and the start after it, for a \
            fault, unless it waits for longer than both take.",
    fix: "Give the watchdog more strikes, or have it look at lameduck's state file.",
    source: "measured: one strike a minute against a stop of up to 150 s",
    example: "--set watchdog-strikes=1 --set watchdog-period=60s with D 15 and G 60",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let (strikes, period, start) =
        (case.given.number("watchdog-strikes"), case.given.time("watchdog-period"), case.given.time("start"));
    // Only who has one sets either.
    if (strikes.value.is_err() && period.value.is_err()) || case.lameduck().is_none() {
        return holds();
    }
    let (delay, drain) = (case.delay(), case.bounded_drain());
    let count = one(&strikes)?;
    let [period_time, d, g, s] = all([&period, &delay, &drain, &start])?;
    let patience = period_time * u32::try_from(count).unwrap_or(u32::MAX);
    if patience > d + g + s {
        return holds();
    }
    let message = format!(
        "the watchdog takes a stop for a fault: {count} × {} = {} ≤ D {} + G {} + start {} = {}",
        seconds(period_time), seconds(patience), seconds(d), seconds(g), seconds(s), seconds(d + g + s)
    );
    Broken::new(Severity::Warning, message)
        .with(&strikes)
        .with(&period)
        .with(&delay)
        .with(&drain)
        .with(&start)
        .found()
}
