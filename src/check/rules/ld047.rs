//! A clean stop that ends with 143 looks like a failure.

use super::{Broken, Over, Rule, Severity, Verdict, holds};
use crate::check::case::Case;

pub(super) const RULE: Rule = Rule {
    id: "LD047",
    name: "restart-policy",
    formula: "restarted after any end: a program that ends with 143 after a clean stop has its status mapped",
    severity: "info",
    worst: Severity::Info,
    about: "puma and the JVM end with 143 after a clean stop. A policy that restarts, or an alarm that counts, takes \
            that for a failure.",
    fix: "Set LAMEDUCK_MAP_EXIT=143.",
    source: "watched live",
    example: "java with restartPolicy enabled and no LAMEDUCK_MAP_EXIT",
    over: Over::Containers,
    check,
};

/// Those that are known to.
const ENDS_WITH_143: [&str; 2] = ["java", "puma"];

fn check(case: &Case<'_>) -> Verdict {
    let (Some(settings), Some(restart)) = (case.lameduck(), &case.container.restart) else { return holds() };
    let program = &case.container.launch.program;
    let ends = program.known().is_some_and(|name| ENDS_WITH_143.contains(&name.as_str()));
    if !ends || settings.map_exit.iter().any(|(from, _)| *from == 143) {
        return holds();
    }
    let message = "a clean stop ends with 143, which looks like a failure";
    Broken::new(Severity::Info, message).with(program).with(restart).found()
}
