//! How the pods of an object are replaced.

use crate::check::cluster::{Limits, Share};
use crate::check::fact::Fact;
use crate::check::load::{Loading, seconds, text};
use crate::check::model::Rollout;
use crate::check::tree::Node;
use std::time::Duration;

/// What Kubernetes takes when nothing is written.
const DEADLINE: Duration = Duration::from_secs(600);
const DEPLOYMENT_SHARE: Share = Share::Percent(25);

/// The rollout of that kind of object, and the limits it is made from; of what nothing replaces there is none.
pub(super) fn read(kind: &str, spec: &Node, loading: &mut Loading<'_>) -> Option<(Rollout, Limits)> {
    let replicas = match kind {
        "Deployment" | "StatefulSet" => loading.value(spec, "replicas", ("Kubernetes", 1), Node::number),
        "DaemonSet" => Fact::unknown("replicas", "on how many nodes the DaemonSet runs", Some(spec.anchor())),
        _ => return None,
    };
    let strategy = spec.get(if kind == "Deployment" { "strategy" } else { "updateStrategy" });
    let kind_of = strategy.and_then(|strategy| loading.optional(strategy, "type", text));
    let says = |word: &str| kind_of.as_ref().is_some_and(|kind| kind.is(&word.to_owned()));
    if says("OnDelete") {
        return None;
    }
    let rolling = strategy.and_then(|strategy| strategy.get("rollingUpdate")).filter(|rolling| !rolling.is_null());
    let mut limit = |key: &str, default: Share| match rolling {
        Some(rolling) => loading.value(rolling, key, ("Kubernetes", default), share),
        None => Fact::default_of("Kubernetes", key, default, Some(spec.anchor())),
    };
    let (unavailable, surge) = match kind {
        "Deployment" => (limit("maxUnavailable", DEPLOYMENT_SHARE), limit("maxSurge", DEPLOYMENT_SHARE)),
        _ => (limit("maxUnavailable", Share::Count(1)), limit("maxSurge", Share::Count(0))),
    };
    let recreate = says("Recreate");
    let limits = Limits { unavailable, surge };
    let rollout = Rollout {
        least_percent: limits.least(&replicas),
        most_percent: limits.most(&replicas),
        recreate: kind_of.filter(|_| recreate).map(|kind| Fact { name: "strategy.type".to_owned(), ..kind }),
        deadline: (kind == "Deployment")
            .then(|| loading.value(spec, "progressDeadlineSeconds", ("Kubernetes", DEADLINE), seconds)),
        settle: loading.optional(spec, "minReadySeconds", seconds),
        check_grace: None,
        replicas,
    };
    Some((rollout, limits))
}

fn share(node: &Node) -> Result<Share, String> {
    let text = text(node)?;
    let (digits, is_percent) = text.strip_suffix('%').map_or((text.as_str(), false), |digits| (digits, true));
    let number = digits.parse().map_err(|_| format!("a number or a percentage is wanted here, not {}", node.described()))?;
    Ok(if is_percent { Share::Percent(number) } else { Share::Count(number) })
}
