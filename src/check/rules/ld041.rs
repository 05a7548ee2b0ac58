//! Some programs can wait by themselves.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};
use crate::core::duration;

pub(super) const RULE: Rule = Rule {
    id: "LD041",
    name: "inner-delay",
    formula: "D > 0: the program has no delay of its own",
    severity: "warning",
    worst: Severity::Warning,
    about: "Traefik's requestAcceptGraceTimeout and the shutdown-grace-period of ingress-nginx are the same wait once \
            more, inside the drain timeout.",
    fix: "Leave the program's own delay at 0.",
    source: "the source of the programs",
    example: "traefik --entryPoints.web.transport.lifeCycle.requestAcceptGraceTimeout=10 with a delay of 15 s",
    over: Over::Containers,
    check,
};

/// What such an option ends in, in small letters.
const OPTIONS: [&str; 2] = ["requestacceptgracetimeout", "shutdown-grace-period"];

fn check(case: &Case<'_>) -> Verdict {
    if case.lameduck().is_none() {
        return holds();
    }
    let delay = case.delay();
    let d = one(&delay)?;
    let words = &case.container.launch.words;
    for (at, word) in words.iter().enumerate().filter(|_| !d.is_zero()) {
        // The value is behind a `=`, or the next word.
        let next = || words.get(at + 1).map(|next| (word.text.as_str(), next.text.as_str(), next.place));
        let pair = word.text.split_once('=').map(|(name, value)| (name, value, word.place)).or_else(next);
        let Some((name, value, place)) = pair.filter(|(name, ..)| name.starts_with('-')) else { continue };
        let name = name.trim_start_matches('-');
        let lower = name.to_ascii_lowercase();
        let own = OPTIONS.iter().any(|option| lower.ends_with(option)) && !lower.starts_with("post-");
        if own && !duration::parse(value).is_ok_and(|time| time.is_zero()) {
            let cited = Fact::written(name, value.to_owned(), place);
            let message = format!("the stop waits twice for the same thing: D {} and {name} {value}", seconds(d));
            return Broken::new(Severity::Warning, message).with(&delay).with(&cited).found();
        }
    }
    holds()
}
