//! The proxy that a mesh puts beside the containers, told by the annotations and labels of the pod. Injection
//! that a namespace asks for is not seen here. A native sidecar is no trouble: it stops after the others.

use super::annotation;
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

/// The proxies that this metadata of a pod asks for.
pub(super) fn read(metadata: &Node, loading: &mut Loading<'_>) -> Vec<MeshProxy> {
    let istio = istio(metadata, loading);
    istio.into_iter().chain(linkerd(metadata, loading)).collect()
}

/// The text of an annotation, or of a label of the same name.
fn says<'a>(metadata: &'a Node, key: &str) -> Option<&'a str> {
    said(metadata, key).and_then(|value| value.text())
}

fn said<'a>(metadata: &'a Node, key: &str) -> Option<&'a Rc<Node>> {
    let of = |kind: &str| metadata.get(kind).and_then(|map| map.get(key));
    of("annotations").or_else(|| of("labels"))
}

fn istio(metadata: &Node, loading: &mut Loading<'_>) -> Option<MeshProxy> {
    const CONFIG: &str = "proxy.istio.io/config";
    const INJECT: &str = "sidecar.istio.io/inject";
    let asked = says(metadata, INJECT);
    let config = metadata.get("annotations").and_then(|annotations| annotations.get(CONFIG));
    let wanted = asked.map_or(config.is_some(), |asked| asked.eq_ignore_ascii_case("true"));
    if !wanted || says(metadata, "sidecar.istio.io/nativeSidecar") == Some("true") {
        return None;
    }
    let at = config.or_else(|| said(metadata, INJECT)).map(|node| node.place);
    let mut proxy = MeshProxy {
        mesh: "Istio",
        container: "istio-proxy",
        serves_on: Fact::default_of("Istio", "terminationDrainDuration", ISTIO_DRAIN, at),
        waits: Fact::default_of("Istio", "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", false, at),
    };
    // The annotation is a text that holds YAML.
    let Some((node, text)) = config.and_then(|node| Some((node, node.text()?))) else { return Some(proxy) };
    match parse_inside_of(node.place, text, loading.text) {
        Err(wrong) => {
            let at = Place { start: wrong.at, end: wrong.at, ..node.place };
            loading.wrong.push((at, format!("{CONFIG}: {}", wrong.message)));
        }
        Ok(documents) => {
            let Some(config) = documents.first() else { return Some(proxy) };
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
    Some(proxy)
}

fn linkerd(metadata: &Node, loading: &mut Loading<'_>) -> Option<MeshProxy> {
    const WAIT: &str = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds";
    let inject = said(metadata, "linkerd.io/inject");
    let wanted = matches!(inject.and_then(|inject| inject.text()), Some("enabled" | "ingress"));
    let native = ["alpha", "beta"]
        .iter()
        .any(|stage| says(metadata, &format!("config.{stage}.linkerd.io/proxy-enable-native-sidecar")) == Some("true"));
    if !wanted || native {
        return None;
    }
    let at = inject.map(|inject| inject.place);
    Some(MeshProxy {
        mesh: "Linkerd",
        container: "linkerd-proxy",
        serves_on: annotation::read(metadata, WAIT, loading, annotation::seconds)
            .unwrap_or_else(|| Fact::default_of("Linkerd", "proxy-wait-before-exit-seconds", Duration::ZERO, at)),
        waits: Fact::default_of("Linkerd", "waits for connections", false, at),
    })
}
