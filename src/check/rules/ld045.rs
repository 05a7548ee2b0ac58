//! Silence has to be longer than the pause between two health checks.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::{Asks, Probe};

pub(super) const RULE: Rule = Rule {
    id: "LD045",
    name: "quiet",
    formula: "0 < quiet < D, and quiet > I of every health check that reaches the server's port",
    severity: "error when quiet ≥ D; warning when quiet ≤ I",
    worst: Severity::Error,
    about: "A quiet time as long as the delay never ends it early. One that is no longer than the pause between two \
            health checks is over between any two of them, or, where they come more often, never.",
    fix: "Let the health checks ask lameduck's own port: then everything on the server's is real.",
    source: "the documentation of lameduck: health checks and requests cannot be told apart from outside",
    example: "LAMEDUCK_QUIET=20s with LAMEDUCK_DELAY=15s",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(settings) = case.lameduck() else { return holds() };
    let Some(quiet) = &settings.quiet else { return holds() };
    let delay = case.delay();
    let [q, d] = all([quiet, &delay])?;
    if q.is_zero() {
        return holds();
    }
    if q >= d {
        let message = format!("the delay is over before it can be quiet long enough: quiet {} ≥ D {}", seconds(q), seconds(d));
        return Broken::new(Severity::Error, message).fix("shorten the quiet time").with(quiet).with(&delay).found();
    }
    let own = settings.health_port.as_ref().and_then(|port| port.known());
    let watched = settings.watched.as_ref().and_then(|ports| ports.known());
    let groups = case.groups()?;
    let probes = groups.iter().map(|group| &group.check).chain(&case.container.readiness).chain(&case.container.liveness);
    let mut broken = Vec::new();
    for probe in probes.filter(|probe| reaches(probe, own, watched)) {
        let [i] = all([&probe.interval])?;
        if q <= i {
            let message = format!(
                "the {} comes every {} s, so {} s of silence say nothing",
                probe.name, seconds(i), seconds(q)
            );
            broken.push(Broken::new(Severity::Warning, message).with(quiet).with(&probe.interval));
        }
    }
    Ok(broken)
}

/// Whether a check asks the server, not lameduck, at a port whose traffic counts. A command may ask anything,
/// or nothing over the network.
fn reaches(probe: &Probe, own: Option<&u64>, watched: Option<&Vec<u64>>) -> bool {
    match &probe.asks {
        Asks::Http { port, .. } | Asks::Connect(port) => {
            let counts = watched.is_none_or(|watched| port.known().is_none_or(|port| watched.contains(port)));
            counts && (own.is_none() || port.known() != own)
        }
        Asks::Command(_) => false,
    }
}
