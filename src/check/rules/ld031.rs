//! A hook needs its program in the image.

use super::{Broken, Needs, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::Fact;

pub(super) const RULE: Rule = Rule {
    id: "LD031",
    name: "no-shell",
    formula: "a pre-stop hook runs sh or sleep only in an image that has them",
    severity: "warning",
    worst: Severity::Warning,
    about: "In a distroless or scratch image the hook fails at once, and what it was to wait for is not waited for. \
            An event is all that tells.",
    fix: "Use preStop.sleep, which needs nothing in the image, or lameduck's delay.",
    source: "the documentation of Kubernetes on container hooks",
    example: "preStop exec [\"sleep\", \"10\"] in gcr.io/distroless/static",
    over: Over::Containers,
    check,
};

const BARE: [&str; 3] = ["distroless", "scratch", "chainguard"];

fn check(case: &Case<'_>) -> Verdict {
    let Some(program) = &case.container.pre_stop_program else { return holds() };
    let name = one(program)?;
    let name = name.rsplit('/').next().unwrap_or(&name);
    if !matches!(name, "sh" | "bash" | "ash" | "sleep") {
        return holds();
    }
    let container = case.container;
    let is_bare = |image: &&Fact<String>| image.known().is_some_and(|text| BARE.iter().any(|bare| text.contains(bare)));
    let Some(image) = container.image.iter().chain(&container.base).find(is_bare) else {
        return match &container.image {
            None if container.base.is_none() => Err(Needs::one(format!("the image of {}", container.name))),
            image => image.as_ref().map_or_else(holds, |image| one(image).map(|_| Vec::new())),
        };
    };
    let text = one(image)?;
    let message = format!("the hook runs {name}, which {text} does not have: nothing is waited for");
    Broken::new(Severity::Warning, message).with(program).with(image).found()
}
