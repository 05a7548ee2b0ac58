//! The server's own limit should be the one that acts.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};
use crate::core::duration;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD040",
    name: "inner-timeout",
    formula: "the program's own limit to its drain ≤ G",
    severity: "warning when it is longer than G; info when a program that has one by flag is started without",
    worst: Severity::Warning,
    about: "worker_shutdown_timeout, graceful_timeout, hard-stop-after and their like end what is left in an orderly \
            way. When G is shorter, SIGKILL comes first. Without one, a single connection that never sends a \
            request holds nginx and haproxy for more than 14 s.",
    fix: "Set the program's own limit a second or more below the drain timeout.",
    source: "measured on nginx and haproxy; the documentation of the servers",
    example: "gunicorn --graceful-timeout 60 with a drain timeout of 30 s",
    over: Over::Containers,
    check,
};

/// The flags by which programs are told their limit; one that has none unless told is worth a word.
const FLAGS: [(&str, &[&str], bool); 3] = [
    ("gunicorn", &["--graceful-timeout"], false),
    ("uvicorn", &["--timeout-graceful-shutdown"], true),
    ("hypercorn", &["--graceful-timeout"], false),
];

fn check(case: &Case<'_>) -> Verdict {
    if case.lameduck().is_none() {
        return holds();
    }
    let set = case.given.time("inner-timeout");
    let launch = &case.container.launch;
    let program = launch.program.known().map_or("", String::as_str);
    let flags = FLAGS.iter().find(|(name, ..)| *name == program);
    let given = flags.and_then(|(_, flags, _)| launch.option(flags));
    let inner: Fact<Duration> = match (set.value.is_ok(), given, flags) {
        (true, ..) => set,
        (false, Some(fact), _) => Fact {
            value: fact.value.and_then(|text| duration::parse(&text).map_err(|why| why.to_string())),
            name: fact.name,
            place: fact.place,
            origin: fact.origin,
        },
        (false, None, Some((name, flags, true))) => {
            let message = format!("{name} has no limit to its drain: lameduck's SIGKILL is the one that acts");
            let fix = format!("add {} to its command", flags.join(" or "));
            return Broken::new(Severity::Info, message).fix(fix).with(&launch.program).with(&case.drain()).found();
        }
        // What stands in a configuration file of the program nobody sees from here.
        (false, None, _) => return Err(super::Needs::one("the program's own limit to its drain: --set inner-timeout=…".to_owned())),
    };
    let drain = case.bounded_drain();
    let [own, g] = all([&inner, &drain])?;
    if own <= g {
        return holds();
    }
    let message = format!("SIGKILL comes before the program's own limit: {} > G {}", seconds(own), seconds(g));
    Broken::new(Severity::Warning, message).with(&inner).with(&drain).found()
}
