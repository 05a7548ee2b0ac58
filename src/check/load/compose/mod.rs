//! Compose files: each service as this file alone has it. [`crate::check::compose`] lays those of a project
//! over each other.

mod read;

use super::{Format, Loading, Reading};
use crate::check::compose::{Extends, Service, unsaid};
use crate::check::fact::{Fact, Origin};
use crate::check::image::{Build, HEALTHCHECK, normal_path};
use crate::check::model::{Asks, Container, Probe, Rollout, Word, Words};
use crate::check::tree::{Entry, Kind, Node};
use crate::check::words::split;
use crate::core::Signal;
use read::{Reader, inside, said, switch, whole_number};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

pub(super) const FORMAT: Format = Format { name: "Compose file", read: Reading::Tree { is, load } };

/// By what of its keys a service is told from what other formats call one.
const KEYS: [&str; 16] = [
    "image", "build", "extends", "command", "entrypoint", "environment", "env_file", "ports", "stop_grace_period",
    "stop_signal", "deploy", "healthcheck", "volumes", "networks", "depends_on", "restart",
];

fn is(node: &Node) -> bool {
    let Some(services) = node.get("services").filter(|services| matches!(services.kind, Kind::Map(_))) else {
        return false;
    };
    let is_service = |service: &Rc<Node>| KEYS.iter().any(|key| service.get(key).is_some());
    node.get("apiVersion").is_none()
        && (services.entries().is_empty() || services.all_entries().iter().any(|entry| is_service(&entry.value)))
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    if node.get("include").is_some_and(|include| !include.is_null()) {
        loading.passed_over.push("an `include` of Compose: give the file itself".to_owned());
    }
    let Some(services) = node.get("services") else { return };
    let mut reader = Reader::new(loading);
    let mut found = Vec::new();
    for entry in services.all_entries() {
        if !matches!(entry.value.kind, Kind::Map(_)) {
            let message = format!("a service is a map, not {}", entry.value.described());
            reader.wrong(&entry.value, message);
            continue;
        }
        found.push((service(&entry.key, entry.key_place, &entry.value, &mut reader), &entry.value));
        if reader.is_exhausted() {
            break;
        }
    }
    circles(&found, &mut reader);
    let found: Vec<Service> = found.into_iter().map(|(service, _)| service).collect();
    loading.model.compose.extend(found);
}

/// Says which services extend what is not there, or in the end themselves.
fn circles(found: &[(Service, &Rc<Node>)], reader: &mut Reader<'_, '_>) {
    let by_name: BTreeMap<&str, &Service> = found.iter().map(|(service, _)| (service.name.as_str(), service)).collect();
    let base = |service: &Service| service.extends.clone().filter(|extends| extends.file.is_none());
    for (service, node) in found {
        let Some(first) = base(service) else { continue };
        let place: &Node = node.get("extends").unwrap_or(node);
        let mut next = by_name.get(first.service.as_str());
        if next.is_none() {
            reader.wrong(place, format!("extends: there is no service {} in this file", first.service));
        }
        for _ in 0..LONGEST {
            let Some(reached) = next else { break };
            if reached.name == service.name {
                reader.wrong(place, "extends: this goes round in a circle".to_owned());
                break;
            }
            next = base(reached).and_then(|extends| by_name.get(extends.service.as_str()));
        }
    }
}

/// So far a chain of `extends` is followed to see whether it is a circle.
const LONGEST: usize = 32;

fn service(name: &str, place: crate::check::source::Place, node: &Rc<Node>, reader: &mut Reader<'_, '_>) -> Service {
    let mut container = unsaid(name, place);
    container.image = reader.text(node, "image");
    container.build = build(node, reader).map(|build| Build { file: build.file.map(|file| normal_path(&file)), ..build });
    container.entrypoint = words(node, "entrypoint", reader);
    container.command = words(node, "command", reader);
    container.environment = reader.environment(node);
    if let Some(grace) = reader.value(node, "stop_grace_period", super::go_duration) {
        container.grace = grace;
    }
    let signal = |text: &str| Signal::parse(text).map_err(|_| format!("no signal is called {text:?}"));
    if let Some(signal) = reader.value(node, "stop_signal", signal) {
        container.stop_signal = signal;
    }
    if let Some(init) = reader.value(node, "init", switch) {
        container.init = init;
    }
    if let Some(volume) = over_dockers_init(node) {
        container.init = Fact::derived("a volume lies over Docker's own init", "init", false, Some(volume.place));
    }
    pre_stop(node, &mut container, reader);
    check(node, &mut container, reader);
    let deploy = said(node, "deploy").filter(|deploy| matches!(deploy.kind, Kind::Map(_)));
    container.restart = restart(node, deploy, reader);
    let pid = reader.text(node, "pid").map(|pid| pid.map(|_| true));
    Service {
        file: place.file,
        name: name.to_owned(),
        place,
        extends: extends(node, reader),
        container,
        shared_pids: pid.unwrap_or_else(|| Fact::default_of("Compose", "pid", false, Some(place))),
        rollout: deploy.and_then(|deploy| rollout(deploy, reader)),
        env_files: env_files(node, reader),
        reset: reset(node),
    }
}

/// The names of its files of variables: one, a list, or maps that say more about each.
fn env_files(node: &Node, reader: &mut Reader<'_, '_>) -> Vec<String> {
    let Some(files) = said(node, "env_file") else { return Vec::new() };
    let one = std::slice::from_ref(files);
    let items = if matches!(files.kind, Kind::List(_)) { files.items() } else { one };
    let mut names = Vec::new();
    for item in items {
        if reader.is_exhausted() {
            break;
        }
        let name = item.get("path").unwrap_or(item);
        let read = reader.fact(name, "env_file", |text| Ok(text.to_owned()));
        names.extend(read.value.ok().or_else(|| name.text().map(str::to_owned)));
    }
    names
}

/// The volume that puts another program where Docker has its own init: with `init: true` that one is PID 1.
fn over_dockers_init(node: &Node) -> Option<&Node> {
    const INIT: &str = "/sbin/docker-init";
    let is_there = |volume: &&Rc<Node>| match volume.text() {
        Some(short) => short.split(':').nth(1) == Some(INIT),
        None => volume.get("target").and_then(|target| target.text()) == Some(INIT),
    };
    said(node, "volumes")?.items().iter().find(is_there).map(Rc::as_ref)
}

/// What of a service in another file counts no more. In a single file there is nothing to take away.
fn reset(node: &Node) -> Vec<String> {
    let replaces = |entry: &&Entry| matches!(entry.value.tag.as_str(), "reset" | "override");
    let keys = node.all_entries();
    let of_service = keys.iter().copied().filter(replaces).map(|entry| entry.key.clone());
    let environment = node.get("environment").map(|environment| environment.all_entries()).unwrap_or_default();
    let variables = environment.iter().copied().filter(replaces).map(|entry| format!("environment.{}", entry.key));
    of_service.chain(variables).collect()
}

/// A command: a list of words, or a string that is split into some. Unlike in a Dockerfile no shell runs it.
fn words(node: &Node, key: &str, reader: &mut Reader<'_, '_>) -> Option<Words> {
    let node = said(node, key)?;
    if matches!(node.kind, Kind::Scalar { .. }) {
        let fact = reader.fact(node, key, |text| Ok(text.to_owned()));
        let inside = inside(node);
        let word = |(text, range): (String, std::ops::Range<usize>)| Word { text, place: inside(range) };
        let words = fact.value.map(|text| split(&text).into_iter().map(word).collect());
        return Some(Words { words, place: node.place });
    }
    if !matches!(node.kind, Kind::List(_)) {
        reader.wrong(node, format!("{key}: a command is wanted here, not {}", node.described()));
        return None;
    }
    let mut words = Ok(Vec::new());
    for item in node.items() {
        match (reader.fact(item, key, |text| Ok(text.to_owned())).value, &mut words) {
            (Ok(text), Ok(words)) => words.push(Word { text, place: item.place }),
            (Err(why), Ok(_)) => words = Err(why),
            (_, Err(_)) => {}
        }
    }
    Some(Words { words, place: node.place })
}

fn build(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Build> {
    let build = said(node, "build")?;
    if matches!(build.kind, Kind::Scalar { .. }) {
        let context = reader.fact(build, "build", |text| Ok(text.to_owned()));
        return Some(Build { file: context.map(|context| reader.beside(&format!("{context}/Dockerfile"))), target: None });
    }
    if build.get("dockerfile_inline").is_some() {
        reader.passed_over("a `dockerfile_inline` of Compose");
        return None;
    }
    let context = reader.text(build, "context");
    let file = reader.text(build, "dockerfile");
    let place = file.as_ref().or(context.as_ref()).and_then(|fact| fact.place).unwrap_or(build.place);
    let known = |fact: Option<Fact<String>>, default: &str| fact.map_or(Ok(default.to_owned()), |fact| fact.value);
    let path = known(context, ".").and_then(|context| {
        let file = known(file, "Dockerfile")?;
        Ok(if file.starts_with('/') { file } else { reader.beside(&format!("{context}/{file}")) })
    });
    let target = reader.text(build, "target").and_then(|target| target.value.ok());
    let file = Fact { value: path, ..Fact::written("build", String::new(), place) };
    Some(Build { file, target: target.map(|target| target.to_ascii_lowercase()) })
}

fn extends(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Extends> {
    let extends = said(node, "extends")?;
    if let Some(service) = extends.text() {
        return Some(Extends { file: None, service: service.to_owned() });
    }
    let file = reader.text(extends, "file").and_then(|file| file.value.ok()).map(|file| reader.beside(&file));
    let own = normal_path(reader.name());
    let file = file.map(|file| normal_path(&file)).filter(|file| *file != own);
    let service = reader.text(extends, "service").and_then(|service| service.value.ok());
    if service.is_none() {
        reader.wrong(extends, "extends: which service is not said".to_owned());
    }
    Some(Extends { file, service: service? })
}

/// What is run before the stop signal, and outside of the time that Compose waits.
fn pre_stop(node: &Node, container: &mut Container, reader: &mut Reader<'_, '_>) {
    let Some(hooks) = said(node, "pre_stop").filter(|hooks| !hooks.items().is_empty()) else { return };
    let mut total = Ok(Duration::ZERO);
    for hook in hooks.items() {
        let words = words(hook, "command", reader).and_then(|command| command.words.ok()).unwrap_or_default();
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        if let Some(first) = words.first() {
            let program = Fact::written("pre_stop", first.text.clone(), first.place);
            container.pre_stop_program.get_or_insert(program);
        }
        let sleep = match texts.as_slice() {
            [program, time] if program.rsplit('/').next() == Some("sleep") => crate::core::duration::parse(time).ok(),
            _ => None,
        };
        let unknown = || format!("how long the pre_stop hook of {} takes", container.name);
        total = total.and_then(|total: Duration| sleep.map(|sleep| total.saturating_add(sleep)).ok_or_else(unknown));
    }
    container.pre_stop = Fact { value: total, ..Fact::written("pre_stop", Duration::ZERO, hooks.place) };
}

fn check(node: &Node, container: &mut Container, reader: &mut Reader<'_, '_>) {
    let Some(check) = said(node, "healthcheck") else { return };
    let test = said(check, "test");
    let first = test.and_then(|test| test.items().first()).and_then(|first| first.text());
    let disabled = reader.value(check, "disable", switch).is_some_and(|disable| disable.is(&true));
    if disabled || first == Some("NONE") {
        container.image_check = false;
        return;
    }
    let place = check.anchor();
    let command = match test {
        None => Fact::unknown(HEALTHCHECK, format!("what the HEALTHCHECK of the image of {} asks", container.name), Some(place)),
        Some(test) if matches!(test.kind, Kind::Scalar { .. }) => reader.fact(test, "test", |text| Ok(text.to_owned())),
        Some(test) => {
            let words = words(check, "test", reader).map_or_else(|| Ok(Vec::new()), |words| words.words);
            // Behind the word that says how: CMD, CMD-SHELL.
            let command = words.map(|words| words.iter().skip(1).map(|word| word.text.clone()).collect::<Vec<_>>().join(" "));
            Fact { value: command, ..Fact::written("test", String::new(), test.place) }
        }
    };
    let mut time = |key: &'static str, default: Duration| {
        let read = reader.value(check, key, super::go_duration);
        read.unwrap_or_else(|| Fact::default_of("Compose", key, default, Some(place)))
    };
    let (interval, timeout) =
        (time("interval", super::image_config::INTERVAL), time("timeout", super::image_config::TIMEOUT));
    let retries = reader.value(check, "retries", whole_number);
    container.liveness = Some(Probe {
        name: "healthcheck",
        place,
        interval,
        timeout,
        failures: retries.unwrap_or_else(|| Fact::default_of("Compose", "retries", super::image_config::RETRIES, Some(place))),
        asks: Asks::Command(command),
    });
}

/// The policy when it starts the service again after any end.
fn restart(node: &Node, deploy: Option<&Rc<Node>>, reader: &mut Reader<'_, '_>) -> Option<Fact<String>> {
    let policy = deploy.and_then(|deploy| deploy.get("restart_policy"));
    let policy = policy.and_then(|policy| reader.text(policy, "condition"));
    let policy = policy.or_else(|| reader.text(node, "restart"))?;
    let again = policy.known().is_none_or(|policy| !matches!(policy.as_str(), "no" | "none" | "false"));
    again.then_some(policy)
}

/// How Swarm replaces a service. `docker compose up` has no such thing: nobody knows how many run elsewhere.
fn rollout(deploy: &Node, reader: &mut Reader<'_, '_>) -> Option<Rollout> {
    let config = deploy.get("update_config").filter(|config| matches!(config.kind, Kind::Map(_)))?;
    let place = config.anchor();
    let default = |name: &str, value| Fact::default_of("Swarm", name, value, Some(place));
    let replicas = reader.value(deploy, "replicas", whole_number).unwrap_or_else(|| default("replicas", 1));
    let at_once = reader.value(config, "parallelism", whole_number).unwrap_or_else(|| default("parallelism", 1));
    let order = reader.text(config, "order");
    let new_first = order.as_ref().is_some_and(|order| order.is(&"start-first".to_owned()));
    let least = match (replicas.known(), at_once.known()) {
        _ if new_first => Ok(100),
        // 0 is all at once.
        (Some(_), Some(0)) => Ok(0),
        (Some(all), Some(some)) => Ok(all.saturating_sub(*some).saturating_mul(100).checked_div(*all).unwrap_or(0)),
        _ => Err("how many of the service are replaced at once".to_owned()),
    };
    let how = if new_first { "order start-first" } else { "replicas less parallelism, as new ones come last" };
    let place = order.and_then(|order| order.place).or(at_once.place);
    Some(Rollout {
        replicas,
        least_percent: Fact {
            name: "least running %".to_owned(),
            value: least,
            place,
            origin: Origin::Derived(how.to_owned()),
        },
        most_percent: Fact::derived(how, "most running %", if new_first { 200 } else { 100 }, place),
        recreate: None,
        deadline: None,
        settle: None,
        check_grace: None,
    })
}
