//! Joins images with the containers that run them, so that what a Dockerfile or `docker image inspect` says
//! completes a task definition, a pod or a Compose service.
//!
//! An image goes to a container by `--link`, by the `build:` of Compose, or by its name; else by the last
//! part of its name, or because there is no other, and then it says so. What no container takes runs by
//! itself, as with `docker run`.

mod name;

pub(super) use name::normal_path;

use super::fact::Fact;
use super::model::{Asks, Container, Model, Platform, STOPSIGNAL, Workload};
use super::settings::Given;
use super::source::{Place, Sources};
use crate::core::Signal;
use name::{Name, directory};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What containers run unless they say otherwise.
#[derive(Debug)]
pub struct Image {
    /// Its name for people.
    pub name: String,
    /// The names by which others refer to it: tags and digests.
    pub references: Vec<String>,
    /// Where it begins.
    pub place: Place,
    /// The image that it is built from, unless that is in the same file and already in here.
    pub base: Option<Fact<String>>,
    /// The stage of a Dockerfile that it is.
    pub stage: Option<String>,
    /// Whether it is what is built when no stage is asked for.
    pub last: bool,
    /// A container of it to which nothing else was said.
    pub container: Container,
}

/// What an image is built from.
#[derive(Clone, Debug)]
pub struct Build {
    /// The Dockerfile, as a path from where the check runs.
    pub file: Fact<String>,
    /// The stage that is asked for.
    pub target: Option<String>,
}

/// The name of what is asked by a health check, as long as it is the image that says it.
pub const HEALTHCHECK: &str = "HEALTHCHECK";

/// What `docker stop` sends when nothing is written.
const DEFAULT_SIGNAL: Signal = Signal::TERM;

/// The `STOPSIGNAL` of official images, read in their source, by repository and a part of the tag.
const OFFICIAL: [(&str, &str, &str, Signal); 7] = [
    ("nginx", "", "the official image of nginx", Signal::QUIT),
    ("openresty/openresty", "", "the official image of openresty", Signal::QUIT),
    ("httpd", "", "the official image of httpd", Signal::WINCH),
    ("php", "apache", "the official image of php", Signal::WINCH),
    ("php", "fpm", "the official image of php", Signal::QUIT),
    ("haproxy", "", "the official image of haproxy", Signal::USR1),
    ("postgres", "", "the official image of postgres", Signal::INT),
];

/// So many images are built from each other at the most.
const MOST_BASES: usize = 16;

/// A container, by the number of its workload and its own.
type At = (usize, usize);

/// Why an image goes to a container.
enum Why {
    /// Somebody wrote it: nothing to be said.
    Written,
    /// It was taken to be so, for this reason.
    Assumed(String),
}

/// Where images are found: there may be as many as files, and as many containers again.
struct Index {
    /// The path of each one's file.
    paths: Vec<String>,
    /// By the last part of its names, or the directory of a Dockerfile that has none.
    by_last: HashMap<String, Vec<usize>>,
}

/// Joins everything.
pub fn join(model: &mut Model, given: &Given, sources: &Sources, assumed: &mut Vec<String>) {
    let mut index = Index::of(&model.images, sources);
    name_builds(model, &index);
    index.names(&model.images);
    let mut used = vec![false; model.images.len()];
    bases(model, given, sources, &mut used);
    for image in &mut model.images {
        settle(image);
    }
    let containers: Vec<At> = (0..model.workloads.len())
        .flat_map(|at| (0..model.workloads[at].containers.len()).map(move |inner| (at, inner)))
        .collect();
    let mut alone = Vec::new();
    for at in containers {
        let found = by_link(model, at, given, sources)
            .or_else(|| by_build(model, at, &index))
            .or_else(|| by_name(model, at, &index, &used));
        match found {
            Some((image, why)) => take(model, at, image, &why, &mut used, assumed),
            None => alone.push(at),
        }
    }
    only_candidate(model, &alone, &mut used, sources, assumed);
    for workload in &mut model.workloads {
        for container in &mut workload.containers {
            if let Some(official) = container.image.as_ref().and_then(official) {
                signal_of_image(container, &official);
            }
        }
    }
    run_the_rest(model, &used);
}

/// What Compose builds under a name is known to others by that name.
fn name_builds(model: &mut Model, index: &Index) {
    for workload in &model.workloads {
        for container in &workload.containers {
            let tag = container.image.as_ref().and_then(|image| image.known());
            if let (Some(build), Some(tag)) = (&container.build, tag)
                && let Some(at) = index.built(&model.images, build)
            {
                model.images[at].references.push(tag.clone());
            }
        }
    }
}

/// Completes images by those that they are built from.
fn bases(model: &mut Model, given: &Given, sources: &Sources, used: &mut [bool]) {
    let mut by_name = BTreeMap::new();
    for (at, image) in model.images.iter().enumerate() {
        for reference in &image.references {
            by_name.entry(Name::parse(reference).full()).or_insert(at);
        }
    }
    for _ in 0..MOST_BASES {
        let mut any = false;
        for at in 0..model.images.len() {
            let Some(base) = model.images[at].base.as_ref().and_then(|base| base.known()) else { continue };
            let said = || {
                let linked = |image: &Image| given.linked(&[base], &all_names(image, sources));
                if given.links.is_empty() { None } else { model.images.iter().position(linked) }
            };
            let Some(found) = by_name.get(&Name::parse(base).full()).copied().or_else(said) else { continue };
            if found == at || model.images[found].base.is_some() {
                continue;
            }
            let below = model.images[found].container.clone();
            complete(&mut model.images[at].container, &below, Platform::Docker);
            model.images[at].base = None;
            used[found] = true;
            any = true;
        }
        if !any {
            break;
        }
    }
}

/// What an image leaves to a base that nobody knows, or to none.
fn settle(image: &mut Image) {
    let place = image.container.place;
    match &image.base {
        None => {
            signal_of_image(&mut image.container, &Fact::default_of("Docker", STOPSIGNAL, DEFAULT_SIGNAL, Some(place)));
        }
        Some(base) => {
            let shown = base.known().map_or("its base", String::as_str);
            let why = format!("{shown}, from which {} is built: give `docker image inspect {shown}`", image.name);
            let at = base.place.unwrap_or(place);
            let unknown = Fact::unknown(STOPSIGNAL, format!("the STOPSIGNAL of {why}"), Some(at));
            signal_of_image(&mut image.container, &official(base).unwrap_or(unknown));
        }
    }
}

/// The stop signal of an official image.
fn official(image: &Fact<String>) -> Option<Fact<Signal>> {
    let name = Name::parse(image.known()?);
    let tag = name.tag.unwrap_or_default();
    let is =
        |(repository, part, ..): &&(&str, &str, &str, Signal)| name.repository == *repository && tag.contains(part);
    let (_, _, whose, signal) = OFFICIAL.iter().find(is)?;
    Some(Fact::default_of(whose, STOPSIGNAL, *signal, image.place))
}

fn signal_of_image(container: &mut Container, signal: &Fact<Signal>) {
    if container.stop_signal.name == STOPSIGNAL && container.stop_signal.value.is_err() {
        container.stop_signal = signal.clone();
    }
}

/// Fills in what a container leaves to its image.
fn complete(container: &mut Container, image: &Container, platform: Platform) {
    // Whoever sets the entry point takes the image's command away.
    if container.entrypoint.is_none() {
        container.entrypoint.clone_from(&image.entrypoint);
        if container.command.is_none() {
            container.command.clone_from(&image.command);
        }
    }
    let own = std::mem::take(&mut container.environment);
    container.environment = image.environment.iter().cloned().chain(own).collect();
    signal_of_image(container, &image.stop_signal);
    if container.base.is_none() {
        container.base.clone_from(&image.base);
    }
    // ECS and Kubernetes look at no HEALTHCHECK.
    if matches!(platform, Platform::Compose | Platform::Docker) && container.image_check {
        match (&mut container.liveness, &image.liveness) {
            (None, check) => container.liveness.clone_from(check),
            (Some(own), Some(check)) => {
                if let Asks::Command(command) = &own.asks
                    && command.name == HEALTHCHECK
                {
                    own.asks = check.asks.clone();
                }
            }
            (Some(_), None) => {}
        }
        container.image_check &= image.image_check;
    }
}

fn take(model: &mut Model, at: At, image: usize, why: &Why, used: &mut [bool], assumed: &mut Vec<String>) {
    let workload = &mut model.workloads[at.0];
    let image_of = &model.images[image];
    let subject = subject(workload, at.1);
    if let Why::Assumed(reason) = why {
        let message = format!("{subject} runs the image of {}: {reason}", image_of.name);
        // Two platforms may call theirs the same.
        if !assumed.contains(&message) {
            assumed.push(message);
        }
    }
    complete(&mut workload.containers[at.1], &image_of.container, workload.platform);
    used[image] = true;
}

fn subject(workload: &Workload, at: usize) -> String {
    let container = &workload.containers[at];
    if container.name == workload.name {
        workload.name.clone()
    } else {
        format!("{}/{}", workload.name, container.name)
    }
}

/// All by which an image can be meant on the command line.
fn all_names<'a>(image: &'a Image, sources: &'a Sources) -> Vec<&'a str> {
    let file = sources.get(image.place.file).name.as_str();
    let own = [file, image.name.as_str()].into_iter();
    let names = own.filter(|_| image.last).chain(image.references.iter().map(String::as_str));
    names.chain(image.stage.as_deref()).collect()
}

fn by_link(model: &Model, (workload, inner): At, given: &Given, sources: &Sources) -> Option<(usize, Why)> {
    if given.links.is_empty() {
        return None;
    }
    let workload = &model.workloads[workload];
    let container = &workload.containers[inner];
    let subject = subject(workload, inner);
    let image = container.image.as_ref().and_then(|image| image.known());
    let names: Vec<&str> = [container.name.as_str(), &subject].into_iter().chain(image.map(String::as_str)).collect();
    let found = model.images.iter().position(|image| given.linked(&names, &all_names(image, sources)))?;
    Some((found, Why::Written))
}

fn by_build(model: &Model, (workload, inner): At, index: &Index) -> Option<(usize, Why)> {
    let build = model.workloads[workload].containers[inner].build.as_ref()?;
    Some((index.built(&model.images, build)?, Why::Written))
}

/// By the whole name; else by its last part, or the directory of the Dockerfile, when only one has it.
fn by_name(model: &Model, (workload, inner): At, index: &Index, used: &[bool]) -> Option<(usize, Why)> {
    let container = &model.workloads[workload].containers[inner];
    let wanted = Name::parse(container.image.as_ref()?.known()?);
    let names =
        |image: &Image, same: &dyn Fn(&Name<'_>) -> bool| image.references.iter().any(|r| same(&Name::parse(r)));
    let candidates = index.by_last.get(wanted.last())?;
    if let Some(at) = candidates.iter().copied().find(|at| names(&model.images[*at], &|name| name.is(&wanted))) {
        return Some((at, Why::Written));
    }
    let mut like = candidates.iter().copied().filter(|at| {
        let image = &model.images[*at];
        // `FROM nginx` in a directory of that name is not what `image: nginx` is.
        let base = image.base.as_ref().and_then(|base| base.known());
        let is_base = base.is_some_and(|base| Name::parse(base).last() == wanted.last());
        let by_place = image.references.is_empty() && !used[*at] && !is_base;
        image.last && (by_place || names(image, &|name| name.last() == wanted.last()))
    });
    let found = like.next().filter(|_| like.next().is_none())?;
    let reason = if model.images[found].references.is_empty() {
        format!("its directory has the name of {}", wanted.repository)
    } else {
        format!("it has the name of {}, though not its tag", wanted.full())
    };
    Some((found, Why::Assumed(reason)))
}

/// One image without a name, and containers that all run the same: they are meant for each other.
fn only_candidate(model: &mut Model, alone: &[At], used: &mut [bool], sources: &Sources, assumed: &mut Vec<String>) {
    let nameless = |at: &usize| {
        let image = &model.images[*at];
        image.last && !used[*at] && image.references.is_empty()
    };
    let free: Vec<usize> = (0..model.images.len()).filter(nameless).collect();
    let runs = |(workload, inner): &At| {
        let image = model.workloads[*workload].containers[*inner].image.as_ref()?;
        Some(image.value.clone().unwrap_or_else(|why| why))
    };
    let kinds = |among: &[At]| among.iter().map(runs).collect::<BTreeSet<_>>().len();
    let speaks = |(workload, inner): &&At| {
        let environment = &model.workloads[*workload].containers[*inner].environment;
        environment.iter().any(|variable| variable.name.starts_with("LAMEDUCK_"))
    };
    let (meant, reason) = if kinds(alone) == 1 {
        (alone.to_vec(), "there is no other")
    } else {
        (alone.iter().filter(speaks).copied().collect(), "there is no other that speaks of lameduck")
    };
    match free.as_slice() {
        [image] if kinds(&meant) == 1 => {
            for at in meant {
                take(model, at, *image, &Why::Assumed(reason.to_owned()), used, assumed);
            }
        }
        _ if alone.is_empty() => {}
        free => assumed.extend(free.iter().map(|at| {
            let file = &sources.get(model.images[*at].place.file).name;
            format!("{file} was joined with no container: --link CONTAINER={file} says which runs it")
        })),
    }
}

/// What no container takes runs by itself.
fn run_the_rest(model: &mut Model, used: &[bool]) {
    for (image, used) in model.images.iter().zip(used) {
        if *used || !image.last {
            continue;
        }
        let place = image.place;
        model.workloads.push(Workload {
            platform: Platform::Docker,
            name: image.name.clone(),
            references: image.references.clone(),
            place,
            containers: vec![image.container.clone()],
            shared_pids: Fact::default_of("Docker", "pid", false, Some(place)),
            spot: Fact::default_of("Docker", "spot", false, Some(place)),
            rollout: None,
            routes: Vec::new(),
            mesh: Vec::new(),
        });
    }
}

// === impl Index ===

impl Index {
    fn of(images: &[Image], sources: &Sources) -> Self {
        let path = |image: &Image| normal_path(&sources.get(image.place.file).name);
        Self { paths: images.iter().map(path).collect(), by_last: HashMap::new() }
    }

    /// Takes in the names, which are complete now.
    fn names(&mut self, images: &[Image]) {
        for (at, image) in images.iter().enumerate() {
            let mut names: BTreeSet<&str> = image.references.iter().map(|name| Name::parse(name).last()).collect();
            if names.is_empty() {
                names.extend(directory(&self.paths[at]));
            }
            for name in names {
                self.by_last.entry(name.to_owned()).or_default().push(at);
            }
        }
    }

    /// The image that a build makes.
    fn built(&self, images: &[Image], build: &Build) -> Option<usize> {
        let wanted = normal_path(build.file.known()?);
        images.iter().zip(&self.paths).position(|(image, path)| {
            let is_stage = build.target.as_ref().map_or(image.last, |target| image.stage.as_ref() == Some(target));
            is_stage && *path == wanted
        })
    }
}
