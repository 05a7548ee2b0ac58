//! Images that are built: what `docker image inspect` prints (Podman's too), and the image configuration
//! of OCI.

use super::{Format, Loading, Reading, text};
use crate::check::fact::{Fact, Origin};
use crate::check::image::Image;
use crate::check::model::{Asks, Container, Platform, Probe, Variable, Words};
use crate::check::tree::{Kind, Node};
use crate::core::Signal;
use std::rc::Rc;
use std::time::Duration;

pub(super) const FORMAT: Format = Format { name: "image (docker image inspect, OCI)", read: Reading::Tree { is, load } };

/// What Docker takes when a `HEALTHCHECK` does not say.
pub(super) const INTERVAL: Duration = Duration::from_secs(30);
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const RETRIES: u64 = 3;

fn is(node: &Node) -> bool {
    is_image(node) || node.items().first().is_some_and(|first| is_image(first))
}

/// A configuration, and the layers that only an image has: `docker inspect` of a container has none.
fn is_image(node: &Node) -> bool {
    let is_map = |node: &Rc<Node>| matches!(node.kind, Kind::Map(_));
    node.field("config").is_some_and(is_map) && (node.get("RootFS").is_some_and(is_map) || node.get("rootfs").is_some_and(is_map))
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    let one = std::slice::from_ref(node);
    let images = if node.items().is_empty() { one } else { node.items() };
    for node in images {
        if is_image(node) {
            let image = image(node, loading);
            loading.model.images.push(image);
        } else {
            loading.wrong.push((node.place, format!("an image is wanted here, not {}", node.described())));
        }
    }
}

fn image(node: &Node, loading: &mut Loading<'_>) -> Image {
    let list = |key: &str| node.field(key).map_or(&[] as &[Rc<Node>], |list| list.items());
    let texts = |key: &str| list(key).iter().filter_map(|item| item.text().map(str::to_owned)).collect::<Vec<_>>();
    let mut references = texts("repoTags");
    references.extend(texts("repoDigests"));
    let id = node.field("id").and_then(|id| id.text()).map(str::to_owned);
    references.extend(id.clone());
    let name = references.first().cloned().or(id).unwrap_or_else(|| "image".to_owned());
    let nothing = Rc::new(Node { place: node.place, kind: Kind::Map(Vec::new()), tag: String::new() });
    let config = node.field("config").unwrap_or(&nothing);
    Image {
        container: container(config, &name, loading),
        name,
        references,
        place: config.anchor(),
        base: None,
        stage: None,
        last: true,
    }
}

fn container(config: &Node, name: &str, loading: &mut Loading<'_>) -> Container {
    let place = config.anchor();
    let mut container = Container::new(Platform::Docker, name.to_owned(), place);
    // Nothing is said to be nothing: an image that is built has no base that could say more.
    let none = || Words { words: Ok(Vec::new()), place };
    container.entrypoint = Some(loading.words(config, "Entrypoint").unwrap_or_else(none));
    container.command = Some(loading.words(config, "Cmd").unwrap_or_else(none));
    for item in config.field("env").map_or(&[] as &[Rc<Node>], |list| list.items()) {
        let Some((name, value)) = item.text().and_then(|text| text.split_once('=')) else { continue };
        let (name, value) = (name.to_owned(), Ok(value.to_owned()));
        container.environment.push(Variable { name, value, place: item.place, origin: Origin::Written });
    }
    // Written as "" by some.
    let signal = config.field("stopSignal").filter(|node| node.text().is_none_or(|text| !text.is_empty()));
    if signal.is_some()
        && let Some(signal) = loading.optional(config, "StopSignal", signal_name)
    {
        container.stop_signal = signal;
    }
    container.liveness = config.field("healthcheck").filter(|node| !node.is_null()).and_then(|node| check(node, loading));
    container
}

/// The health check of an image: as in Compose a list of `CMD` or `CMD-SHELL` and the rest, and times in
/// nanoseconds, 0 for the default.
fn check(node: &Node, loading: &mut Loading<'_>) -> Option<Probe> {
    let place = node.anchor();
    let test = loading.words(node, "Test")?;
    let command = test.words.map(|words| words.iter().skip(1).map(|word| word.text.clone()).collect::<Vec<_>>().join(" "));
    let first = node.field("test")?.items().first().and_then(|word| word.text());
    if matches!(first, None | Some("NONE")) {
        return None;
    }
    let time = |loading: &mut Loading<'_>, key: &'static str, default| {
        let fact = loading.optional(node, key, Node::number);
        match fact.filter(|fact| !fact.is(&0)) {
            Some(fact) => fact.map(Duration::from_nanos),
            None => Fact::default_of("Docker", key, default, Some(place)),
        }
    };
    let retries = loading.optional(node, "Retries", Node::number).filter(|fact| !fact.is(&0));
    Some(Probe {
        name: "HEALTHCHECK",
        place,
        interval: time(loading, "Interval", INTERVAL),
        timeout: time(loading, "Timeout", TIMEOUT),
        failures: retries.unwrap_or_else(|| Fact::default_of("Docker", "Retries", RETRIES, Some(place))),
        asks: Asks::Command(Fact { value: command, ..Fact::written("Test", String::new(), test.place) }),
    })
}

/// Reads the name or number of a signal.
pub(super) fn signal_name(node: &Node) -> Result<Signal, String> {
    let text = text(node)?;
    Signal::parse(&text).map_err(|_| format!("no signal is called {text:?}"))
}
