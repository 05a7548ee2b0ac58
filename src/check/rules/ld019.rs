//! The last endpoint of a Service should not say that it is not ready.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::model::{By, Platform};

pub(super) const RULE: Rule = Rule {
    id: "LD019",
    name: "k8s-last-endpoint",
    formula: "readiness flips: more than one replica, and no externalTrafficPolicy: Local",
    severity: "warning",
    worst: Severity::Warning,
    about: "When all endpoints of a Service (or of a node, with Local) are terminating, kube-proxy goes on sending \
            to those that are still ready. The flip takes this last way, and gives nothing in return: a terminating \
            endpoint is out of every other list already.",
    fix: "Set LAMEDUCK_UNREADY=never, or run two.",
    source: "KEP-1669, in Kubernetes since 1.28",
    example: "replicas 1 with LAMEDUCK_HEALTH_LISTEN and a readinessProbe on it",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(settings) = case.lameduck().filter(|_| case.platform() == Platform::Kubernetes && case.flips()) else {
        return holds();
    };
    let flips = |finding: Broken| {
        let port = settings.health_port.as_ref();
        let file = settings.ready_file.as_ref().or(settings.drain_file.as_ref());
        match (port, file) {
            (Some(port), _) => finding.with(port),
            (None, Some(file)) => finding.with(file),
            (None, None) => finding,
        }
    };
    let by_address = case.groups().is_ok_and(|groups| groups.iter().any(|group| group.by_address.is(&true)));
    for route in &case.workload.routes {
        // Who asks for a name alone has no proxy that could send elsewhere.
        let By::KubernetesService(service) = &route.by else { continue };
        if service.headless {
            continue;
        }
        let local = &service.local;
        let policy = local.name.split(':').next().unwrap_or_default();
        // A balancer that sends to the pod itself passes the node's proxy by.
        let passed_by = by_address && policy == "externalTrafficPolicy";
        if !passed_by && one(local)? {
            let message = "the flip takes away the node's last endpoint that still serves";
            let fix = format!("set LAMEDUCK_UNREADY=never, or {policy} to Cluster");
            return flips(Broken::new(Severity::Warning, message).fix(fix).with(local)).found();
        }
        if let Some(rollout) = &case.workload.rollout
            && one(&rollout.replicas)? == 1
        {
            let message = "the flip takes away the only endpoint that still serves";
            return flips(Broken::new(Severity::Warning, message).with(&rollout.replicas)).found();
        }
    }
    holds()
}
