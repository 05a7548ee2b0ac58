//! On Spot the containers of a chain share two minutes.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::{Container, Workload};
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

fn check(case: &Case<'_>) -> Verdict {
    if !case.platform().is_ecs() || !case.workload.spot.is(&true) {
        return holds();
    }
    let mut longest: Vec<&Container> = Vec::new();
    let mut most = Duration::ZERO;
    for container in &case.workload.containers {
        let mut chain = Vec::new();
        follow(container, case.workload, &mut chain);
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

/// The longest way along the dependencies; a circle, which ECS refuses, is left where it closes.
fn follow<'a>(from: &'a Container, workload: &'a Workload, chain: &mut Vec<&'a Container>) {
    chain.push(from);
    let mut best: Vec<&Container> = Vec::new();
    for name in from.depends_on.iter().filter_map(|dependency| dependency.known()) {
        let next = workload.containers.iter().find(|container| container.name == *name);
        // A task has ten containers at the most.
        let Some(next) = next.filter(|next| chain.len() < 10 && chain.iter().all(|seen| seen.name != next.name)) else {
            continue;
        };
        let mut way = chain.clone();
        follow(next, workload, &mut way);
        let added = way.split_off(chain.len());
        let length = |way: &[&Container]| way.iter().filter_map(|link| link.grace.known().copied()).sum::<Duration>();
        if length(&added) > length(&best) {
            best = added;
        }
    }
    chain.extend(best);
}
