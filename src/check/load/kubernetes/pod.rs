//! A pod, or the template that pods are made from.

use super::{Object, container, labels, list, mesh};
use crate::check::cluster::{Limits, Pod};
use crate::check::fact::Fact;
use crate::check::load::{Loading, seconds};
use crate::check::model::{Platform, Rollout, Workload};
use crate::check::tree::{Kind, Node};
use std::rc::Rc;
use std::time::Duration;

/// What the kubelet waits when nothing is written.
const GRACE: Duration = Duration::from_secs(30);

/// Labels of nodes that are taken away with short notice, and the value that says so; empty = any.
const SPOT: [(&str, &str); 6] = [
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("cloud.google.com/gke-provisioning", "spot"),
    ("eks.amazonaws.com/capacitytype", "spot"),
    ("karpenter.sh/capacity-type", "spot"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
];

/// Adds what `holder` holds in `metadata` and `spec`: the object itself, or its template.
pub(super) fn load(object: &Object<'_>, holder: &Node, rollout: Option<(Rollout, Limits)>, loading: &mut Loading<'_>) {
    let Some(spec) = holder.get("spec").filter(|spec| matches!(spec.kind, Kind::Map(_))) else {
        loading.wrong.push((holder.place, format!("{} {}: a pod has a map spec", object.kind, object.name)));
        return;
    };
    let grace = loading.value(spec, "terminationGracePeriodSeconds", ("Kubernetes", GRACE), seconds);
    let mut containers = Vec::new();
    let (mut ports, mut borrowed) = (Vec::new(), Vec::new());
    for (key, sidecars) in [("containers", false), ("initContainers", true)] {
        for node in list(spec, key, loading) {
            // What only prepares is over when a stop comes.
            let always = node.get("restartPolicy").and_then(|policy| policy.text()) == Some("Always");
            if sidecars && !always {
                continue;
            }
            if let Some(mut read) = container::read(node, spec, containers.len(), loading) {
                read.container.grace = grace.clone();
                read.container.sidecar = sidecars;
                containers.push(read.container);
                ports.extend(read.ports);
                borrowed.extend(read.borrowed);
            }
        }
    }
    if containers.is_empty() && spec.get("containers").is_none() {
        loading.wrong.push((spec.anchor(), format!("{} {}: a pod has containers", object.kind, object.name)));
        return;
    }
    let host = loading.optional(spec, "hostPID", Node::boolean).filter(|host| host.is(&true));
    let shared = |loading: &mut Loading<'_>| {
        loading.value(spec, "shareProcessNamespace", ("Kubernetes", false), Node::boolean)
    };
    let metadata = holder.get("metadata");
    // No mesh puts a proxy into the network of the node, whoever asks for it.
    let on_the_node = loading.optional(spec, "hostNetwork", Node::boolean).is_some_and(|host| host.is(&true));
    let meshed = metadata.filter(|_| !on_the_node);
    let (mesh, injectable) = meshed.map_or_else(Default::default, |metadata| mesh::read(metadata, loading));
    let (rollout, limits) = rollout.unzip();
    let place = object.node.get("metadata").map_or(object.node.place, |metadata| metadata.anchor());
    let workload = Workload {
        platform: Platform::Kubernetes,
        references: vec![object.name.clone(), format!("{}/{}", object.kind.to_ascii_lowercase(), object.name)],
        name: object.name.clone(),
        place,
        containers,
        shared_pids: host.unwrap_or_else(|| shared(loading)),
        spot: spot(spec),
        rollout,
        routes: Vec::new(),
        mesh,
    };
    loading.model.cluster.pods.push(Pod {
        workload: loading.model.workloads.len(),
        namespace: object.namespace.clone(),
        labels: labels(metadata.and_then(|metadata| metadata.get("labels"))),
        ports,
        borrowed,
        limits,
        injectable,
    });
    loading.model.workloads.push(workload);
}

/// Whether the pod asks for nodes that are taken away with short notice, or bears them.
fn spot(spec: &Node) -> Fact<bool> {
    let says = |key: &str, value: Option<&str>| {
        let (key, value) = (key.to_ascii_lowercase(), value.map(str::to_ascii_lowercase));
        SPOT.iter().any(|(known, spot)| *known == key && value.as_deref().is_none_or(|value| value == *spot))
    };
    let selector = spec.get("nodeSelector").map_or(&[] as &[_], |selector| selector.entries());
    if let Some(entry) = selector.iter().find(|entry| says(&entry.key, entry.value.text())) {
        return Fact::written(entry.key.clone(), true, entry.value.place);
    }
    let text = |node: &Node, key: &str| node.get(key).and_then(|value| value.text()).map(str::to_owned);
    for toleration in spec.get("tolerations").map_or(&[] as &[Rc<Node>], |list| list.items()) {
        if let Some(key) = text(toleration, "key").filter(|key| says(key, text(toleration, "value").as_deref())) {
            return Fact::written(key, true, toleration.place);
        }
    }
    let wanted = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    for term in spec.at(&wanted).map_or(&[] as &[Rc<Node>], |terms| terms.items()) {
        for expression in term.get("matchExpressions").map_or(&[] as &[Rc<Node>], |list| list.items()) {
            let values = expression.get("values").map_or(&[] as &[Rc<Node>], |values| values.items());
            let Some(key) = text(expression, "key").filter(|_| text(expression, "operator").as_deref() == Some("In"))
            else {
                continue;
            };
            if values.iter().any(|value| says(&key, value.text())) {
                return Fact::written(key, true, expression.place);
            }
        }
    }
    Fact::default_of("Kubernetes", "spot nodes", false, Some(spec.anchor()))
}
