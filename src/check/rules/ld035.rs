//! The proxy of a mesh must not go before the server.

use super::{Broken, Over, Rule, Severity, Verdict, all, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD035",
    name: "mesh-proxy-first",
    formula: "the mesh's proxy serves on for P + D + G, or waits for its connections",
    severity: "error on Kubernetes",
    worst: Severity::Error,
    about: "All containers of a pod are signalled together. Istio's proxy leaves after 5 s by default, and with it \
            every request that still wants to reach the server, or a backend of it.",
    fix: "Run the proxy as a native sidecar, set EXIT_ON_ZERO_ACTIVE_CONNECTIONS, or raise terminationDrainDuration.",
    source: "the source of Istio's agent; the documentation of Linkerd",
    example: "sidecar.istio.io/inject with delay 15 and drain 30, terminationDrainDuration left at 5s",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let mut broken = Vec::new();
    for proxy in &case.workload.mesh {
        let container = case.workload.containers.iter().find(|container| container.name == proxy.container);
        let native = container.is_some_and(|container| container.sidecar);
        if native || one(&proxy.waits)? || case.lameduck().is_none() {
            continue;
        }
        // A hook holds up the signal of its own container alone.
        let (pre_stop, delay, drain) = (&case.container.pre_stop, case.delay(), case.bounded_drain());
        let [serves, d, g] = all([&proxy.serves_on, &delay, &drain])?;
        let p = super::hook_at_least(pre_stop);
        let stop = p + d + g;
        let own = match container {
            Some(container) if serves < stop => one(&container.pre_stop)?,
            _ => Duration::ZERO,
        };
        let lasts = own + serves;
        if lasts >= stop {
            one(pre_stop)?;
            continue;
        }
        let sum = if own.is_zero() { String::new() } else { format!("{} + {} = ", seconds(own), seconds(serves)) };
        let message = format!(
            "the proxy of {} leaves first: {sum}{} < {}D {} + G {} = {}",
            proxy.mesh, seconds(lasts), super::hook(p), seconds(d), seconds(g), seconds(stop)
        );
        let fix = format!(
            "set {} to {} s or more, or let the proxy run as a native sidecar, which stops last",
            proxy.serves_on.name, seconds(stop.saturating_sub(own))
        );
        let finding = Broken::new(Severity::Error, message).fix(fix).with(&proxy.serves_on);
        let finding = container.into_iter().fold(finding, |finding, container| finding.with_hook(&container.pre_stop));
        broken.push(finding.with_hook(pre_stop).with(&delay).with(&drain));
    }
    Ok(broken)
}
