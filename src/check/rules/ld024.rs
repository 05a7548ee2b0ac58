//! What follows a readiness probe needs as long as the probe takes.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::{Asks, Platform};

pub(super) const RULE: Rule = Rule {
    id: "LD024",
    name: "readiness-period",
    formula: "readiness probe on what flips: D > period × failures + timeout",
    severity: "info on Kubernetes",
    worst: Severity::Info,
    about: "Whatever follows the probe learns of the flip only after so many failures. With the defaults that is \
            31 s, more than the whole default grace period. Services do not depend on it: the endpoint is out at \
            the deletion already.",
    fix: "Probe more often: periodSeconds 2, failureThreshold 1.",
    source: "the API of Kubernetes: Probe",
    example: "a readinessProbe with its defaults and a delay of 15 s: 15 ≤ 31",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let (Some(settings), Some(probe)) = (case.lameduck(), &case.container.readiness) else { return holds() };
    if case.platform() != Platform::Kubernetes || !case.flips() {
        return holds();
    }
    let own = settings.health_port.as_ref().map(one).transpose()?;
    let sees = match &probe.asks {
        Asks::Http { port, .. } => own.is_some() && port.known() == own.as_ref(),
        Asks::Connect(_) => false,
        Asks::Command(command) => {
            let file = settings.ready_file.as_ref().or(settings.drain_file.as_ref()).and_then(|file| file.known());
            super::ld022::asks_readiness(&one(command)?, own, file.map(String::as_str))
        }
    };
    if !sees {
        return holds();
    }
    let delay = case.delay();
    let [d, i, t] = all([&delay, &probe.interval, &probe.timeout])?;
    let u = one(&probe.failures)?;
    let takes = i * u32::try_from(u).unwrap_or(u32::MAX) + t;
    if d > takes {
        return holds();
    }
    let message = format!(
        "the delay is over before the probe has said that the server is going: D {} ≤ {} × {u} + {} = {}",
        seconds(d), seconds(i), seconds(t), seconds(takes)
    );
    Broken::new(Severity::Info, message)
        .with(&delay)
        .with(&probe.interval)
        .with(&probe.failures)
        .with(&probe.timeout)
        .found()
}
