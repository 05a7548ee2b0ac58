//! The health check has to see the flip.

use super::{Broken, Needs, Over, Rule, Severity, Verdict, holds};
use crate::check::case::Case;
use crate::check::fact::Fact;
use crate::check::flow::Flow;
use crate::check::model::Asks;

pub(super) const RULE: Rule = Rule {
    id: "LD020",
    name: "check-sees-flip",
    formula: "hc flow: the health check asks lameduck's own port, or the server answers by lameduck's file",
    severity: "error",
    worst: Severity::Error,
    about: "Where the balancer learns only from its health checks, a delay during which they stay green helps \
            nothing: the loss only comes later. A check of the server itself stays green until its port closes.",
    fix: "Let the health check ask the port of LAMEDUCK_HEALTH_LISTEN.",
    source: "measured: 60 requests lost without a delay, 73 with one and checks that stay green",
    example: "HealthCheckPort traffic-port with LAMEDUCK_HEALTH_LISTEN=:8086",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(settings) = case.lameduck() else { return holds() };
    if !case.flows(Flow::HealthChecks)? {
        return holds();
    }
    let mut broken = Vec::new();
    for group in case.groups()? {
        let port = match &group.check.asks {
            Asks::Http { port, .. } | Asks::Connect(port) => port,
            Asks::Command(_) => continue,
        };
        if let Some(file) = settings.drain_file.as_ref().or(settings.ready_file.as_ref()) {
            let why = format!("whether the server answers its health check by {}", file.known().map_or("the file", String::as_str));
            return Err(Needs::one(why));
        }
        let Some(own) = &settings.health_port else {
            let what = "something that flips: LAMEDUCK_HEALTH_LISTEN, LAMEDUCK_READY_FILE or LAMEDUCK_DRAIN_FILE";
            return Err(Needs::one(format!("{}: {what}", case.container.name)));
        };
        let own_port = own.value.clone().map_err(Needs::one)?;
        if !port.is(&own_port) {
            let message = format!(
                "the health check of {} asks the server itself, which stays green until it stops; lameduck answers at {own_port}",
                group.name
            );
            let fix = format!("set {} of {} to {own_port}", port.name, group.name);
            let broken_here = Broken::new(Severity::Error, message).fix(fix);
            let cited = match &port.value {
                Ok(_) => broken_here.with(port),
                Err(why) => broken_here.with(&Fact { value: Ok(why.clone()), ..port.clone().map(|_| String::new()) }),
            };
            broken.push(cited.with(own));
        }
    }
    Ok(broken)
}
