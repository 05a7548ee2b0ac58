//! Target groups: what `describe-target-groups` prints.

use super::{Format, Loading, Reading, seconds, text};
use crate::check::fact::Fact;
use crate::check::model::{Asks, BalancerKind, Probe, TargetGroup};
use crate::check::tree::{Kind, Node};
use std::rc::Rc;
use std::time::Duration;

pub(super) const FORMAT: Format = Format { name: "target groups", read: Reading::Tree { is, load } };

/// How reports call what `TargetType` comes to.
const BY_ADDRESS: &str = "targets by address";

fn is(node: &Node) -> bool {
    node.field("targetGroups").is_some_and(|list| matches!(list.kind, Kind::List(_)))
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    for node in node.field("targetGroups").map_or(&[] as &[Rc<Node>], |list| list.items()) {
        let group = group(node, loading);
        loading.model.groups.push(group);
    }
}

/// One target group, in the spelling of the API or of `CloudFormation`.
pub(super) fn group(node: &Node, loading: &mut Loading<'_>) -> TargetGroup {
    let scalar = |key: &str| node.field(key).and_then(|node| node.text()).map(str::to_owned);
    let arn = scalar("targetGroupArn");
    // arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID
    let in_arn = arn.as_ref().and_then(|arn| arn.rsplit('/').nth(1)).map(str::to_owned);
    let name = scalar("targetGroupName").or(in_arn);
    let http = |protocol: &str| protocol.starts_with("HTTP");
    let protocol = loading.optional(node, "Protocol", text);
    let balancer = protocol.map_or_else(
        || Fact::unknown("Protocol", "the protocol of the target group", Some(node.anchor())),
        |fact| Fact {
            name: "balancer".to_owned(),
            ..fact.map(|name| if http(&name) { BalancerKind::Application } else { BalancerKind::Network })
        },
    );
    let by_http = scalar("HealthCheckProtocol").or_else(|| scalar("Protocol")).is_none_or(|protocol| http(&protocol));
    let port = loading.optional(node, "HealthCheckPort", |node| match text(node)?.as_str() {
        "traffic-port" => Ok(None),
        port => port.parse().map(Some).map_err(|_| format!("a port or traffic-port is wanted here, not {}", node.described())),
    });
    let port = match port {
        Some(Fact { name, value: Ok(Some(port)), place: Some(place), .. }) => Fact::written(name, port, place),
        other => Fact::unknown(loading.spelled("HealthCheckPort"), "the port of the traffic", other.map_or(Some(node.anchor()), |port| port.place)),
    };
    let path = loading.value(node, "HealthCheckPath", ("ELB", "/".to_owned()), text);
    let timeout = if by_http { 6 } else { 10 };
    TargetGroup {
        references: arn.iter().chain(&name).cloned().collect(),
        name: name.unwrap_or_else(|| "target group".to_owned()),
        place: node.anchor(),
        balancer,
        check: Probe {
            name: "health check",
            place: node.anchor(),
            interval: loading.value(node, "HealthCheckIntervalSeconds", ("ELB", Duration::from_secs(30)), seconds),
            timeout: loading.value(node, "HealthCheckTimeoutSeconds", ("ELB", Duration::from_secs(timeout)), seconds),
            failures: loading.value(node, "UnhealthyThresholdCount", ("ELB", 2), Node::number),
            asks: if by_http { Asks::Http { path, port } } else { Asks::Connect(port) },
        },
        successes: loading.value(node, "HealthyThresholdCount", ("ELB", 5), Node::number),
        matcher: matcher(node, loading),
        by_address: loading.optional(node, "TargetType", text).map_or_else(
            || Fact::default_of("ELB", BY_ADDRESS, false, Some(node.anchor())),
            |kind| Fact { name: BY_ADDRESS.to_owned(), ..kind.map(|kind| kind == "ip") },
        ),
        deregistration: Fact::unknown(
            loading.spelled("deregistration_delay.timeout_seconds"),
            "the deregistration delay: give `aws elbv2 describe-target-group-attributes`",
            Some(node.anchor()),
        ),
        cuts_unhealthy: Fact::unknown(
            loading.spelled("target_health_state.unhealthy.connection_termination.enabled"),
            "the attributes of the target group: give `aws elbv2 describe-target-group-attributes`",
            Some(node.anchor()),
        ),
        balancers: node
            .field("loadBalancerArns")
            .map_or(&[] as &[Rc<Node>], |list| list.items())
            .iter()
            .filter_map(|arn| arn.text().map(str::to_owned))
            .collect(),
    }
}

fn matcher(node: &Node, loading: &mut Loading<'_>) -> Fact<String> {
    let codes = node.field("Matcher").and_then(|matcher| loading.optional(matcher, "httpCode", text));
    codes.unwrap_or_else(|| Fact::default_of("ELB", loading.spelled("Matcher"), "200".to_owned(), Some(node.anchor())))
}
