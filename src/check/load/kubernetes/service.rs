//! Services: which pods requests go to, and whether a balancer of AWS stands in front.

use super::{Object, annotation, labels, list};
use crate::check::cluster::{Service, ServicePort};
use crate::check::fact::Fact;
use crate::check::load::{Loading, text};
use crate::check::model::KubernetesService;
use crate::check::tree::Node;

pub(super) fn load(object: &Object<'_>, loading: &mut Loading<'_>) {
    let Some(spec) = object.node.get("spec") else { return };
    let says = |key: &str| spec.get(key).and_then(|value| value.text());
    if says("type") == Some("ExternalName") {
        return;
    }
    let balancer = says("type") == Some("LoadBalancer") && is_nlb(object.node, says("loadBalancerClass"));
    let names = if balancer { annotation::NLB } else { annotation::ALB };
    let mut annotated = annotation::group(object.node, &names, loading);
    // The old word for an NLB whose targets are pods.
    if balancer && annotated.by_address.is_none() {
        let kind = object.node.get("metadata").and_then(|metadata| {
            annotation::read(metadata, TYPE, loading, |text| Ok(text == "nlb-ip"))
        });
        annotated.by_address = kind.map(|fact| Fact { name: "target-type: ip".to_owned(), ..fact });
    }
    let ports = list(spec, "ports", loading).iter().filter_map(|port| {
        let word = |key: &str| port.get(key).filter(|value| !value.is_null()).and_then(|value| value.text());
        let number = word("port")?;
        Some(ServicePort {
            name: word("name").map(str::to_owned),
            number: number.to_owned(),
            target: word("targetPort").unwrap_or(number).to_owned(),
        })
    });
    let ports = ports.collect();
    let service = Service {
        name: object.name.clone(),
        namespace: object.namespace.clone(),
        place: annotated.place,
        selector: labels(spec.get("selector")),
        ports,
        sends: KubernetesService {
            local: local(spec, loading),
            always: loading.value(spec, "publishNotReadyAddresses", ("Kubernetes", false), Node::boolean),
            headless: says("clusterIP") == Some("None"),
        },
        annotated,
        balancer,
    };
    loading.model.cluster.services.push(service);
}

const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";

/// Whether AWS makes an NLB of it: by the controller's class, or by the annotation that in-tree code knew.
fn is_nlb(node: &Node, class: Option<&str>) -> bool {
    let kind = node.at(&["metadata", "annotations"]).and_then(|annotations| annotations.get(TYPE));
    let kind = kind.and_then(|kind| kind.text());
    matches!(class, Some("service.k8s.aws/nlb" | "eks.amazonaws.com/nlb"))
        || matches!(kind, Some("external" | "nlb" | "nlb-ip"))
}

/// Whether one of the two policies keeps requests on the node they come to.
fn local(spec: &Node, loading: &mut Loading<'_>) -> Fact<bool> {
    let policy = |key: &str, loading: &mut Loading<'_>| {
        let found = loading.value(spec, key, ("Kubernetes", "Cluster".to_owned()), text);
        let fact = found.map(|policy| policy == "Local");
        Fact { name: format!("{key}: Local"), ..fact }
    };
    let outside = policy("externalTrafficPolicy", loading);
    let inside = policy("internalTrafficPolicy", loading);
    if inside.is(&true) { inside } else { outside }
}
