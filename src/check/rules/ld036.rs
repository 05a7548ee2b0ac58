//! What a server needs has to stop after it.

use super::{Broken, Over, Rule, Severity, Verdict, holds};
use crate::check::case::Case;
use crate::check::fact::Fact;

pub(super) const RULE: Rule = Rule {
    id: "LD036",
    name: "ecs-sidecar-order",
    formula: "ECS: the served container depends on its proxies, agents and log routers",
    severity: "warning on ECS",
    worst: Severity::Warning,
    about: "Without dependsOn all containers of a task are signalled together, and a proxy or a log router is gone \
            while the server still drains. ECS reverses the order when it stops a task; each container then has \
            its own stopTimeout, one after another.",
    fix: "Add dependsOn for the sidecar, condition START or HEALTHY, to the container that needs it.",
    source: "the API of ECS: ContainerDefinition.dependsOn",
    example: "web and envoy in one task, neither with dependsOn",
    over: Over::Workloads,
    check,
};

/// By what of their name or image such containers are known.
const HELPERS: [&str; 12] = [
    "envoy", "fluent", "log-router", "log_router", "firelens", "datadog", "xray", "otel", "collector", "cloudwatch",
    "proxy", "agent",
];

fn check(case: &Case<'_>) -> Verdict {
    if !case.platform().is_ecs() || case.lameduck().is_none() {
        return holds();
    }
    let mut broken = Vec::new();
    for other in &case.workload.containers {
        let image = other.image.as_ref().and_then(|image| image.known().map(String::as_str)).unwrap_or_default();
        let helps = HELPERS.iter().any(|helper| other.name.contains(helper) || image.contains(helper));
        if !helps || other.name == case.container.name {
            continue;
        }
        let ordered = depends(case.container.depends_on.as_slice(), &other.name)
            || depends(other.depends_on.as_slice(), &case.container.name);
        if !ordered {
            let message = format!("{} is stopped together with {}, which may still need it", other.name, case.container.name);
            let cited = Fact::written("name", other.name.clone(), other.place);
            let served = Fact::written("name", case.container.name.clone(), case.container.place);
            let fix = format!("let {} depend on {} (dependsOn, condition START)", case.container.name, other.name);
            broken.push(Broken::new(Severity::Warning, message).fix(fix).with(&cited).with(&served));
        }
    }
    Ok(broken)
}

fn depends(on: &[Fact<String>], name: &str) -> bool {
    on.iter().any(|dependency| dependency.known().is_some_and(|known| known == name))
}
