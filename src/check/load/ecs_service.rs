//! ECS services: what `describe-services` prints, and the input of `create-service`.

use super::{Format, Loading, Reading, seconds, text};
use crate::check::fact::Fact;
use crate::check::model::{By, Rollout, Route, Service};
use crate::check::tree::{Kind, Node};
use std::rc::Rc;

pub(super) const FORMAT: Format = Format { name: "ECS service", read: Reading::Tree { is, load } };

fn is(node: &Node) -> bool {
    list(node).is_some() || one(node)
}

/// `{"services": [..]}`; Compose has a map there.
fn list(node: &Node) -> Option<&Rc<Node>> {
    node.field("services").filter(|list| matches!(list.kind, Kind::List(_)))
}

fn one(node: &Node) -> bool {
    node.field("serviceName").is_some() && node.field("taskDefinition").is_some()
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    let one = std::slice::from_ref(node);
    for node in list(node).map_or(one, |list| list.items()) {
        let service = service(node, loading);
        loading.model.services.push(service);
    }
}

/// One service, in the spelling of the API or of `CloudFormation`.
pub(super) fn service(node: &Node, loading: &mut Loading<'_>) -> Service {
    let name = node.field("serviceName").and_then(|name| name.text()).unwrap_or("service").to_owned();
    let providers = items(says(node, "capacityProviderStrategy"), "capacityProviderStrategy");
    let providers: Vec<Fact<String>> =
        providers.iter().filter(|item| used(item)).filter_map(|item| loading.optional(item, "capacityProvider", text)).collect();
    let launch = loading.optional(says(node, "launchType"), "launchType", text);
    let fargate = launch.iter().chain(&providers).find(|fact| fact.value.is_ok()).cloned();
    let spot = providers.iter().find(|provider| provider.is(&"FARGATE_SPOT".to_owned())).cloned();
    Service {
        workload: loading.optional(says(node, "taskDefinition"), "taskDefinition", text),
        rollout: rollout(node, loading),
        targets: targets(node, loading),
        fargate: fargate.map(|fact| fact.map(|name| name.starts_with("FARGATE"))),
        spot: spot.map_or_else(
            || Fact::default_of("ECS", "on Spot", false, Some(node.anchor())),
            |spot| Fact { name: "on Spot".to_owned(), ..spot.map(|_| true) },
        ),
        name,
        place: node.anchor(),
    }
}

/// Where a service says that: itself, or in the task set that serves, where something else than ECS deploys it
/// (`CodeDeploy`).
fn says<'a>(node: &'a Node, key: &str) -> &'a Node {
    let is_said = |node: &Node| node.field(key).is_some_and(|said| !said.is_null() && !is_empty(said));
    let serves = |set: &&Rc<Node>| set.field("status").and_then(|status| status.text()) == Some("PRIMARY");
    match items(node, "taskSets").iter().find(serves) {
        Some(set) if !is_said(node) => set,
        _ => node,
    }
}

fn is_empty(node: &Node) -> bool {
    matches!(&node.kind, Kind::List(items) if items.is_empty())
}

/// Whether any task may come to a capacity provider: one of no weight gets none.
fn used(provider: &Node) -> bool {
    let number = |key: &str| provider.field(key).map(|number| number.number());
    let none = |key: &str| matches!(number(key), Some(Ok(0)));
    !none("weight") || !(number("base").is_none() || none("base"))
}

fn rollout(node: &Node, loading: &mut Loading<'_>) -> Rollout {
    let nothing = Rc::new(Node { place: node.anchor(), kind: Kind::Map(Vec::new()), tag: String::new() });
    let configuration = node.field("deploymentConfiguration").unwrap_or(&nothing);
    Rollout {
        replicas: loading.value(node, "desiredCount", ("ECS", 1), Node::number),
        least_percent: loading.value(configuration, "minimumHealthyPercent", ("ECS", 100), Node::number),
        most_percent: loading.value(configuration, "maximumPercent", ("ECS", 200), Node::number),
        recreate: None,
        deadline: None,
        settle: None,
        check_grace: loading.optional(node, "healthCheckGracePeriodSeconds", seconds),
    }
}

fn targets(node: &Node, loading: &mut Loading<'_>) -> Vec<(Fact<String>, Route)> {
    let mut targets = Vec::new();
    for balancer in items(says(node, "loadBalancers"), "loadBalancers") {
        // A classic load balancer has a name instead, and no target group to look at.
        let Some(group) = loading.optional(balancer, "targetGroupArn", text) else { continue };
        let route = Route {
            by: By::Group(Err("its target group is in no file".to_owned())),
            place: group.place,
            container: balancer.field("containerName").and_then(|name| name.text()).map(str::to_owned),
            port: loading.optional(balancer, "containerPort", Node::number),
        };
        targets.push((group, route));
    }
    for registry in items(says(node, "serviceRegistries"), "serviceRegistries") {
        let Some(arn) = loading.optional(registry, "registryArn", text) else { continue };
        let by = By::Dns(Err(format!("the DNS TTL of {name}: give `aws servicediscovery get-service`, or --set dns-ttl=…",
            name = arn.known().map_or("its registry", |arn| short(arn)))));
        let container = registry.field("containerName").and_then(|name| name.text()).map(str::to_owned);
        targets.push((arn.clone(), Route { by, place: arn.place, container, port: None }));
    }
    // In what `describe-services` prints it stands with each deployment.
    let deployments = items(node, "deployments");
    let places = std::iter::once(node).chain(deployments.iter().map(Rc::as_ref));
    let connect: Vec<&Rc<Node>> = places.filter_map(|node| node.field("serviceConnectConfiguration")).collect();
    for configuration in connect.into_iter().take(1) {
        let Some(enabled) = loading.optional(configuration, "enabled", Node::boolean) else { continue };
        let enabled = Fact { name: "serviceConnectConfiguration.enabled".to_owned(), ..enabled };
        if !enabled.is(&false) {
            let reference = Fact::written("serviceConnectConfiguration", String::new(), configuration.place);
            let place = enabled.place;
            targets.push((reference, Route { by: By::ServiceConnect(enabled), place, container: None, port: None }));
        }
    }
    targets
}

/// The last part of an ARN.
fn short(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

fn items<'a>(node: &'a Node, key: &str) -> &'a [Rc<Node>] {
    node.field(key).map_or(&[], |list| list.items())
}
