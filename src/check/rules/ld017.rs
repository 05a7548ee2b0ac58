//! On Kubernetes nothing orders the pod after the balancers.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds, hook_and_delay, one, shorter};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::flow::Flow;
use crate::check::model::{By, Platform};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD017",
    name: "k8s-endpoint",
    formula: "P + D ≥ 5 where a Service selects the pod; behind an AWS balancer P + D ≥ I×U + T, at least 10",
    severity: "warning",
    worst: Severity::Warning,
    about: "The kubelet and the endpoint controller hear of the deletion at the same moment, and each node's proxy \
            later. A balancer outside, whose controller deregisters the pod, is later still.",
    fix: "Set the delay to 10 s for plain Services, to I×U + T behind an AWS balancer.",
    source: "the EKS best practices (10 s); aws-load-balancer-controller issues 1064 and 2106; quay issue 6871",
    example: "a Deployment behind a Service with neither preStop nor delay",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    if case.platform() != Platform::Kubernetes || case.workload.routes.is_empty() || !case.flows(Flow::Concurrent)? {
        return holds();
    }
    let (pre_stop, delay) = (&case.container.pre_stop, case.delay());
    let mut broken = Vec::new();
    let groups = case.groups()?;
    for group in &groups {
        let check = &group.check;
        let [i, t] = all([&check.interval, &check.timeout])?;
        let u = one(&check.failures)?;
        let detect = i.saturating_mul(u32::try_from(u).unwrap_or(u32::MAX)).saturating_add(t);
        let wanted = detect.max(Duration::from_secs(10));
        if let Some((p, d)) = shorter(pre_stop, &delay, wanted)? {
            let message = format!(
                "the balancer of {} may send requests for longer: {} < I {} × U {u} + T {} = {}{}",
                group.name, hook_and_delay(p, d), seconds(i), seconds(t), seconds(detect),
                if wanted > detect { ", at least 10" } else { "" }
            );
            let fix = format!("set the delay to {} s, or have the balancer check more often", seconds(wanted.saturating_sub(p)));
            let finding = Broken::new(Severity::Warning, message).fix(fix).with(&delay).with_hook(pre_stop);
            broken.push(finding.with(&check.interval).with(&check.failures).with(&check.timeout));
        }
    }
    let services = || {
        case.workload.routes.iter().filter_map(|route| match &route.by {
            By::KubernetesService(service) => Some(service),
            _ => None,
        })
    };
    // A name alone is for those who look for each other, and want to find what is not ready too.
    for service in services().filter(|service| !service.headless) {
        if one(&service.always)? {
            let message = "the Service sends new requests until the pod is gone, for it takes every pod as ready";
            let fix = "take publishNotReadyAddresses out, or put it into a headless Service of its own";
            broken.push(Broken::new(Severity::Warning, message).fix(fix).with(&service.always));
        }
    }
    if groups.is_empty()
        && services().next().is_some()
        && let Some((p, d)) = shorter(pre_stop, &delay, Duration::from_secs(5))?
    {
        let who = if services().all(|service| service.headless) {
            "who looked up the address still sends requests"
        } else {
            "the nodes' proxies still send requests"
        };
        let message = format!("{who} when the server stops: {} < 5", hook_and_delay(p, d));
        broken.push(Broken::new(Severity::Warning, message).with(&delay).with_hook(pre_stop));
    }
    Ok(broken)
}
