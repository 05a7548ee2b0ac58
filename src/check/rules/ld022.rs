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
            asks_readiness(&one(command)?, port, file.as_deref()).then(|| command.clone())
        }
        _ => None,
    })
}

/// Whether a command asks something that flips: the health port, a file, or lameduck's own client that
/// finds one of them itself.
pub(super) fn asks_readiness(command: &str, port: Option<u64>, file: Option<&str>) -> bool {
    // What says that the server lives: a page, or that the port is open.
    let lives = ["/livez", "/status", "tcp://"].iter().any(|what| command.contains(what));
    let by_port = port.is_some_and(|port| command.contains(&format!(":{port}"))) && !lives;
    let by_file = file.is_some_and(|file| command.contains(file));
    let by_client = command.split("lameduck --healthcheck").skip(1).any(|rest| {
        let what = rest.trim_start_matches([' ', '=', '"', '\'']);
        !["http://", "tcp://", "file:"].iter().any(|named| what.starts_with(named))
    });
    by_port || by_file || by_client
}

#[cfg(test)]
mod tests {
    use super::asks_readiness;

    #[test]
    fn the_own_client_asks_for_readiness_unless_it_is_told_to_ask_something_else() {
        for (command, asks) in [
            ("/lameduck --healthcheck", true),
            ("/lameduck --healthcheck || exit 1", true),
            ("/lameduck --healthcheck http://127.0.0.1:8086/readyz", true),
            ("/lameduck --healthcheck=http://127.0.0.1:8086", true),
            ("/lameduck --healthcheck http://127.0.0.1:8086/livez", false),
            ("/lameduck --healthcheck 'http://127.0.0.1:8086/livez' || exit 1", false),
            ("/lameduck --healthcheck http://127.0.0.1:8080/", false),
            ("/lameduck --healthcheck tcp://127.0.0.1:8086", false),
            ("/lameduck --healthcheck file:/run/ready", true),
            ("/lameduck --healthcheck file:/run/other", false),
            ("curl -f localhost:8086/readyz", true),
            ("curl -f localhost:8086/livez", false),
            ("test -e /run/ready", true),
            ("true", false),
        ] {
            assert_eq!(asks_readiness(command, Some(8086), Some("/run/ready")), asks, "{command}");
        }
    }
}
