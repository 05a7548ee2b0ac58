//! php-fpm waits for nobody unless it is told to.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;

pub(super) const RULE: Rule = Rule {
    id: "LD049",
    name: "php-fpm-control-timeout",
    formula: "php-fpm: 0 < process_control_timeout ≤ G",
    severity: "error",
    worst: Severity::Error,
    about: "With its default of 0 the master ends its workers at once on QUIT, requests in flight or not.",
    fix: "Set process_control_timeout below the drain timeout, and say so with --set process-control-timeout=….",
    source: "the documentation of php-fpm; measured in Smals-Webtech/base-php pull 55: 502s at 0, none at 15",
    example: "--set process-control-timeout=0",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let program = &case.container.launch.program;
    let image = case.container.image.as_ref().and_then(|image| image.known());
    let by_name = program.known().is_some_and(|name| name.starts_with("php-fpm"));
    let by_image = image.is_some_and(|image| image.contains("php") && image.contains("fpm"));
    if !by_name && !by_image {
        return holds();
    }
    let limit = case.given.time("process-control-timeout");
    let drain = case.bounded_drain();
    if limit.known().is_some_and(std::time::Duration::is_zero) {
        let message = "php-fpm cuts its requests: process_control_timeout is 0";
        return Broken::new(Severity::Error, message).with(&limit).with(program).found();
    }
    if case.lameduck().is_none() {
        return all([&limit]).map(|_| Vec::new());
    }
    let [own, g] = all([&limit, &drain])?;
    if own <= g {
        return holds();
    }
    let message = format!("SIGKILL comes before php-fpm's own limit: process_control_timeout {} > G {}", seconds(own), seconds(g));
    Broken::new(Severity::Error, message).with(&limit).with(&drain).found()
}
