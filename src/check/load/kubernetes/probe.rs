//! Probes of a container.

use crate::check::cluster::Port;
use crate::check::fact::Fact;
use crate::check::load::{Loading, seconds, text};
use crate::check::model::{Asks, Probe};
use crate::check::tree::Node;
use std::time::Duration;

/// What the kubelet takes when nothing is written: from one to the next, for an answer, and so many failures.
const PERIOD: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(1);
const FAILURES: u64 = 3;

/// The probe of that name, if the container has it.
pub(super) fn read(container: &Node, key: &'static str, ports: &[Port], loading: &mut Loading<'_>) -> Option<Probe> {
    let node = container.get(key).filter(|node| !node.is_null())?;
    Some(Probe {
        name: key,
        place: node.anchor(),
        interval: loading.value(node, "periodSeconds", ("Kubernetes", PERIOD), seconds),
        timeout: loading.value(node, "timeoutSeconds", ("Kubernetes", TIMEOUT), seconds),
        failures: loading.value(node, "failureThreshold", ("Kubernetes", FAILURES), Node::number),
        asks: asks(node, ports, loading),
    })
}

fn asks(node: &Node, ports: &[Port], loading: &mut Loading<'_>) -> Asks {
    if let Some(get) = node.get("httpGet") {
        let path = loading.value(get, "path", ("Kubernetes", "/".to_owned()), text);
        return Asks::Http { path, port: port(get, ports, loading) };
    }
    if let Some(socket) = node.get("tcpSocket").or_else(|| node.get("grpc")) {
        return Asks::Connect(port(socket, ports, loading));
    }
    let Some(command) = node.at(&["exec", "command"]) else {
        return Asks::Command(Fact::unknown("exec", "what the probe asks", Some(node.anchor())));
    };
    let words: Vec<&str> = command.items().iter().filter_map(|word| word.text()).collect();
    Asks::Command(Fact::written("exec.command", words.join(" "), command.place))
}

/// A port by its number, or by its name among those of the container.
fn port(node: &Node, ports: &[Port], loading: &mut Loading<'_>) -> Fact<u64> {
    let Some(written) = loading.optional(node, "port", text) else {
        return Fact::unknown("port", "the port of the probe", Some(node.anchor()));
    };
    let number = written.value.and_then(|text| {
        let named = || ports.iter().find(|port| port.name.as_ref() == Some(&text)).map(|port| port.number);
        text.parse().ok().or_else(named).ok_or_else(|| format!("the number of the port {text}"))
    });
    Fact { name: written.name, value: number, place: written.place, origin: written.origin }
}
