//! The proxy that a mesh puts beside the containers, told by the annotations and labels of the pod, or by
//! those of its namespace where the pod says nothing. A native sidecar is no trouble: it stops after the
//! others.

use super::{Object, annotation};
use crate::check::cluster::Namespace;
use crate::check::fact::Fact;
use crate::check::load::Loading;
use crate::check::model::MeshProxy;
use crate::check::source::Place;
use crate::check::tree::{Node, parse_inside_of};
use crate::core::duration;
use std::rc::Rc;
use std::time::Duration;

/// How long Istio's proxy drains when nothing is written.
const ISTIO_DRAIN: Duration = Duration::from_secs(5);

const ISTIO: &str = "Istio";
const LINKERD: &str = "Linkerd";

/// A proxy that a pod may have.
struct Possible {
    proxy: MeshProxy,
    /// Whether the pod asks for it itself; else it is for the namespace to say.
    asked: bool,
}

/// The proxies that this metadata of a pod asks for, and those that its namespace may.
pub(super) fn read(metadata: &Node, loading: &mut Loading<'_>) -> (Vec<MeshProxy>, Vec<MeshProxy>) {
    let istio = istio(metadata, loading);
    let possible = istio.into_iter().chain(linkerd(metadata, loading));
    let (asked, injectable): (Vec<_>, Vec<_>) = possible.partition(|possible| possible.asked);
    let proxies = |possible: Vec<Possible>| possible.into_iter().map(|possible| possible.proxy).collect();
    (proxies(asked), proxies(injectable))
}

/// What a namespace asks for.
pub(super) fn namespace(object: &Object<'_>, loading: &mut Loading<'_>) -> Namespace {
    let mut proxies = Vec::new();
    if let Some(metadata) = object.node.get("metadata") {
        let enabled = |node: &&Rc<Node>| node.text() == Some("enabled");
        let istio = said(metadata, "istio-injection").map(|said| Some(said).filter(enabled));
        let istio = istio.unwrap_or_else(|| said(metadata, "istio.io/rev"));
        proxies.extend(istio.map(|said| proxy_of_istio(Some(said.place))));
        proxies.extend(linkerd(metadata, loading).filter(|possible| possible.asked).map(|possible| possible.proxy));
    }
    Namespace { name: object.name.clone(), proxies }
}

fn proxy_of_istio(at: Option<Place>) -> MeshProxy {
    MeshProxy {
        mesh: ISTIO,
        container: "istio-proxy",
        serves_on: Fact::default_of(ISTIO, "terminationDrainDuration", ISTIO_DRAIN, at),
        waits: Fact::default_of(ISTIO, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", false, at),
    }
}

/// The text of an annotation, or of a label of the same name.
fn says<'a>(metadata: &'a Node, key: &str) -> Option<&'a str> {
    said(metadata, key).and_then(|value| value.text())
}

fn said<'a>(metadata: &'a Node, key: &str) -> Option<&'a Rc<Node>> {
    let of = |kind: &str| metadata.get(kind).and_then(|map| map.get(key));
    of("annotations").or_else(|| of("labels"))
}

fn istio(metadata: &Node, loading: &mut Loading<'_>) -> Option<Possible> {
    const CONFIG: &str = "proxy.istio.io/config";
    const INJECT: &str = "sidecar.istio.io/inject";
    let asked = says(metadata, INJECT);
    let config = metadata.get("annotations").and_then(|annotations| annotations.get(CONFIG));
    let wanted = asked.map(|asked| asked.eq_ignore_ascii_case("true"));
    if wanted == Some(false) || says(metadata, "sidecar.istio.io/nativeSidecar") == Some("true") {
        return None;
    }
    let at = config.or_else(|| said(metadata, INJECT)).map(|node| node.place);
    let mut proxy = proxy_of_istio(at);
    let asked = wanted.is_some() || config.is_some();
    // The annotation is a text that holds YAML.
    let Some((node, text)) = config.and_then(|node| Some((node, node.text()?))) else {
        return Some(Possible { proxy, asked });
    };
    match parse_inside_of(node.place, text, loading.text) {
        Err(wrong) => {
            let at = Place { start: wrong.at, end: wrong.at, ..node.place };
            loading.wrong.push((at, format!("{CONFIG}: {}", wrong.message)));
        }
        Ok(documents) => {
            let Some(config) = documents.first() else { return Some(Possible { proxy, asked }) };
            let time = |node: &Node| {
                let text = crate::check::load::text(node)?;
                duration::parse(&text).map_err(|why| why.to_string())
            };
            proxy.serves_on = loading.optional(config, "terminationDrainDuration", time).unwrap_or(proxy.serves_on);
            if let Some(metadata) = config.get("proxyMetadata") {
                let flag = |node: &Node| Ok(node.text() == Some("true"));
                proxy.waits = loading
                    .optional(metadata, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", flag)
                    .unwrap_or(proxy.waits);
            }
        }
    }
    Some(Possible { proxy, asked })
}

fn linkerd(metadata: &Node, loading: &mut Loading<'_>) -> Option<Possible> {
    const WAIT: &str = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds";
    let inject = said(metadata, "linkerd.io/inject");
    let wanted = inject.map(|inject| matches!(inject.text(), Some("enabled" | "ingress")));
    let native = ["alpha", "beta"]
        .iter()
        .any(|stage| says(metadata, &format!("config.{stage}.linkerd.io/proxy-enable-native-sidecar")) == Some("true"));
    if wanted == Some(false) || native {
        return None;
    }
    let at = inject.map(|inject| inject.place);
    let proxy = MeshProxy {
        mesh: LINKERD,
        container: "linkerd-proxy",
        serves_on: annotation::read(metadata, WAIT, loading, annotation::seconds)
            .unwrap_or_else(|| Fact::default_of(LINKERD, "proxy-wait-before-exit-seconds", Duration::ZERO, at)),
        waits: Fact::default_of(LINKERD, "waits for connections", false, at),
    };
    Some(Possible { proxy, asked: wanted.is_some() })
}
