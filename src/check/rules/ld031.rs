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

/// What is called so has a shell, whoever made it.
const WITH_SHELL: [&str; 4] = ["debug", "-dev", "busybox", "wolfi-base"];

/// Whether an image is known to have no shell: by a word of its name or tag, not by some letters of it.
fn is_bare(image: &str) -> bool {
    let mut words = image.split(|c: char| !c.is_ascii_alphanumeric());
    let bare = image == "scratch" || words.any(|word| word == "distroless") || image.split('/').any(|part| part == "chainguard");
    bare && !WITH_SHELL.iter().any(|shell| image.contains(shell))
}

fn check(case: &Case<'_>) -> Verdict {
    let Some(program) = &case.container.pre_stop_program else { return holds() };
    let name = one(program)?;
    let name = name.rsplit('/').next().unwrap_or(&name);
    if !matches!(name, "sh" | "bash" | "ash" | "sleep") {
        return holds();
    }
    let container = case.container;
    let bare = |image: &&Fact<String>| image.known().is_some_and(|text| is_bare(text));
    let Some(image) = container.image.iter().chain(&container.base).find(bare) else {
        return match &container.image {
            None if container.base.is_none() => Err(Needs::one(format!("the image of {}", container.name))),
            image => image.as_ref().map_or_else(holds, |image| one(image).map(|_| Vec::new())),
        };
    };
    let text = one(image)?;
    let message = format!("the hook runs {name}, which {text} does not have: nothing is waited for");
    Broken::new(Severity::Warning, message).with(program).with(image).found()
}

#[cfg(test)]
mod tests {
    use super::is_bare;

    #[test]
    fn an_image_without_a_shell_is_told_by_a_part_of_its_name() {
        for (image, bare) in [
            ("scratch", true),
            ("gcr.io/distroless/static:nonroot", true),
            ("gcr.io/distroless/java17-debian12@sha256:0123", true),
            ("registry:5000/distroless-python:3", true),
            ("cgr.dev/chainguard/nginx:latest", true),
            ("gcr.io/distroless/java17-debian12:debug", false),
            ("cgr.dev/chainguard/python:latest-dev", false),
            ("cgr.dev/chainguard/busybox", false),
            ("acme/scratchpad:1", false),
            ("acme/from-scratch:1", false),
            ("acme/web:1.2-distroless", true),
        ] {
            assert_eq!(is_bare(image), bare, "{image}");
        }
    }
}
