//! Joins what stands in different files: service to task definition, target group to service, attributes
//! to target group. By ARN or name; else the only candidate, and then it says so; else `--link`.

use super::cluster;
use super::fact::Fact;
use super::model::{By, Model, Platform, Route, Service};
use super::settings::Given;
use super::source::Sources;
use super::{compose, image};

/// Links everything; returned is what was assumed.
pub fn link(model: &mut Model, given: &Given, sources: &Sources) -> Vec<String> {
    let mut assumed = Vec::new();
    attributes(model, given, sources, &mut assumed);
    compose::assemble(model, sources, &mut assumed);
    // Before the images: what a ConfigMap lends stands behind the ENV of the image.
    assumed.extend(cluster::link(model));
    image::join(model, given, sources, &mut assumed);
    for service in std::mem::take(&mut model.services) {
        join(model, service, given, &mut assumed);
    }
    lone_group(model, given, &mut assumed);
    assumed
}

/// Whether a reference names a thing that goes by these names: as it is, or as the last part of an ARN,
/// or without its revision.
fn names(reference: &str, references: &[String]) -> bool {
    let short = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
    let family = |text: &str| short(text).split(':').next().unwrap_or_default().to_owned();
    let full = references.iter().any(|name| name == reference || *name == short(reference));
    // A definition that has no revision yet, because it is the input of its registration.
    let unrevised = !references.iter().any(|name| name.contains(':'));
    full || (unrevised && references.iter().any(|name| *name == family(reference)))
        || (!reference.contains([':', '/']) && references.iter().any(|name| family(name) == reference))
}

fn refs<'a>(references: &'a [String], name: &'a str) -> Vec<&'a str> {
    references.iter().map(String::as_str).chain([name]).collect()
}

fn join(model: &mut Model, service: Service, given: &Given, assumed: &mut Vec<String>) {
    let named = service.workload.as_ref().and_then(|fact| fact.known().cloned());
    let told = match (&named, &service.workload) {
        (Some(name), _) => format!("it names {name}"),
        (None, Some(_)) => "what it names is only known later".to_owned(),
        (None, None) => "it names none".to_owned(),
    };
    let is_ecs = |at: &usize| model.workloads[*at].platform.is_ecs();
    let candidates: Vec<usize> = (0..model.workloads.len()).filter(is_ecs).collect();
    let said = candidates.iter().copied().find(|at| {
        let workload = &model.workloads[*at];
        given.linked(&[&service.name], &refs(&workload.references, &workload.name))
    });
    let by_name = || {
        let named = named.as_ref()?;
        candidates.iter().copied().find(|at| names(named, &model.workloads[*at].references))
    };
    let found = said.or_else(by_name).or_else(|| {
        let only = candidates.first().copied().filter(|_| candidates.len() == 1)?;
        assumed.push(format!(
            "service {} runs task definition {}: there is no other, though {told}",
            service.name, model.workloads[only].name,
        ));
        Some(only)
    });
    let mut routes = Vec::new();
    for (reference, route) in service.targets {
        routes.push(resolve(model, &reference, route, &service.name, given, assumed));
    }
    let Some(at) = found else {
        if !candidates.is_empty() {
            assumed.push(format!(
                "service {} was left out: {told}{}; --link {}=TASK-DEFINITION joins them",
                service.name,
                if named.is_some() { ", which is in no file" } else { "" },
                service.name,
            ));
        }
        return;
    };
    let workload = &mut model.workloads[at];
    workload.routes.extend(routes);
    workload.rollout.get_or_insert(service.rollout);
    workload.spot = service.spot;
    if let Some(fargate) = service.fargate.and_then(|fact| fact.value.ok()) {
        workload.platform = if fargate { Platform::Fargate } else { Platform::EcsEc2 };
    }
}

/// Finds the target group or the registry of a route.
fn resolve(
    model: &Model,
    reference: &Fact<String>,
    route: Route,
    service: &str,
    given: &Given,
    assumed: &mut Vec<String>,
) -> Route {
    // Of one that is only known later there may still be an only candidate.
    let wanted = reference.known().map_or("", String::as_str);
    let told =
        if wanted.is_empty() { "what it names is only known later".to_owned() } else { format!("it names {wanted}") };
    let by = match &route.by {
        By::Group(_) => {
            let all: Vec<Vec<&str>> = model.groups.iter().map(|group| refs(&group.references, &group.name)).collect();
            let said = all.iter().position(|names| given.linked(&[service], names));
            let by_name = || model.groups.iter().position(|group| names(wanted, &group.references));
            let only = || (model.groups.len() == 1).then_some(0);
            let found = said.or_else(by_name).or_else(|| {
                let only = only()?;
                assumed.push(format!(
                    "service {service} is behind target group {}: there is no other, though {told}",
                    model.groups[only].name
                ));
                Some(only)
            });
            By::Group(found.ok_or_else(|| {
                if wanted.is_empty() {
                    return format!("which target group service {service} is behind: --link {service}=GROUP");
                }
                format!("target group {wanted} of service {service}: give `aws elbv2 describe-target-groups`")
            }))
        }
        By::Dns(why) => {
            let by_name = model.discoveries.iter().position(|discovery| names(wanted, &discovery.references));
            By::Dns(
                by_name
                    .or((model.discoveries.len() == 1).then_some(0))
                    .ok_or_else(|| why.as_ref().err().cloned().unwrap_or_default()),
            )
        }
        other => other.clone(),
    };
    Route { by, ..route }
}

/// Attributes carry no name: they belong to the only target group, or to that of `--link`.
fn attributes(model: &mut Model, given: &Given, sources: &Sources, assumed: &mut Vec<String>) {
    let alone = model.groups.len() == 1 && model.group_attributes.len() == 1;
    for attributes in std::mem::take(&mut model.group_attributes) {
        let file = sources.get(attributes.place.file).name.as_str();
        let said = model.groups.iter().position(|group| given.linked(&[file], &refs(&group.references, &group.name)));
        if let Some(at) = said.or(alone.then_some(0)) {
            let group = &mut model.groups[at];
            if said.is_none() {
                assumed.push(format!(
                    "the attributes in {file} are those of target group {}: there is no other",
                    group.name
                ));
            }
            attributes.apply(group);
        } else {
            for group in &mut model.groups {
                let why = format!("which target group the attributes in {file} are of: --link {file}=NAME");
                if group.deregistration.value.is_err() {
                    group.deregistration.value = Err(why.clone());
                    group.cuts_unhealthy.value = Err(why);
                }
            }
        }
    }
}

/// One workload that no service brings requests to, and one target group: they are meant for each other.
fn lone_group(model: &mut Model, given: &Given, assumed: &mut Vec<String>) {
    let lone = model.groups.len() == 1 && model.workloads.len() == 1;
    if !lone && given.links.is_empty() {
        return;
    }
    let free = |at: &usize| model.workloads[*at].routes.is_empty();
    let free: Vec<usize> = (0..model.workloads.len()).filter(free).collect();
    for at in &free {
        let workload = &model.workloads[*at];
        let said = model.groups.iter().position(|group| {
            given.linked(&refs(&workload.references, &workload.name), &refs(&group.references, &group.name))
        });
        let Some(group) = said.or(lone.then_some(0)) else { continue };
        if said.is_none() {
            assumed.push(format!(
                "{} is behind target group {}: there are no others",
                workload.name, model.groups[group].name
            ));
        }
        let place = Some(model.groups[group].place);
        model.workloads[*at].routes.push(Route { by: By::Group(Ok(group)), place, container: None, port: None });
    }
}
