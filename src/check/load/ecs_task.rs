//! ECS task definitions: the input of `register-task-definition`, and what `describe-task-definition`
//! prints.

use super::{Format, Loading, Reading, container, seconds, text};
use crate::check::fact::Fact;
use crate::check::model::{Asks, Container, Platform, Probe, Words, Workload};
use crate::check::source::Place;
use crate::check::tree::{Kind, Node};
use std::rc::Rc;
use std::time::Duration;

pub(super) const FORMAT: Format = Format { name: "ECS task definition", read: Reading::Tree { is, load } };

/// What Fargate waits when no `stopTimeout` is written, and so does the agent on EC2 unless its
/// `ECS_CONTAINER_STOP_TIMEOUT` says otherwise.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How reports call what `pidMode` comes to.
const SHARED_PIDS: &str = "PID namespace shared";

fn is(node: &Node) -> bool {
    definition(node).is_some()
}

fn definition(node: &Node) -> Option<&Node> {
    let has = |node: &Node| matches!(node.field("containerDefinitions").map(|list| &list.kind), Some(Kind::List(_)));
    if has(node) {
        return Some(node);
    }
    node.field("taskDefinition").map(Rc::as_ref).filter(|inner| has(inner))
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    if let Some(definition) = definition(node) {
        let workload = workload(definition, loading);
        loading.model.workloads.push(workload);
    }
}

/// One task definition, in the spelling of the API or of `CloudFormation`.
pub(super) fn workload(node: &Node, loading: &mut Loading<'_>) -> Workload {
    let scalar = |key: &str| node.field(key).and_then(|node| node.text()).map(str::to_owned);
    let family = scalar("family");
    let arn = scalar("taskDefinitionArn");
    let mut references = Vec::new();
    references.extend(arn.clone());
    references.extend(arn.as_ref().and_then(|arn| arn.rsplit('/').next()).map(str::to_owned));
    if let (Some(family), Some(revision)) = (&family, scalar("revision")) {
        references.push(format!("{family}:{revision}"));
    }
    references.extend(family.clone());
    let asked: Vec<&str> = node
        .field("requiresCompatibilities")
        .map_or(&[] as &[Rc<Node>], |list| list.items())
        .iter()
        .filter_map(|item| item.text())
        .collect();
    let platform = if asked.contains(&"FARGATE") { Platform::Fargate } else { Platform::EcsEc2 };
    let definitions = node.field("containerDefinitions").map_or(&[] as &[Rc<Node>], |list| list.items());
    let shared_pids = match loading.optional(node, "pidMode", text) {
        Some(mode) => Fact { name: SHARED_PIDS.to_owned(), ..mode.map(|mode| mode == "task" || mode == "host") },
        None => Loading::default(platform, SHARED_PIDS, false, node),
    };
    let mut containers: Vec<Container> =
        definitions.iter().filter_map(|definition| read_container(definition, platform, loading)).collect();
    firelens(definitions, &mut containers);
    Workload {
        platform,
        name: family.or(arn).unwrap_or_else(|| "task".to_owned()),
        references,
        place: node.anchor(),
        containers,
        shared_pids,
        spot: Fact::unknown("on Spot", "whether it runs on Spot: give the service", Some(node.anchor())),
        rollout: None,
        routes: Vec::new(),
        mesh: Vec::new(),
    }
}

/// ECS itself has whatever logs through `FireLens` depend on its log router, unless that depends on something.
fn firelens(definitions: &[Rc<Node>], containers: &mut [Container]) {
    let is_router = |node: &&Rc<Node>| node.field("firelensConfiguration").is_some_and(|own| !own.is_null());
    let Some((router, name)) = definitions.iter().find(is_router).and_then(|node| Some((node, node.field("name")?))) else {
        return;
    };
    if router.field("dependsOn").is_some_and(|list| !list.items().is_empty()) {
        return;
    }
    for (node, container) in definitions.iter().filter(|node| matches!(node.kind, Kind::Map(_))).zip(containers) {
        let driver = node.field("logConfiguration").and_then(|log| log.field("logDriver"));
        if let (Some("awsfirelens"), Some(name)) = (driver.and_then(|driver| driver.text()), name.text()) {
            let how = "ECS adds it for the log driver awsfirelens";
            let place = driver.map(|driver| driver.place);
            container.depends_on.push(Fact::derived(how, "dependsOn", name.to_owned(), place));
        }
    }
}

/// What stands for containers of which nothing is known yet, so that rules say what they wait for.
pub(super) fn unknown_container(platform: Platform, field: &str, what: &str, place: Place) -> Container {
    let why = format!("{field}: {what} is only known when it is deployed");
    let mut container = Container::new(platform, "container".to_owned(), place);
    container.entrypoint = Some(Words { words: Err(why.clone()), place });
    container.grace = Fact::unknown("stopTimeout", why, Some(place));
    container
}

fn read_container(node: &Node, platform: Platform, loading: &mut Loading<'_>) -> Option<Container> {
    if !matches!(node.kind, Kind::Map(_)) {
        let message = format!("a container definition is a map, not {}", node.described());
        loading.wrong.push((node.place, message));
        return None;
    }
    let name = node.field("name").and_then(|name| name.text()).unwrap_or("container").to_owned();
    let whose = if platform == Platform::Fargate { "Fargate" } else { "the ECS agent" };
    let mut container = Container::new(platform, name, node.anchor());
    container.image = loading.optional(node, "image", text);
    container.entrypoint = loading.words(node, "entryPoint");
    container.command = loading.words(node, "command");
    if let Some(list) = node.field("environment") {
        container.environment = container::environment(list, loading);
    }
    container.grace = loading.value(node, "stopTimeout", (whose, STOP_TIMEOUT), seconds);
    container.essential = loading.value(node, "essential", ("ECS", true), Node::boolean);
    if let Some(linux) = node.field("linuxParameters") {
        container.init = loading.value(linux, "initProcessEnabled", ("ECS", false), Node::boolean);
    }
    for dependency in node.field("dependsOn").map_or(&[] as &[Rc<Node>], |list| list.items()) {
        container.depends_on.extend(loading.optional(dependency, "containerName", text));
    }
    for mapping in node.field("portMappings").map_or(&[] as &[Rc<Node>], |list| list.items()) {
        container.ports.extend(loading.optional(mapping, "containerPort", Node::number));
    }
    if let Some(policy) = node.field("restartPolicy") {
        let enabled = loading.optional(policy, "enabled", Node::boolean);
        container.restart = enabled.filter(|enabled| enabled.is(&true)).map(|on| Fact { name: "restartPolicy".to_owned(), ..on.map(|_| "enabled".to_owned()) });
    }
    container.liveness = node.field("healthCheck").filter(|check| !check.is_null()).map(|check| probe(check, loading));
    Some(container)
}

/// The health check of a container: ECS replaces the task when it fails.
fn probe(node: &Node, loading: &mut Loading<'_>) -> Probe {
    let command = loading.words(node, "command");
    let command = command.map_or_else(
        || Fact::unknown("command", "the command of the health check", Some(node.anchor())),
        |words| {
            let place = words.place;
            let text = words.words.map(|words| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "));
            Fact { value: text, ..Fact::written("command", String::new(), place) }
        },
    );
    Probe {
        name: "healthCheck",
        place: node.anchor(),
        interval: loading.value(node, "interval", ("ECS", Duration::from_secs(30)), seconds),
        timeout: loading.value(node, "timeout", ("ECS", Duration::from_secs(5)), seconds),
        failures: loading.value(node, "retries", ("ECS", 3), Node::number),
        asks: Asks::Command(command),
    }
}
