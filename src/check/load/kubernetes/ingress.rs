//! Ingresses of the AWS load balancer controller: each Service behind one becomes a target group. Those of
//! other controllers send to the pods of a Service as everybody does, and say nothing more.

use super::{Object, annotation};
use crate::check::cluster::Ingress;
use crate::check::load::Loading;
use crate::check::model::Balancer;
use crate::check::tree::{Entry, Node, parse_inside};

/// Controllers that do not read what is written for that of AWS.
const OTHERS: [&str; 8] = ["nginx", "traefik", "haproxy", "gce", "kong", "contour", "istio", "cilium"];

/// The port of a Service that stands for an action of the Ingress.
const ACTION: &str = "use-annotation";

pub(super) fn load(object: &Object<'_>, loading: &mut Loading<'_>) {
    let annotations = object.node.at(&["metadata", "annotations"]);
    let entries: &[Entry] = annotations.map_or(&[], |annotations| annotations.entries());
    let old_class = annotations.and_then(|annotations| annotations.get("kubernetes.io/ingress.class"));
    let class = object.node.at(&["spec", "ingressClassName"]).or(old_class).and_then(|class| class.text());
    let meant = entries.iter().any(|entry| entry.key.starts_with(annotation::ALB.prefix));
    let is_aws = class.map_or(meant, |class| class.contains("alb") || (meant && !OTHERS.contains(&class)));
    if !is_aws {
        return;
    }
    let Some(metadata) = object.node.get("metadata") else { return };
    let attributes = format!("{}load-balancer-attributes", annotation::ALB.prefix);
    if let Some(idle) = annotation::attribute(metadata, &attributes, IDLE, loading, annotation::seconds) {
        let place = idle.place.unwrap_or(metadata.place);
        loading.model.balancers.push(Balancer { place, idle });
    }
    let mut backends = Vec::new();
    if let Some(spec) = object.node.get("spec") {
        let rules = spec.get("rules").map_or(&[] as &[_], |rules| rules.items());
        let paths = rules.iter().filter_map(|rule| rule.at(&["http", "paths"])).flat_map(|paths| paths.items());
        let of_rules = paths.filter_map(|path| path.get("backend"));
        for node in spec.get("defaultBackend").or_else(|| spec.get("backend")).into_iter().chain(of_rules) {
            backends.extend(backend(node, metadata));
        }
    }
    // The same Service behind many paths is one target group.
    let mut once: Vec<(String, Option<String>)> = Vec::new();
    for backend in backends {
        if !once.contains(&backend) {
            once.push(backend);
        }
    }
    let annotated = annotation::group(object.node, &annotation::ALB, loading);
    loading.model.cluster.ingresses.push(Ingress {
        name: object.name.clone(),
        namespace: object.namespace.clone(),
        backends: once,
        annotated,
    });
}

const IDLE: &str = "idle_timeout.timeout_seconds";

/// The Services that a backend stands for: one, or those of an action that forwards.
fn backend(node: &Node, metadata: &Node) -> Vec<(String, Option<String>)> {
    let text = |node: Option<&std::rc::Rc<Node>>| node.and_then(|node| node.text()).map(str::to_owned);
    let service = node.get("service");
    let Some(name) = service.map_or_else(|| text(node.get("serviceName")), |service| text(service.get("name"))) else {
        return Vec::new();
    };
    let port = match service.and_then(|service| service.get("port")) {
        Some(port) => text(port.get("number").or_else(|| port.get("name"))),
        None => text(node.get("servicePort")),
    };
    if port.as_deref() != Some(ACTION) {
        return vec![(name, port)];
    }
    let key = format!("{}actions.{name}", annotation::ALB.prefix);
    let action = metadata.get("annotations").and_then(|annotations| annotations.get(&key));
    let parsed = action.and_then(|action| Some((action.place, action.text()?)));
    let documents = parsed.and_then(|(place, text)| parse_inside(place, text).ok()).unwrap_or_default();
    let Some(action) = documents.first() else { return Vec::new() };
    let groups = action.at(&["forwardConfig", "targetGroups"]).map_or(&[] as &[_], |groups| groups.items());
    let named = groups.iter().filter_map(|group| Some((text(group.get("serviceName"))?, text(group.get("servicePort")))));
    named.collect()
}
