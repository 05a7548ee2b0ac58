//! How the pods of an object are replaced.

use crate::check::fact::{Fact, Origin};
use crate::check::load::{Loading, seconds, text};
use crate::check::model::Rollout;
use crate::check::tree::Node;
use std::time::Duration;

/// What Kubernetes takes when nothing is written.
const DEADLINE: Duration = Duration::from_secs(600);
const DEPLOYMENT_SHARE: Share = Share::Percent(25);

/// So many of the pods: `25%` or `1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Percent(u64),
    Count(u64),
}

/// The rollout of that kind of object; of what nothing replaces there is none.
pub(super) fn read(kind: &str, spec: &Node, loading: &mut Loading<'_>) -> Option<Rollout> {
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
    Some(Rollout {
        least_percent: percent("available %", &unavailable, &replicas, u64::saturating_sub),
        most_percent: percent("running %", &surge, &replicas, u64::saturating_add),
        recreate: kind_of.filter(|_| recreate).map(|kind| Fact { name: "strategy.type".to_owned(), ..kind }),
        deadline: (kind == "Deployment")
            .then(|| loading.value(spec, "progressDeadlineSeconds", ("Kubernetes", DEADLINE), seconds)),
        settle: loading.optional(spec, "minReadySeconds", seconds),
        check_grace: None,
        replicas,
    })
}

fn share(node: &Node) -> Result<Share, String> {
    let text = text(node)?;
    let (digits, is_percent) = text.strip_suffix('%').map_or((text.as_str(), false), |digits| (digits, true));
    let number = digits.parse().map_err(|_| format!("a number or a percentage is wanted here, not {}", node.described()))?;
    Ok(if is_percent { Share::Percent(number) } else { Share::Count(number) })
}

/// A limit as a percentage of all: `with` says how it counts, below them or on top.
fn percent(name: &str, limit: &Fact<Share>, replicas: &Fact<u64>, with: impl Fn(u64, u64) -> u64) -> Fact<u64> {
    let value = limit.value.clone().and_then(|share| match share {
        Share::Percent(percent) => Ok(with(100, percent)),
        Share::Count(0) => Ok(100),
        Share::Count(count) => {
            let all = replicas.value.clone()?;
            // Rounded up: one of a thousand is more than none.
            Ok(with(all, count).saturating_mul(100).div_ceil(all.max(1)))
        }
    });
    let shown = match limit.known() {
        Some(Share::Percent(percent)) => format!("{} {percent}%", limit.name),
        Some(Share::Count(count)) => format!("{} {count}", limit.name),
        None => limit.name.clone(),
    };
    let whose = if limit.is_written() { "" } else { ", the default of Kubernetes" };
    Fact { name: name.to_owned(), value, place: limit.place, origin: Origin::Derived(format!("{shown}{whose}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_become_percentages_of_all() {
        let least = |share, all| {
            let (limit, replicas) = (Fact::set("maxUnavailable", share), Fact::set("replicas", all));
            percent("least", &limit, &replicas, u64::saturating_sub).value
        };
        assert_eq!(least(Share::Percent(25), 4), Ok(75));
        assert_eq!(least(Share::Percent(100), 4), Ok(0));
        assert_eq!(least(Share::Count(1), 1), Ok(0));
        assert_eq!(least(Share::Count(1), 3), Ok(67));
        assert_eq!(least(Share::Count(999), 1000), Ok(1), "one is left");
        assert_eq!(least(Share::Count(5), 3), Ok(0));
        assert_eq!(least(Share::Count(0), 0), Ok(100));
    }
}
