//! Annotations: texts that hold numbers, maps and more. Those of the AWS load balancer controller are read
//! here, for they are the same for a Service and an Ingress but for the names.

use super::strictly_text;
use crate::check::cluster::Annotated;
use crate::check::fact::Fact;
use crate::check::load::Loading;
use crate::check::model::GroupAttributes;
use crate::check::tree::Node;
use std::time::Duration;

/// What a controller calls its annotations.
pub(super) struct Names {
    pub(super) prefix: &'static str,
    pub(super) interval: &'static str,
    pub(super) timeout: &'static str,
    pub(super) failures: &'static str,
    pub(super) successes: &'static str,
    pub(super) target_type: &'static str,
}

/// On an Ingress, and on the Services behind it.
pub(super) const ALB: Names = Names {
    prefix: "alb.ingress.kubernetes.io/",
    interval: "healthcheck-interval-seconds",
    timeout: "healthcheck-timeout-seconds",
    failures: "unhealthy-threshold-count",
    successes: "healthy-threshold-count",
    target_type: "target-type",
};

/// On a Service that has a balancer of its own.
pub(super) const NLB: Names = Names {
    prefix: "service.beta.kubernetes.io/aws-load-balancer-",
    interval: "healthcheck-interval",
    timeout: "healthcheck-timeout",
    failures: "healthcheck-unhealthy-threshold",
    successes: "healthcheck-healthy-threshold",
    target_type: "nlb-target-type",
};

/// The value of an annotation in the metadata of an object or a pod.
pub(super) fn read<T>(
    metadata: &Node,
    key: &str,
    loading: &mut Loading<'_>,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Option<Fact<T>> {
    let node = metadata.get("annotations")?.get(key)?;
    let short = key.rsplit_once('/').map_or(key, |(_, name)| name);
    Some(loading.fact(node, short, |node| read(&strictly_text(node)?)))
}

/// All that the annotations of these names say about a target group.
pub(super) fn group(object: &Node, names: &Names, loading: &mut Loading<'_>) -> Annotated {
    let mut annotated = Annotated::none(object.get("metadata").map_or(object.place, |metadata| metadata.anchor()));
    let Some(metadata) = object.get("metadata") else { return annotated };
    let key = |name: &str| format!("{}{name}", names.prefix);
    annotated.interval = read(metadata, &key(names.interval), loading, seconds);
    annotated.timeout = read(metadata, &key(names.timeout), loading, seconds);
    annotated.failures = read(metadata, &key(names.failures), loading, number);
    annotated.successes = read(metadata, &key(names.successes), loading, number);
    annotated.path = read(metadata, &key("healthcheck-path"), loading, |text| Ok(text.to_owned()));
    annotated.port = read(metadata, &key("healthcheck-port"), loading, |text| Ok(text.to_owned()));
    annotated.protocol = read(metadata, &key("healthcheck-protocol"), loading, |text| Ok(text.to_owned()));
    annotated.matcher = read(metadata, &key("success-codes"), loading, |text| Ok(text.to_owned()))
        .or_else(|| read(metadata, &key("healthcheck-success-codes"), loading, |text| Ok(text.to_owned())));
    annotated.by_address = read(metadata, &key(names.target_type), loading, |text| Ok(text == "ip"))
        .map(|fact| Fact { name: format!("{}: ip", fact.name), ..fact });
    let attributes = key("target-group-attributes");
    if let Some(node) = metadata.get("annotations").and_then(|annotations| annotations.get(&attributes)) {
        annotated.attributes = Some(GroupAttributes {
            place: node.place,
            deregistration: attribute(metadata, &attributes, DEREGISTRATION, loading, seconds),
            cuts_unhealthy: attribute(metadata, &attributes, CUTS, loading, |text| {
                text.parse().map_err(|_| format!("true or false is wanted here, not {text:?}"))
            }),
        });
    }
    annotated
}

const DEREGISTRATION: &str = "deregistration_delay.timeout_seconds";
const CUTS: &str = "target_health_state.unhealthy.connection_termination.enabled";

/// One of the values of an annotation that holds a map: `a=1,b=2`.
pub(super) fn attribute<T>(
    metadata: &Node,
    annotation: &str,
    key: &str,
    loading: &mut Loading<'_>,
    read_value: impl Fn(&str) -> Result<T, String>,
) -> Option<Fact<T>> {
    let find = |text: &str| {
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(found, _)| found.trim() == key).map(|(_, value)| read_value(value.trim()));
        found.next().transpose()
    };
    let found = read(metadata, annotation, loading, find)?;
    let value = found.value.transpose()?;
    Some(Fact { name: key.to_owned(), value, place: found.place, origin: found.origin })
}

/// A number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u32 = text.parse().map_err(|_| format!("a number of seconds is wanted here, not {text:?}"))?;
    Ok(Duration::from_secs(seconds.into()))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a whole number is wanted here, not {text:?}"))
}
