//! lameduck is not PID 1 where containers share their processes.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;

pub(super) const RULE: Rule = Rule {
    id: "LD030",
    name: "not-pid1",
    formula: "each container has a PID namespace of its own",
    severity: "info",
    worst: Severity::Info,
    about: "In a shared namespace lameduck is not PID 1. It becomes the reaper of its own descendants, and leaves \
            those of the others alone; what escapes it, it cannot end.",
    fix: "Leave pidMode or shareProcessNamespace out unless something needs it; else set LAMEDUCK_SUBREAPER=1.",
    source: "pid_namespaces(7)",
    example: "pidMode task",
    over: Over::Workloads,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let shared = &case.workload.shared_pids;
    if case.lameduck().is_none() || !one(shared)? {
        return holds();
    }
    Broken::new(Severity::Info, "lameduck is not PID 1 here").with(shared).found()
}
