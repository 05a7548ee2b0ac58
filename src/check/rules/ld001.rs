//! The delay covers what the balancer takes to notice.

use super::{Broken, Over, Rule, SHORT, Severity, Verdict, all, each_group, one, short_timeout};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::flow::Flow;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD001",
    name: "delay-covers-detection",
    formula: "hc flow: D > I×U; better D ≥ I×U + T",
    severity: "error when D ≤ I×U; warning when D < I×U + T",
    worst: Severity::Error,
    about: "A balancer that learns only from its health checks goes on sending requests until so many of them \
            have failed in a row. The first that fails comes up to one interval after the flip, and the last may \
            take its whole time-out. A server that stops before that refuses requests.",
    fix: "Shorten the health check first (interval 5, time-out 3, threshold 2): it is cheaper than a longer delay.",
    source: "measured on a deploy behind an ALB: 5 s × 2 with a delay of 15 s lost nothing",
    example: "interval 30, threshold 2, delay 5s: 5 ≤ 60",
    over: Over::Containers,
    check,
};

/// What a delay is given beyond the last health check.
const SPARE: Duration = Duration::from_secs(5);

fn check(case: &Case<'_>) -> Verdict {
    each_group(case, Flow::HealthChecks, |group| {
        let delay = case.delay();
        let check = &group.check;
        let [d, i, t] = all([&delay, &check.interval, &check.timeout])?;
        let u = one(&check.failures)?;
        let detect = i * u32::try_from(u).unwrap_or(u32::MAX);
        let sum = format!("I {} × U {u} = {}", seconds(i), seconds(detect));
        let (severity, message) = if d <= detect {
            let message = format!(
                "the balancer goes on sending requests for up to {} s, and the server stops after {}: D {} ≤ {sum}",
                seconds(detect), seconds(d), seconds(d)
            );
            (Severity::Error, message)
        } else if d < detect + t {
            let all = seconds(detect + t);
            let message = format!(
                "the last health check may take its whole time-out: D {} < {sum} + T {} = {all}",
                seconds(d), seconds(t)
            );
            (Severity::Warning, message)
        } else {
            return Ok(None);
        };
        let wanted = detect + t + SPARE;
        // The shorter check is the cheaper way out, unless it is as short already.
        let answer = short_timeout(t);
        let short = SHORT * 2 + answer;
        let fix = if detect > SHORT * 2 {
            let numbers = if answer < t {
                format!("to 5, its time-out to {} and its threshold to 2", seconds(answer))
            } else {
                "to 5 and its threshold to 2".to_owned()
            };
            format!(
                "set the interval of {} {numbers} (then a delay of {} s is enough), or the delay to {} s",
                group.name, seconds(short + SPARE), seconds(wanted)
            )
        } else {
            format!("set the delay to {} s", seconds(wanted))
        };
        let finding = Broken::new(severity, message).fix(fix).with(&delay);
        Ok(Some(finding.with(&check.interval).with(&check.failures).with(&check.timeout)))
    })
}
