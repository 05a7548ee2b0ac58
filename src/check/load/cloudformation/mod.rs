//! `CloudFormation` templates, in JSON and YAML: their resources are those of the API in other clothes.
//!
//! [`functions`] first puts in what the template itself knows (parameters with a default, mappings,
//! conditions, resources that name each other) and marks the rest; then the loaders of the API's own
//! formats read the properties.

mod functions;

use super::rewrite::scalar;
use super::{Format, Loading, Reading, attributes, cloud_map, ecs_service, ecs_task, target_group};
use crate::check::model::{Balancer, GroupAttributes};
use crate::check::source::Place;
use crate::check::tree::{Entry, Kind, Node};
use functions::Template;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format { name: "CloudFormation template", read: Reading::Tree { is, load } };

/// What is read of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    TaskDefinition,
    Service,
    TargetGroup,
    LoadBalancer,
    Discovery,
}

/// A resource: its name in the template, where that stands, and its properties with everything put in that is known.
struct Resource<'a> {
    id: &'a str,
    /// The name by which other resources refer to it: the same name may stand in another template.
    reference: String,
    place: Place,
    properties: Node,
}

fn is(node: &Node) -> bool {
    let is_resource = |entry: &&Entry| entry.value.get("Type").and_then(|of| of.text()).is_some_and(|of| of.contains("::"));
    node.get("AWSTemplateFormatVersion").is_some()
        || node.get("Resources").is_some_and(|resources| resources.all_entries().iter().any(is_resource))
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    let Some(resources) = node.get("Resources").filter(|resources| matches!(resources.kind, Kind::Map(_))) else {
        loading.wrong.push((node.anchor(), "a template without Resources".to_owned()));
        return;
    };
    let mut template = Template::new(node, resources, loading.name);
    for entry in resources.all_entries() {
        let Some(of) = Type::of(&entry.value) else {
            loading.passed_over.extend(hidden(entry));
            continue;
        };
        if let Some(name) = entry.value.get("Condition").and_then(|name| name.text())
            && template.condition(name) == Some(false)
        {
            loading.passed_over.push(format!("a resource whose Condition {name} does not hold with the written defaults"));
            continue;
        }
        let properties = entry.value.get("Properties").and_then(|properties| template.resolve(properties));
        loading.origins.extend(template.origins.drain());
        let kind = match properties.map(Rc::try_unwrap) {
            Some(Ok(Node { kind: kind @ Kind::Map(_), .. })) => kind,
            None => Kind::Map(Vec::new()),
            Some(_) => {
                let message = format!("{}: Properties has to be a map", entry.key);
                loading.wrong.push((entry.key_place, message));
                continue;
            }
        };
        let resource = Resource {
            id: &entry.key,
            reference: template.reference_to(&entry.key),
            place: entry.key_place,
            properties: Node { place: entry.key_place, kind, tag: String::new() },
        };
        add(of, resource, loading);
    }
    if template.is_exhausted() {
        let message = "from here on nothing is read: what its aliases and functions come to is too much".to_owned();
        loading.wrong.push((resources.anchor(), message));
    }
}

/// What may hold resources of the types that are read, and is not looked into.
fn hidden(entry: &Entry) -> Option<String> {
    match entry.value.get("Type").and_then(|of| of.text()) {
        Some("AWS::CloudFormation::Stack") => Some("a nested stack: give its template too".to_owned()),
        None if entry.key.starts_with("Fn::") => Some(format!("resources made by {}", entry.key)),
        _ => None,
    }
}

fn add(of: Type, mut resource: Resource<'_>, loading: &mut Loading<'_>) {
    match of {
        Type::TaskDefinition => {
            resource.name("Family");
            let open = resource.properties.get("ContainerDefinitions").and_then(|list| match &list.kind {
                Kind::Unresolved(what) => Some((what.clone(), list.place)),
                _ => None,
            });
            let mut workload = ecs_task::workload(&resource.properties, loading);
            if let Some((what, place)) = open {
                workload.containers.push(ecs_task::unknown_container(workload.platform, "ContainerDefinitions", &what, place));
            }
            workload.references.extend([resource.reference, resource.id.to_owned()]);
            workload.place = resource.place;
            loading.model.workloads.push(workload);
        }
        Type::Service => {
            resource.name("ServiceName");
            let mut service = ecs_service::service(&resource.properties, loading);
            service.place = resource.place;
            loading.model.services.push(service);
        }
        Type::TargetGroup => {
            resource.name("Name");
            resource.rename("Name", "TargetGroupName");
            let mut group = target_group::group(&resource.properties, loading);
            let attributes = match resource.properties.get("TargetGroupAttributes") {
                Some(list) => attributes::group(list, loading),
                None => GroupAttributes { place: resource.place, deregistration: None, cuts_unhealthy: None },
            };
            attributes.apply(&mut group);
            group.references.extend([resource.reference, resource.id.to_owned()]);
            group.place = resource.place;
            loading.model.groups.push(group);
        }
        Type::LoadBalancer => {
            let kind = resource.properties.get("Type").and_then(|kind| kind.text()).unwrap_or("application");
            if kind != "application" {
                return;
            }
            let balancer = match resource.properties.get("LoadBalancerAttributes") {
                Some(list) => attributes::balancer(list, loading),
                None => Balancer { place: resource.place, idle: attributes::default_idle(resource.place) },
            };
            loading.model.balancers.push(balancer);
        }
        Type::Discovery => {
            resource.name("Name");
            let Some(mut discovery) = cloud_map::discovery(&resource.properties, loading) else { return };
            discovery.references.extend([resource.reference, resource.id.to_owned()]);
            loading.model.discoveries.push(discovery);
        }
    }
}

// === impl Type ===

impl Type {
    /// The type of a resource, if it is one that is read.
    fn of(resource: &Node) -> Option<Self> {
        match resource.get("Type")?.text()? {
            "AWS::ECS::TaskDefinition" => Some(Self::TaskDefinition),
            "AWS::ECS::Service" => Some(Self::Service),
            "AWS::ElasticLoadBalancingV2::TargetGroup" => Some(Self::TargetGroup),
            "AWS::ElasticLoadBalancingV2::LoadBalancer" => Some(Self::LoadBalancer),
            "AWS::ServiceDiscovery::Service" => Some(Self::Discovery),
            _ => None,
        }
    }
}

// === impl Resource ===

impl Resource<'_> {
    /// Gives it its name in the template when it has no other, or none that is known yet.
    fn name(&mut self, key: &str) {
        let known = self.properties.get(key).is_some_and(|name| name.text().is_some());
        if let Kind::Map(entries) = &mut self.properties.kind
            && !known
        {
            entries.retain(|entry| entry.key != key);
            entries.push(Entry { key: key.to_owned(), key_place: self.place, value: scalar(self.id, self.place) });
        }
    }

    /// The API has another name for this property.
    fn rename(&mut self, from: &str, to: &str) {
        if let Kind::Map(entries) = &mut self.properties.kind {
            entries.iter_mut().filter(|entry| entry.key == from).for_each(|entry| to.clone_into(&mut entry.key));
        }
    }
}
