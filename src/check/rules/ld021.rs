//! The answer of a server that is going must not count as a good one.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::model::Asks;

pub(super) const RULE: Rule = Rule {
    id: "LD021",
    name: "matcher",
    formula: "503, lameduck's answer while it stops, is outside of the statuses that count as healthy",
    severity: "error",
    worst: Severity::Error,
    about: "A matcher such as 200-599 takes every answer as a good one. The balancer then never notices the flip.",
    fix: "Narrow the matcher to 200-399.",
    source: "the API of Elastic Load Balancing: an NLB takes statuses up to 599, an ALB up to 499",
    example: "Matcher 200-599 behind an NLB",
    over: Over::Containers,
    check,
};

/// What lameduck answers while it stops.
const STOPPING: u64 = 503;

fn check(case: &Case<'_>) -> Verdict {
    if !case.flips() {
        return holds();
    }
    let mut broken = Vec::new();
    for group in case.groups()? {
        if matches!(group.check.asks, Asks::Http { .. }) && takes(&one(&group.matcher)?, STOPPING) {
            let message = format!("the balancer takes {STOPPING}, the answer of a server that is going, as healthy");
            broken.push(Broken::new(Severity::Error, message).with(&group.matcher));
        }
    }
    Ok(broken)
}

/// Whether a list such as `200,301-399` holds a status.
fn takes(matcher: &str, status: u64) -> bool {
    matcher.split(',').any(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let bounds = (from.trim().parse::<u64>(), to.trim().parse::<u64>());
        matches!(bounds, (Ok(from), Ok(to)) if (from..=to).contains(&status))
    })
}

#[cfg(test)]
mod tests {
    use super::takes;

    #[test]
    fn lists_and_ranges_are_understood() {
        for (matcher, holds) in
            [("200", false), ("200-399", false), ("200-599", true), ("200,503", true), ("503", true), ("", false)]
        {
            assert_eq!(takes(matcher, 503), holds, "{matcher}");
        }
    }
}
