//! What restarts a container must not ask whether it is ready.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, one};
use crate::check::case::Case;
use crate::check::fact::{Fact, seconds};
use crate::check::launch::Settings;
use crate::check::model::{Asks, Platform, Probe};

pub(super) const RULE: Rule = Rule {
    id: "LD022",
    name: "liveness-not-readiness",
    formula: "liveness probe, container health check: not on the endpoint that flips, or I×U > D + G",
    severity: "error on Kubernetes and ECS; info for Compose and plain Docker, which restart nothing",
    worst: Severity::Error,
    about: "A server that drains is not ready, and well alive. A liveness check on /readyz has the platform kill it \
            in the middle of its drain. The kubelet asks no more once the pod is deleted; but when something else \
            stops the server, or lameduck's own check of it fails, it restarts what is only not ready.",
    fix: "Ask /livez, or the server itself.",
    source: "the documentation of Kubernetes; CoreDNS and lightship keep the two apart for this reason",
    example: "a livenessProbe on port 8086, path /readyz, with LAMEDUCK_HEALTH_LISTEN=:8086",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let (Some(settings), Some(probe)) = (case.lameduck().filter(|_| case.flips()), &case.container.liveness) else {
        return holds();
    };
    let Some(asked) = flipping(probe, settings)? else { return holds() };
    let (delay, drain) = (case.delay(), case.bounded_drain());
    let [d, g, i] = all([&delay, &drain, &probe.interval])?;
    let u = one(&probe.failures)?;
    let lasts = i * u32::try_from(u).unwrap_or(u32::MAX);
    if lasts > d + g {
        return holds();
    }
    let (severity, what) = match case.platform() {
        Platform::Compose | Platform::Docker => (Severity::Info, "counts the server as unhealthy while it drains"),
        Platform::Kubernetes => (Severity::Error, "takes a server that is not ready for a dead one, and has it restarted"),
        _ => (Severity::Error, "fails while the server drains, and ends it"),
    };
    let message = format!(
        "the {} {what}: I {} × U {u} = {} ≤ D {} + G {} = {}",
        probe.name, seconds(i), seconds(lasts), seconds(d), seconds(g), seconds(d + g)
    );
    Broken::new(severity, message)
        .with(&asked)
        .with(&probe.interval)
        .with(&probe.failures)
        .with(&delay)
        .with(&drain)
        .found()
}

/// What of the probe asks something that flips.
fn flipping(probe: &Probe, settings: &Settings) -> Result<Option<Fact<String>>, super::Needs> {
    let port = settings.health_port.as_ref().map(one).transpose()?;
    let file = settings.ready_file.as_ref().map(one).transpose()?;
    Ok(match &probe.asks {
        // A port that has a name is one of the container's, not lameduck's.
        Asks::Http { path, port: asked } if port.is_some() && asked.known() == port.as_ref() => {
            let path_asked = one(path)?;
            (path_asked != "/livez" && path_asked != "/status").then(|| path.clone())
        }
        Asks::Command(command) => {
            let text = one(command)?;
            let by_port = port.is_some_and(|port| text.contains(&format!(":{port}")) && !text.contains("/livez"));
            // lameduck's own client asks its own health port.
            let by_client = text.contains("lameduck --healthcheck");
            let by_file = file.is_some_and(|file| text.contains(&file));
            (by_port || by_client || by_file).then(|| command.clone())
        }
        _ => None,
    })
}
