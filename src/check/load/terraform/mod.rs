//! What `terraform show -json` prints of a plan or a state, and `tofu show -json` too: resources in the words of
//! the AWS provider, put into those of the API before the loaders of the API's formats read them.
//!
//! A plan knows many names only after it was applied: which resource names which then stands in its
//! `configuration`, and [`configuration`] follows it.

mod configuration;
mod resource;

use super::rewrite::{self, map};
use super::{Format, Loading, Reading, attributes, cloud_map, ecs_service, ecs_task, seconds, target_group};
use crate::check::fact::Fact;
use crate::check::model::{Balancer, GroupAttributes};
use crate::check::source::Place;
use crate::check::tree::{Kind, Node, parse_inside_of};
use configuration::Configuration;
use resource::Resource;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format { name: "terraform show -json", read: Reading::Tree { is, load } };

fn is(node: &Node) -> bool {
    is_raw_state(node)
        || (node.get("format_version").is_some()
            && ["values", "planned_values", "terraform_version"].iter().any(|key| node.get(key).is_some()))
}

/// What the provider calls the fields of the API.
const SPELLINGS: &[(&str, &str)] = &[
    ("taskDefinition", "task_definition"),
    ("pidMode", "pid_mode"),
    ("launchType", "launch_type"),
    ("capacityProvider", "capacity_provider"),
    ("desiredCount", "desired_count"),
    ("minimumHealthyPercent", "deployment_minimum_healthy_percent"),
    ("maximumPercent", "deployment_maximum_percent"),
    ("healthCheckGracePeriodSeconds", "health_check_grace_period_seconds"),
    ("targetGroupArn", "target_group_arn"),
    ("registryArn", "registry_arn"),
    ("Protocol", "protocol"),
    ("TargetType", "target_type"),
    ("HealthCheckIntervalSeconds", "health_check.interval"),
    ("HealthCheckTimeoutSeconds", "health_check.timeout"),
    ("UnhealthyThresholdCount", "health_check.unhealthy_threshold"),
    ("HealthyThresholdCount", "health_check.healthy_threshold"),
    ("HealthCheckPath", "health_check.path"),
    ("HealthCheckPort", "health_check.port"),
    ("HealthCheckProtocol", "health_check.protocol"),
    ("HttpCode", "health_check.matcher"),
    ("Matcher", "health_check.matcher"),
    ("deregistration_delay.timeout_seconds", "deregistration_delay"),
    ("target_health_state.unhealthy.connection_termination.enabled", "enable_unhealthy_connection_termination"),
    ("idle_timeout.timeout_seconds", "idle_timeout"),
    ("TTL", "ttl"),
];

/// The file `terraform.tfstate` itself, whose form is nobody's business but Terraform's.
fn is_raw_state(node: &Node) -> bool {
    node.get("lineage").is_some() && node.get("terraform_version").is_some()
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    if is_raw_state(node) {
        let message = "this is the state as Terraform keeps it: give what `terraform show -json` prints".to_owned();
        loading.wrong.push((node.anchor(), message));
        return;
    }
    let Some(root) = ["planned_values", "values"].iter().find_map(|key| node.get(key)?.get("root_module")) else {
        let message = "no planned_values and no values: the plan failed, or the state is empty".to_owned();
        loading.wrong.push((node.anchor(), message));
        return;
    };
    loading.spellings = SPELLINGS;
    let resources = resource::all(root, node);
    let configuration = Configuration::new(node, &resources);
    let mut left = rewrite::MOST;
    for resource in &resources {
        if !rewrite::within(&resource.values, &mut left) {
            let message = "from here on nothing is read: what its aliases come to is too much".to_owned();
            loading.wrong.push((resource.place, message));
            break;
        }
        match resource.of {
            "aws_ecs_task_definition" => task(resource, &mut left, loading),
            "aws_ecs_service" => service(resource, &configuration, loading),
            "aws_lb_target_group" | "aws_alb_target_group" => group(resource, &configuration, loading),
            "aws_lb" | "aws_alb" => balancer(resource, loading),
            "aws_service_discovery_service" => discovery(resource, loading),
            _ => {}
        }
    }
    loading.spellings = &[];
}

fn task(resource: &Resource<'_>, left: &mut usize, loading: &mut Loading<'_>) {
    const CONTAINERS: &str = "container_definitions";
    let mut open = None;
    let mut definitions = None;
    if let Some(written) = resource.value(CONTAINERS) {
        if let Kind::Unresolved(what) = &written.kind {
            open = Some((what.clone(), written.place));
        } else {
            match inside(written, left, loading.text) {
                Ok(list) => definitions = Some(list),
                Err((place, why)) => loading.wrong.push((place, format!("{CONTAINERS}: {why}"))),
            }
        }
    }
    let node = resource.renamed(&[
        ("family", "family"),
        ("arn", "taskDefinitionArn"),
        ("requires_compatibilities", "requiresCompatibilities"),
        ("pid_mode", "pidMode"),
    ]);
    let node = with(&node, definitions.map(|list| ("containerDefinitions", list)));
    let mut workload = ecs_task::workload(&node, loading);
    if let Some((what, place)) = open {
        workload.containers.push(ecs_task::unknown_container(workload.platform, CONTAINERS, &what, place));
    }
    workload.references.extend(resource::names(resource, loading.name));
    workload.place = resource.place;
    loading.model.workloads.push(workload);
}

/// The list that stands as JSON in a text; else where that is wrong, and what.
fn inside(written: &Node, left: &mut usize, file_text: &str) -> Result<Rc<Node>, (Place, String)> {
    let wanted = || (written.place, "a list of container definitions in JSON is wanted here".to_owned());
    let documents = parse_inside_of(written.place, written.text().ok_or_else(wanted)?, file_text)
        .map_err(|wrong| (Place { start: wrong.at, ..written.place }, wrong.message))?;
    let list = documents.into_iter().next().filter(|list| matches!(list.kind, Kind::List(_))).ok_or_else(wanted)?;
    if rewrite::within(&list, left) { Ok(list) } else { Err((list.place, "what its aliases come to is too much".to_owned())) }
}

fn service(resource: &Resource<'_>, configuration: &Configuration<'_>, loading: &mut Loading<'_>) {
    let resource = &resource.without_computed(&|key| configuration.is_set(resource, &[key]));
    let file = loading.name;
    let is_open = |value: &Rc<Node>| matches!(value.kind, Kind::Unresolved(_));
    let list = |block: &'static str, names: &[(&'static str, &'static str)], (from, to): (&str, &'static str)| {
        let blocks = resource.blocks(block);
        let items = blocks.iter().enumerate().map(|(at, item)| {
            let value = item.value(from).map(|value| {
                let follow = || configuration.block_refers_to(resource, (block, at), from, file, value.place);
                Some(value).filter(|value| is_open(value)).and_then(|_| follow()).unwrap_or_else(|| Rc::clone(value))
            });
            with(&item.renamed(names), value.map(|node| (to, node)))
        });
        let kind = Kind::List(items.collect());
        Rc::new(Node { place: resource.place, kind, tag: String::new() })
    };
    let definition = resource.value("task_definition").map(|value| {
        let follow = || configuration.refers_to(resource, "task_definition", file, value.place);
        Some(value).filter(|value| is_open(value)).and_then(|_| follow()).unwrap_or_else(|| Rc::clone(value))
    });
    let container = [("container_name", "containerName"), ("container_port", "containerPort")];
    let node = resource.renamed(&[
        ("name", "serviceName"),
        ("desired_count", "desiredCount"),
        ("launch_type", "launchType"),
        ("health_check_grace_period_seconds", "healthCheckGracePeriodSeconds"),
    ]);
    let rollout = resource.renamed(&[
        ("deployment_minimum_healthy_percent", "minimumHealthyPercent"),
        ("deployment_maximum_percent", "maximumPercent"),
    ]);
    let providers = resource.blocks("capacity_provider_strategy");
    let providers = providers.iter().map(|item| item.renamed(&[("capacity_provider", "capacityProvider")])).collect();
    let providers = Rc::new(Node { place: resource.place, kind: Kind::List(providers), tag: String::new() });
    let connect = resource.blocks("service_connect_configuration").first().map(|block| block.renamed(&[("enabled", "enabled")]));
    let linked = [
        definition.map(|node| ("taskDefinition", node)),
        Some(("loadBalancers", list("load_balancer", &container, ("target_group_arn", "targetGroupArn")))),
        Some(("serviceRegistries", list("service_registries", &container[..1], ("registry_arn", "registryArn")))),
        Some(("capacityProviderStrategy", providers)),
        Some(("deploymentConfiguration", rollout)),
        connect.map(|node| ("serviceConnectConfiguration", node)),
    ];
    let mut service = ecs_service::service(&with(&node, linked.into_iter().flatten()), loading);
    if resource.value("name").is_none_or(|name| name.text().is_none()) {
        resource.address.clone_into(&mut service.name);
    }
    service.place = resource.place;
    loading.model.services.push(service);
}

fn group(resource: &Resource<'_>, configuration: &Configuration<'_>, loading: &mut Loading<'_>) {
    let own = |path: &[&str]| configuration.is_set(resource, path);
    let resource = &resource.without_computed(&|key| own(&[key]));
    let node = resource.renamed(&[
        ("name", "TargetGroupName"),
        ("arn", "TargetGroupArn"),
        ("protocol", "Protocol"),
        ("target_type", "TargetType"),
        ("load_balancer_arns", "LoadBalancerArns"),
    ]);
    let checks = resource.blocks("health_check");
    let check = checks.first().map(|check| {
        let check = check.without_computed(&|key| own(&["health_check", key]));
        let matcher = check.value("matcher").map(|codes| ("Matcher", map(codes.place, [("HttpCode", Rc::clone(codes))])));
        with(
            &check.renamed(&[
                ("interval", "HealthCheckIntervalSeconds"),
                ("timeout", "HealthCheckTimeoutSeconds"),
                ("unhealthy_threshold", "UnhealthyThresholdCount"),
                ("healthy_threshold", "HealthyThresholdCount"),
                ("path", "HealthCheckPath"),
                ("port", "HealthCheckPort"),
                ("protocol", "HealthCheckProtocol"),
            ]),
            matcher,
        )
    });
    let inside = check.iter().flat_map(|check| check.entries()).map(|entry| (entry.key.as_str(), Rc::clone(&entry.value)));
    let mut group = target_group::group(&with(&node, inside), loading);
    let health = resource.blocks("target_health_state");
    let cuts = health.first().map(|state| (&state.values, "enable_unhealthy_connection_termination"));
    let attributes = GroupAttributes {
        place: resource.place,
        // The provider keeps this number as a text.
        deregistration: resource.value("deregistration_delay").map(|node| {
            let node = rewrite::unquoted(node);
            loading.fact(&node, "deregistration_delay", seconds)
        }),
        cuts_unhealthy: cuts.and_then(|(state, key)| loading.optional(state, key, Node::boolean)),
    };
    attributes.apply(&mut group);
    group.references.extend(resource::names(resource, loading.name));
    if resource.value("name").is_none_or(|name| name.text().is_none()) {
        resource.address.clone_into(&mut group.name);
    }
    group.place = resource.place;
    loading.model.groups.push(group);
}

fn balancer(resource: &Resource<'_>, loading: &mut Loading<'_>) {
    let kind = resource.value("load_balancer_type").and_then(|kind| kind.text()).unwrap_or("application");
    if kind == "application" {
        let idle = loading.optional(&resource.values, "idle_timeout", seconds);
        let idle = idle.unwrap_or_else(|| Fact {
            name: "idle_timeout".to_owned(),
            ..attributes::default_idle(resource.place)
        });
        loading.model.balancers.push(Balancer { place: resource.place, idle });
    }
}

fn discovery(resource: &Resource<'_>, loading: &mut Loading<'_>) {
    let dns = resource.blocks("dns_config").first().map(|dns| {
        let records = dns.blocks("dns_records").iter().map(|record| record.renamed(&[("ttl", "TTL")])).collect();
        let records = Rc::new(Node { place: resource.place, kind: Kind::List(records), tag: String::new() });
        ("dnsConfig", map(resource.place, [("dnsRecords", records)]))
    });
    let node = with(&resource.renamed(&[("name", "name"), ("arn", "arn"), ("id", "id")]), dns);
    let Some(mut discovery) = cloud_map::discovery(&node, loading) else { return };
    discovery.references.extend(resource::names(resource, loading.name));
    loading.model.discoveries.push(discovery);
}

/// A map with more in it.
fn with<'a>(node: &'a Node, more: impl IntoIterator<Item = (&'a str, Rc<Node>)>) -> Rc<Node> {
    let known = node.entries().iter().map(|entry| (entry.key.as_str(), Rc::clone(&entry.value)));
    map(node.place, known.chain(more))
}
