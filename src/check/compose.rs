//! Puts the files of a Compose project together: what a service extends, and files that are laid over each
//! other, as `docker compose -f a -f b` does.
//!
//! Files of one directory are taken for one project when the later one only adds to a service, or has the
//! earlier one's name and more: `compose.yaml` and `compose.prod.yaml`.

use super::fact::{Fact, Origin};
use super::image::{HEALTHCHECK, normal_path};
use super::model::{Asks, Container, Model, Platform, Probe, Rollout, STOPSIGNAL, Workload};
use super::source::{FileId, Place, Sources};
use crate::core::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A service as one file has it.
#[derive(Clone, Debug)]
pub struct Service {
    /// The file.
    pub file: FileId,
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The service that it takes what is not written here from.
    pub extends: Option<Extends>,
    /// Its container.
    pub container: Container,
    /// Whether it shares its processes with others.
    pub shared_pids: Fact<bool>,
    /// How Swarm replaces it.
    pub rollout: Option<Rollout>,
    /// The files of variables that it takes in.
    pub env_files: Vec<String>,
    /// What of a service below it counts no more (`!reset`, `!override`): keys, and `environment.NAME`.
    pub reset: Vec<String>,
}

/// A service that another one extends.
#[derive(Clone, Debug)]
pub struct Extends {
    /// Its file, as a path from where the check runs; `None` = the same.
    pub file: Option<String>,
    /// Its name.
    pub service: String,
}

/// What Compose waits when no `stop_grace_period` is written.
const GRACE: Duration = Duration::from_secs(10);

/// Services extend each other so often at the most.
const MOST_EXTENDS: usize = 32;

/// Makes workloads of all services.
pub fn assemble(model: &mut Model, sources: &Sources, assumed: &mut Vec<String>) {
    let services = std::mem::take(&mut model.compose);
    let index = Index::of(&services, sources);
    let mut whole: Vec<Service> = (0..services.len()).map(|at| index.extended(at, 0, assumed)).collect();
    // What is meant to be laid over others comes behind them, whatever the alphabet says.
    let files: BTreeSet<(&str, &str)> =
        services.iter().map(|service| directory_and_stem(&sources.get(service.file).name)).collect();
    whole.sort_by_key(|service| {
        let (directory, stem) = directory_and_stem(&sources.get(service.file).name);
        shorter(stem).filter(|base| files.contains(&(directory, *base))).count()
    });
    let mut projects: Vec<Service> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut said = Vec::new();
    for over in whole {
        let name = &sources.get(over.file).name;
        let key = (directory_and_stem(name).0.to_owned(), over.name.clone());
        let below = places.get(&key).copied().filter(|at| {
            let below = &projects[*at];
            below.file != over.file && lies_over(name, &sources.get(below.file).name, &over)
        });
        if let Some(at) = below {
            let message = format!("{name} is laid over {}, as with -f", sources.get(projects[at].file).name);
            if !said.contains(&message) {
                said.push(message);
            }
            let service = projects[at].clone();
            projects[at] = Service { file: projects[at].file, ..lay_over(service, over) };
        } else {
            places.insert(key, projects.len());
            projects.push(over);
        }
    }
    assumed.extend(said);
    for service in &projects {
        let unseen = |file: &String| {
            format!("{}: nothing of lameduck's comes from env_file {file}, which is not looked at", service.name)
        };
        assumed.extend(service.env_files.iter().map(unseen));
    }
    model.workloads.extend(projects.into_iter().map(workload));
}

/// A container of which nothing is said but its name.
#[must_use]
pub fn unsaid(name: &str, place: Place) -> Container {
    let mut container = Container::new(Platform::Compose, name.to_owned(), place);
    container.grace = Fact::default_of("Compose", "stop_grace_period", GRACE, Some(place));
    container
}

fn workload(service: Service) -> Workload {
    Workload {
        platform: Platform::Compose,
        references: vec![service.name.clone()],
        name: service.name,
        place: service.place,
        containers: vec![service.container],
        shared_pids: service.shared_pids,
        spot: Fact::default_of("Compose", "spot", false, Some(service.place)),
        rollout: service.rollout,
        routes: Vec::new(),
        mesh: Vec::new(),
    }
}

/// Whether a file is meant to be laid over an earlier one of its directory.
fn lies_over(file: &str, below: &str, service: &Service) -> bool {
    let only_adds = service.container.image.is_none() && service.container.build.is_none();
    let base = directory_and_stem(below).1;
    only_adds || shorter(directory_and_stem(file).1).any(|shorter| shorter == base)
}

/// The directory of a path with its `/`, and the name of the file without its ending.
fn directory_and_stem(path: &str) -> (&str, &str) {
    let (directory, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    (directory, name.rsplit_once('.').map_or(name, |(stem, _)| stem))
}

/// Of `compose.prod.eu` all that it adds to: `compose`, `compose.prod`.
fn shorter(stem: &str) -> impl Iterator<Item = &str> {
    stem.match_indices(['.', '-', '_']).map(|(at, _)| &stem[..at])
}

struct Index<'a> {
    services: &'a [Service],
    by_name: BTreeMap<(String, &'a str), usize>,
    sources: &'a Sources,
}

// === impl Index ===

impl<'a> Index<'a> {
    fn of(services: &'a [Service], sources: &'a Sources) -> Self {
        let key = |service: &'a Service| (normal_path(&sources.get(service.file).name), service.name.as_str());
        let by_name = services.iter().enumerate().map(|(at, service)| (key(service), at)).collect();
        Self { services, by_name, sources }
    }

    /// A service with what it extends below it.
    fn extended(&self, at: usize, depth: usize, assumed: &mut Vec<String>) -> Service {
        let service = self.services[at].clone();
        let Some(extends) = &service.extends else { return service };
        let own = &self.sources.get(service.file).name;
        let file = extends.file.as_ref().unwrap_or(own);
        match self.by_name.get(&(normal_path(file), extends.service.as_str())) {
            Some(base) if depth < MOST_EXTENDS => lay_over(self.extended(*base, depth + 1, assumed), service),
            Some(_) => service,
            // That it is not in its own file was said when that was read.
            None if extends.file.is_none() => service,
            None => {
                let message = format!(
                    "{}: what it extends, {} of {file}, is not known: give that file too",
                    service.name, extends.service
                );
                if !assumed.contains(&message) {
                    assumed.push(message);
                }
                service
            }
        }
    }
}

/// One service over another: what the upper one says counts, and what adds up is added.
fn lay_over(mut below: Service, over: Service) -> Service {
    for key in &over.reset {
        forget(&mut below.container, key);
        if key == "env_file" {
            below.env_files.clear();
        }
    }
    below.env_files.extend(over.env_files.iter().cloned());
    Service {
        env_files: below.env_files,
        container: lay_container_over(below.container, over.container),
        shared_pids: said(over.shared_pids, below.shared_pids),
        rollout: over.rollout.or(below.rollout),
        ..over
    }
}

/// Takes what is said under a key away.
fn forget(container: &mut Container, key: &str) {
    let unsaid = unsaid(&container.name, container.place);
    match key {
        "image" => container.image = None,
        "build" => container.build = None,
        "entrypoint" => container.entrypoint = None,
        "command" => container.command = None,
        "environment" => container.environment.clear(),
        "stop_grace_period" => container.grace = unsaid.grace,
        "stop_signal" => container.stop_signal = unsaid.stop_signal,
        "init" => container.init = unsaid.init,
        "restart" => container.restart = None,
        "pre_stop" => (container.pre_stop, container.pre_stop_program) = (unsaid.pre_stop, None),
        "healthcheck" => (container.liveness, container.image_check) = (None, true),
        other => {
            let name = other.strip_prefix("environment.");
            container.environment.retain(|variable| Some(variable.name.as_str()) != name);
        }
    }
}

/// The upper one unless it is only a default.
fn said<T>(over: Fact<T>, below: Fact<T>) -> Fact<T> {
    if matches!(over.origin, Origin::Default(_)) { below } else { over }
}

fn lay_container_over(below: Container, over: Container) -> Container {
    let mut environment = below.environment;
    environment.extend(over.environment);
    let mut ports = below.ports;
    ports.extend(over.ports);
    let liveness = match (below.liveness, over.liveness) {
        (Some(below), Some(over)) => Some(lay_probe_over(below, over)),
        // Switched off above.
        (Some(_), None) if !over.image_check => None,
        (below, over) => over.or(below),
    };
    let of_image = |container: &Fact<Signal>| container.name == STOPSIGNAL;
    let signal =
        if of_image(&over.stop_signal) && !of_image(&below.stop_signal) { below.stop_signal } else { over.stop_signal };
    Container {
        image: over.image.or(below.image),
        build: over.build.or(below.build),
        entrypoint: over.entrypoint.or(below.entrypoint),
        command: over.command.or(below.command),
        environment,
        grace: said(over.grace, below.grace),
        pre_stop: said(over.pre_stop, below.pre_stop),
        pre_stop_program: over.pre_stop_program.or(below.pre_stop_program),
        stop_signal: signal,
        init: said(over.init, below.init),
        image_check: over.image_check && (below.image_check || liveness.is_some()),
        liveness,
        ports,
        restart: over.restart.or(below.restart),
        ..unsaid(&over.name, over.place)
    }
}

fn lay_probe_over(below: Probe, over: Probe) -> Probe {
    let of_image = matches!(&over.asks, Asks::Command(command) if command.name == HEALTHCHECK);
    Probe {
        name: over.name,
        place: over.place,
        interval: said(over.interval, below.interval),
        timeout: said(over.timeout, below.timeout),
        failures: said(over.failures, below.failures),
        asks: if of_image { below.asks } else { over.asks },
    }
}
