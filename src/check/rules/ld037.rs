//! On Spot the containers of a chain share two minutes.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::{Container, Workload};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD037",
    name: "spot-chain",
    formula: "Spot: the sum of stopTimeout along dependsOn ≤ 120",
    severity: "warning on ECS",
    worst: Severity::Warning,
    about: "Containers that depend on each other are stopped one after another, each with its own stopTimeout. Two \
            minutes after the notice all of it is gone.",
    fix: "Lower the stopTimeout of the helpers.",
    source: "AWS on interruptions of Fargate Spot; the API of ECS",
    example: "web (90) depends on envoy (60) on FARGATE_SPOT: 150 > 120",
    over: Over::Workloads,
    check,
};

const NOTICE: Duration = Duration::from_secs(120);

/// A task has so many containers at the most.
const MOST: usize = 10;

fn check(case: &Case<'_>) -> Verdict {
    if !case.platform().is_ecs() || !case.workload.spot.is(&true) {
        return holds();
    }
    let (mut longest, mut most) = (Vec::new(), Duration::ZERO);
    let mut known = BTreeMap::new();
    for container in &case.workload.containers {
        let chain = way(container, case.workload, 0, &mut known);
        let mut sum = Duration::ZERO;
        for link in &chain {
            sum += one(&link.grace)?;
        }
        if chain.len() > 1 && sum > most {
            (longest, most) = (chain, sum);
        }
    }
    if most <= NOTICE {
        return holds();
    }
    let names: Vec<&str> = longest.iter().map(|container| container.name.as_str()).collect();
    let message = format!("stopped one after another they may take {} s, and Spot gives 120: {}", seconds(most), names.join(", "));
    longest.iter().fold(Broken::new(Severity::Warning, message), |broken, link| broken.with(&link.grace)).found()
}

/// The longest way along the dependencies, itself first. Each is followed once: with all that depend on all
/// others there are more ways than can be tried.
fn way<'a>(
    from: &'a Container,
    workload: &'a Workload,
    depth: usize,
    known: &mut BTreeMap<&'a str, Vec<&'a Container>>,
) -> Vec<&'a Container> {
    if depth == MOST {
        return Vec::new();
    }
    if let Some(way) = known.get(from.name.as_str()) {
        return way.clone();
    }
    // As long as it is being followed: a circle, which ECS refuses, is left where it closes.
    known.insert(&from.name, Vec::new());
    let length = |way: &[&Container]| way.iter().filter_map(|link| link.grace.known().copied()).sum::<Duration>();
    let mut best: Vec<&Container> = Vec::new();
    for name in from.depends_on.iter().filter_map(|dependency| dependency.known()) {
        let Some(next) = workload.containers.iter().find(|container| container.name == *name) else { continue };
        let way = way(next, workload, depth + 1, known);
        if length(&way) > length(&best) {
            best = way;
        }
    }
    best.insert(0, from);
    known.insert(&from.name, best.clone());
    best
}
