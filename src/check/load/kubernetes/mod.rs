//! Kubernetes manifests, as they are written and as `kubectl get -o yaml` prints them: many documents in a
//! file, or a List of them.
//!
//! Here it is told what an object is and where its pod stands; what is in it, each in a file of its own:
//! [`pod`], [`container`], [`hook`] (preStop), [`probe`], [`rollout`], [`mesh`], [`service`], [`ingress`].
//! What is passed over is counted: kinds that say nothing about a stop, and objects that another one made,
//! as the `ReplicaSet` of a Deployment, which would say everything twice.

mod annotation;
mod container;
mod hook;
mod ingress;
mod mesh;
mod pod;
mod probe;
mod rollout;
mod service;

use super::{Format, Loading, Reading};
use crate::check::cluster::{Autoscaler, ConfigMap, Labels};
use crate::check::tree::{Entry, Kind, Node};
use std::rc::Rc;

pub(super) const FORMAT: Format = Format { name: "Kubernetes manifests", read: Reading::Tree { is, load } };

/// Lists may hold lists, but no sane one does.
const DEEPEST: usize = 4;

/// An object with its names.
struct Object<'a> {
    kind: &'a str,
    node: &'a Node,
    name: String,
    namespace: Option<String>,
}

fn is(node: &Node) -> bool {
    let is_text = |key: &str| node.get(key).is_some_and(|value| value.text().is_some() && !value.is_null());
    is_text("apiVersion") && is_text("kind")
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    object(node, None, loading, 0);
}

/// One object, or a list of them. In a list of one kind the items need not say theirs.
fn object(node: &Node, in_list: Option<&str>, loading: &mut Loading<'_>, depth: usize) {
    let text = |key: &str| node.get(key).and_then(|value| value.text());
    let version = text("apiVersion").unwrap_or_default();
    let Some(kind) = text("kind").or(in_list) else {
        loading.wrong.push((node.place, format!("an object with a kind is wanted here, not {}", node.described())));
        return;
    };
    if let (Some(of), Some(items), true) = (kind.strip_suffix("List"), node.get("items"), depth < DEEPEST) {
        for item in items.items() {
            object(item, Some(of).filter(|of| !of.is_empty()), loading, depth + 1);
        }
        return;
    }
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    let known = match kind {
        "Pod" | "Service" | "ConfigMap" | "Namespace" => group.is_empty(),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => matches!(group, "" | "apps" | "extensions"),
        "HorizontalPodAutoscaler" => group == "autoscaling",
        "Job" | "CronJob" => matches!(group, "" | "batch"),
        "Ingress" => matches!(group, "" | "networking.k8s.io" | "extensions"),
        _ => false,
    };
    if !known {
        let version = if group.is_empty() { String::new() } else { format!(" of {group}") };
        loading.passed_over.push(format!("Kubernetes {kind}{version}"));
        return;
    }
    let made = node.at(&["metadata", "ownerReferences"]).is_some_and(|owners| !owners.items().is_empty());
    if made {
        loading.passed_over.push(format!("Kubernetes {kind} that another object made"));
        return;
    }
    let metadata = |key: &str| node.at(&["metadata", key]).and_then(|name| name.text()).map(str::to_owned);
    let name = metadata("name").or_else(|| metadata("generateName").map(|name| name.trim_end_matches('-').to_owned()));
    let name = name.unwrap_or_else(|| kind.to_ascii_lowercase());
    let object = Object { kind, node, name, namespace: metadata("namespace") };
    match kind {
        "Service" => service::load(&object, loading),
        "HorizontalPodAutoscaler" => autoscaler(&object, loading),
        "ConfigMap" => loading.model.cluster.config_maps.push(config_map(&object)),
        "Ingress" => ingress::load(&object, loading),
        "Namespace" => {
            let namespace = mesh::namespace(&object, loading);
            loading.model.cluster.namespaces.push(namespace);
        }
        "Pod" => pod::load(&object, node, None, loading),
        "CronJob" => templated(&object, &["spec", "jobTemplate", "spec", "template"], loading),
        _ => templated(&object, &["spec", "template"], loading),
    }
}

/// An object that makes pods from a template.
fn templated(object: &Object<'_>, path: &[&str], loading: &mut Loading<'_>) {
    let Some(template) = object.node.at(path) else {
        let place = object.node.get("metadata").map_or(object.node.place, |metadata| metadata.anchor());
        let (kind, path) = (object.kind, path.join("."));
        let message =
            format!("{kind} {} has no {path}; of a patch for Kustomize, check what `kustomize build` prints", object.name);
        loading.wrong.push((place, message));
        return;
    };
    let rollout = object.node.get("spec").and_then(|spec| rollout::read(object.kind, spec, loading));
    pod::load(object, template, rollout, loading);
}

/// What sets the number of pods in place of `replicas`.
fn autoscaler(object: &Object<'_>, loading: &mut Loading<'_>) {
    let Some(spec) = object.node.get("spec") else { return };
    let text = |key: &str| spec.at(&["scaleTargetRef", key]).and_then(|value| value.text()).unwrap_or_default();
    let target = format!("{}/{}", text("kind").to_ascii_lowercase(), text("name"));
    let least = loading.value(spec, "minReplicas", ("Kubernetes", 1), Node::number);
    loading.model.cluster.autoscalers.push(Autoscaler { target, namespace: object.namespace.clone(), least });
}

/// What a `ConfigMap` holds: the environment of a container may come from there.
fn config_map(object: &Object<'_>) -> ConfigMap {
    let data = object.node.get("data").map_or(&[] as &[_], |data| data.entries());
    let text = |entry: &Entry| Some((entry.key.clone(), entry.value.text()?.to_owned(), entry.value.place));
    ConfigMap { name: object.name.clone(), namespace: object.namespace.clone(), data: data.iter().filter_map(text).collect() }
}

/// A map of texts, as labels and selectors are; what is no text is left out.
fn labels(node: Option<&Rc<Node>>) -> Labels {
    let entries = node.map_or(&[] as &[_], |node| node.entries());
    entries.iter().filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

/// The items of a list that has to be one.
fn list<'a>(parent: &'a Node, key: &str, loading: &mut Loading<'_>) -> &'a [Rc<Node>] {
    let Some(node) = parent.get(key).filter(|node| !node.is_null()) else { return &[] };
    if !matches!(node.kind, Kind::List(_) | Kind::Unresolved(_)) {
        loading.wrong.push((node.place, format!("{key}: a list is wanted here, not {}", node.described())));
    }
    node.items()
}

/// Reads a text where Kubernetes takes nothing else, as in `env` and in annotations: without quotes `15` is
/// a number and `on` is true, and the object is refused.
fn strictly_text(node: &Node) -> Result<String, String> {
    let text = super::text(node)?;
    if matches!(&node.kind, Kind::Scalar { plain: true, .. }) && !node.is_null() && is_other_than_text(&text) {
        return Err(format!("Kubernetes takes only a text here: write \"{text}\", with quotes"));
    }
    Ok(if node.is_null() { String::new() } else { text })
}

fn is_other_than_text(text: &str) -> bool {
    let is_number = text.parse::<f64>().is_ok() && text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let word = text.to_ascii_lowercase();
    is_number || matches!(word.as_str(), "true" | "false" | "yes" | "no" | "on" | "off")
}
