//! The whole stop fits into what the platform waits.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::Platform;
use std::fmt::Write as _;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD002",
    name: "budget",
    formula: "P + D + G + B ≤ K",
    severity: "error when P + D + G ≥ K; warning when only the buffer B is eaten; info when it is the grace of a \
               liveness probe that is too short",
    worst: Severity::Error,
    about: "The platform counts from its stop signal (Kubernetes: from the pre-stop hook) and then kills \
            everything, whatever is still in flight. In Compose LD007 looks at the same sum.",
    fix: "Raise the platform's limit: it costs nothing when the server is quicker.",
    source: "the documentation of ECS and Kubernetes; the buffer is 5 s unless --set buffer says otherwise",
    example: "preStop 10, delay 15, drain 20, limit 30: 45 ≥ 30",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if matches!(case.platform(), Platform::Compose | Platform::Docker) {
        return holds();
    }
    let Some(settings) = case.lameduck() else {
        // Without lameduck there is no number for the drain: nothing that could be added up.
        return case.container.launch.lameduck.as_ref().map(|_| Vec::new()).map_err(|why| super::Needs::one(why.clone()));
    };
    let (pre_stop, delay, drain, buffer) = (&case.container.pre_stop, case.delay(), case.bounded_drain(), case.buffer());
    let grace = &case.container.grace;
    let [p, d, g, b, k] = all([pre_stop, &delay, &drain, &buffer, grace])?;
    let total = p + d + g + b;
    if total <= k {
        return unhealthy(case, p + d + g);
    }
    let sum = format!(
        "{}D {} + G {} + B {} = {} > K {}",
        super::hook(p), seconds(d), seconds(g), seconds(b), seconds(total), seconds(k)
    );
    let killed = p + d + g >= k;
    let severity = if killed { Severity::Error } else { Severity::Warning };
    let mut message = if killed {
        format!("the platform kills the server in the middle of its drain: {sum}")
    } else {
        format!("the stop leaves nothing to spare before the platform kills: {sum}")
    };
    let own = settings.linger.known().copied().unwrap_or_default() + settings.hooks;
    if settings.linger.is_written() || !settings.hooks.is_zero() {
        let _ = write!(message, "; linger and hooks may take {} more", seconds(own));
    }
    let mut broken = Broken::new(severity, message).fix(way_out(case, total.as_secs_f64(), k.as_secs_f64()));
    broken = broken.with_hook(pre_stop).with(&delay).with(&drain).with(&buffer).with(grace);
    // A number that lameduck was told and the platform does not have is where the drain came from.
    if let Some(told) = settings.grace.as_ref().filter(|told| told.known() != Some(&k)) {
        broken = broken.with(told);
    }
    broken.found()
}

/// The same, with what the platform waits when it is the liveness check that ends the server.
fn unhealthy(case: &Case<'_>, takes: Duration) -> Verdict {
    let Some(grace) = &case.container.grace_unhealthy else { return holds() };
    let k = super::one(grace)?;
    if takes < k {
        return holds();
    }
    let message = format!(
        "when the liveness probe fails, the server is killed in the middle of its drain: P + D + G = {} ≥ {}",
        seconds(takes), seconds(k)
    );
    let fix = format!("raise {} of the probe, if such a server is still to drain", grace.name);
    Broken::new(Severity::Info, message).fix(fix).with(grace).with(&case.delay()).with(&case.drain()).found()
}

/// Raise the limit, unless the platform has one to that too.
fn way_out(case: &Case<'_>, total: f64, limit: f64) -> String {
    // Rounded up to five seconds, as people write such numbers.
    let wanted = (total / 5.0).ceil() * 5.0;
    let field = case.platform().grace_field();
    if case.platform() == Platform::Fargate && wanted > 120.0 {
        let over = total - 120.0;
        return format!("Fargate waits 120 s at the most: set {field} to 120 and shorten delay or drain by {over} s");
    }
    format!("set {field} to {wanted}, or shorten delay or drain by {} s", total - limit)
}
