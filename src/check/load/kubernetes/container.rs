//! A container of a pod.

use super::{hook, list, probe, strictly_text};
use crate::check::cluster::{Borrowed, Port, What};
use crate::check::fact::{Fact, Origin};
use crate::check::load::{Loading, text};
use crate::check::model::{Container, Platform, Variable, Word, Words};
use crate::check::tree::{Kind, Node};
use crate::core::Signal;
use std::rc::Rc;

/// A container, and what only links it to other objects.
pub(super) struct Read {
    pub(super) container: Container,
    /// With their names, by which Services and probes call them.
    pub(super) ports: Vec<Port>,
    pub(super) borrowed: Vec<Borrowed>,
}

/// The container of that number in its pod.
pub(super) fn read(node: &Node, pod: &Node, at: usize, loading: &mut Loading<'_>) -> Option<Read> {
    if !matches!(node.kind, Kind::Map(_)) {
        loading.wrong.push((node.place, format!("a container is a map, not {}", node.described())));
        return None;
    }
    let name = node.get("name").and_then(|name| name.text()).unwrap_or("container").to_owned();
    let mut container = Container::new(Platform::Kubernetes, name, node.anchor());
    let ports = ports(node, &container.name, loading);
    container.ports = ports.iter().map(|port| Fact::written("containerPort", port.number, port.place)).collect();
    container.image = loading.optional(node, "image", text);
    container.environment = environment(node, loading);
    container.entrypoint = words(node, "command", &container.environment, loading);
    container.command = words(node, "args", &container.environment, loading);
    let policy = loading.value(pod, "restartPolicy", ("Kubernetes", "Always".to_owned()), text);
    container.restart = Some(policy).filter(|policy| policy.is(&"Always".to_owned()));
    if let Some(lifecycle) = node.get("lifecycle") {
        let signal = |node: &Node| {
            Signal::parse(&text(node)?).map_err(|_| format!("a signal is wanted here, not {}", node.described()))
        };
        container.stop_signal = loading.optional(lifecycle, "stopSignal", signal).unwrap_or(container.stop_signal);
        if let Some(hook) = lifecycle.get("preStop").filter(|hook| !hook.is_null()) {
            hook::read(hook, &mut container, loading);
        }
    }
    container.liveness = probe::read(node, "livenessProbe", &ports, loading);
    container.readiness = probe::read(node, "readinessProbe", &ports, loading);
    if let Some(probe) = node.get("livenessProbe") {
        container.grace_unhealthy =
            loading.optional(probe, "terminationGracePeriodSeconds", crate::check::load::seconds);
    }
    Some(Read { container, ports, borrowed: borrowed(node, at) })
}

fn ports(node: &Node, container: &str, loading: &mut Loading<'_>) -> Vec<Port> {
    let mut ports = Vec::new();
    for port in list(node, "ports", loading) {
        let Some(number) = loading.optional(port, "containerPort", Node::number) else { continue };
        let (Ok(number), Some(place)) = (number.value, number.place) else { continue };
        let name = port.get("name").and_then(|name| name.text()).map(str::to_owned);
        ports.push(Port { container: container.to_owned(), name, number, place });
    }
    ports
}

/// What a container's environment takes from `ConfigMap`s: all of one, or a single key.
fn borrowed(node: &Node, at: usize) -> Vec<Borrowed> {
    let text = |node: &Node, key: &str| node.get(key).and_then(|value| value.text()).map(str::to_owned);
    let items = |key: &str| node.get(key).map_or(&[] as &[Rc<Node>], |list| list.items());
    let all = items("envFrom").iter().filter_map(|item| {
        let (kind, from) = [("ConfigMap", "configMapRef"), ("Secret", "secretRef")]
            .into_iter()
            .find_map(|(kind, key)| Some((kind, item.get(key)?)))?;
        let prefix = text(item, "prefix").unwrap_or_default();
        Some(Borrowed { container: at, kind, name: text(from, "name")?, what: What::All { prefix } })
    });
    let single = items("env").iter().filter_map(|item| {
        let from = item.at(&["valueFrom", "configMapKeyRef"])?;
        let what = What::One { variable: text(item, "name")?, key: text(from, "key")? };
        Some(Borrowed { container: at, kind: "ConfigMap", name: text(from, "name")?, what })
    });
    all.chain(single).collect()
}

/// `env`, in its order: a variable may refer to those before it. Of what comes from elsewhere only the name is
/// known.
fn environment(node: &Node, loading: &mut Loading<'_>) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    for item in list(node, "env", loading) {
        let Some(name) = item.get("name").and_then(|name| name.text()) else { continue };
        let written = item.get("value");
        let place = written.or_else(|| item.get("name")).map_or(item.place, |value| value.place);
        let value = match (written, item.get("valueFrom")) {
            (Some(value), _) => {
                let read = |value: &Node| match strictly_text(value)? {
                    text if name.starts_with("LAMEDUCK_") && text.contains("{{") => Err(text),
                    text => Ok(text),
                };
                loading.fact(value, name, read).value.and_then(|text| match expand(&text, &variables) {
                    (text, None) => Ok(text),
                    (_, Some(missing)) => Err(missing),
                })
            }
            (None, Some(from)) => Err(format!("it comes from {}", source(from))),
            (None, None) => Ok(String::new()),
        };
        variables.push(Variable { name: name.to_owned(), value, place, origin: Origin::Written });
    }
    variables
}

/// What a value comes from, for people: `configMapKeyRef web delay`.
fn source(from: &Node) -> String {
    let Some(entry) = from.entries().first() else { return "elsewhere".to_owned() };
    let parts = entry.value.entries().iter().filter_map(|part| part.value.text());
    let words: Vec<&str> = std::iter::once(entry.key.as_str()).chain(parts).collect();
    words.join(" ")
}

/// The texts of `command` or `args`, with the variables put in.
fn words(node: &Node, key: &str, environment: &[Variable], loading: &mut Loading<'_>) -> Option<Words> {
    let found = node.get(key).filter(|found| !found.is_null())?;
    if let Kind::Unresolved(what) = &found.kind {
        return Some(Words { words: Err(format!("{key}: {what}")), place: found.place });
    }
    let (mut words, mut missing) = (Vec::new(), None);
    for item in list(node, key, loading) {
        match loading.fact(item, key, strictly_text).value {
            // What is not known yet stands there by its name: most words are known all the same.
            Ok(text) => words.push(Word { text: expand(&text, environment).0, place: item.place }),
            Err(why) => missing = Some(why),
        }
    }
    // An empty list counts as none.
    let is_empty = words.is_empty() && missing.is_none();
    (!is_empty).then(|| Words { words: missing.map_or(Ok(words), Err), place: found.place })
}

/// Puts variables in for `$(NAME)` as the kubelet does: what it does not know stays as it is, `$$` is `$`.
/// So does what is only known later, and why is returned too.
fn expand(text: &str, variables: &[Variable]) -> (String, Option<String>) {
    let (mut out, mut rest, mut missing) = (String::new(), text, None);
    while let Some(at) = rest.find('$') {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let close = found.find(')').filter(|_| found.starts_with("$("));
        let name = close.and_then(|close| found.get(2..close));
        let known = name.and_then(|name| variables.iter().rev().find(|variable| variable.name == name));
        let taken = match (known.map(|variable| (variable, &variable.value)), close) {
            (Some((_, Ok(value))), Some(close)) => {
                out.push_str(value);
                close + 1
            }
            (Some((variable, Err(why))), Some(close)) => {
                missing = Some(format!("the value of {}: {why}", variable.name));
                out.push_str(&found[..=close]);
                close + 1
            }
            _ => {
                out.push('$');
                if found.starts_with("$$") { 2 } else { 1 }
            }
        };
        rest = &found[taken..];
    }
    out.push_str(rest);
    (out, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source::{Source, Sources};

    #[test]
    fn variables_are_put_in_as_the_kubelet_does_it() {
        let file = Sources::default().add(Source::new("a".to_owned(), String::new()));
        let place = crate::check::source::Place { file, start: 0, end: 0 };
        let variable = |name: &str, value: Result<&str, &str>| Variable {
            name: name.to_owned(),
            value: value.map(str::to_owned).map_err(str::to_owned),
            place,
            origin: Origin::Written,
        };
        let all = [variable("D", Ok("15s")), variable("X", Err("it comes from a Secret"))];
        for (text, is) in [
            ("--delay=$(D)", "--delay=15s"),
            ("$(D)$(D)", "15s15s"),
            ("$$(D)", "$(D)"),
            ("$(OTHER) $D ${D} $(", "$(OTHER) $D ${D} $("),
            ("100$", "100$"),
            ("é$(D)é", "é15sé"),
        ] {
            assert_eq!(expand(text, &all), (is.to_owned(), None), "{text}");
        }
        let missing = Some("the value of X: it comes from a Secret".to_owned());
        assert_eq!(expand("a $(X)$(D)", &all), ("a $(X)15s".to_owned(), missing));
    }
}
