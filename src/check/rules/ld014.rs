//! Clients keep the address they looked up.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};
use crate::check::model::By;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD014",
    name: "dns-discovery",
    formula: "Cloud Map by DNS: D ≥ TTL + 30",
    severity: "warning",
    worst: Severity::Warning,
    about: "Clients use an address for the TTL of its record after it was taken out, and Cloud Map takes up to 30 s \
            to take it out. Many clients keep addresses longer than the TTL allows.",
    fix: "Lower the TTL, or raise the delay to TTL + 30.",
    source: "the API of Cloud Map: a change of custom health takes about 30 s",
    example: "TTL 60 with a delay of 15 s",
    over: Over::Containers,
    check,
};

const CLOUD_MAP: Duration = Duration::from_secs(30);

fn check(case: &Case<'_>) -> Verdict {
    let mut broken = Vec::new();
    for route in &case.workload.routes {
        let By::Dns(discovery) = &route.by else { continue };
        let set = case.given.time("dns-ttl");
        let ttl: Fact<Duration> = match (&set.value, discovery) {
            (Ok(_), _) => set,
            (Err(_), Ok(at)) => case.model.discoveries[*at].ttl.clone(),
            (Err(_), Err(why)) => Fact::unknown("TTL", why.clone(), route.place),
        };
        let delay = case.delay();
        let [d, t] = all([&delay, &ttl])?;
        if d < t + CLOUD_MAP {
            let message = format!(
                "clients still use the address when the server stops: D {} < TTL {} + 30 = {}",
                seconds(d), seconds(t), seconds(t + CLOUD_MAP)
            );
            broken.push(Broken::new(Severity::Warning, message).with(&delay).with(&ttl));
        }
    }
    if broken.is_empty() { holds() } else { Ok(broken) }
}
