//! Two inits.

use super::{Broken, Over, Rule, Severity, Verdict, holds};
use crate::check::case::Case;
use crate::check::fact::Fact;
use crate::check::launch::FrontKind;

pub(super) const RULE: Rule = Rule {
    id: "LD029",
    name: "double-init",
    formula: "lameduck without another init",
    severity: "warning",
    worst: Severity::Warning,
    about: "initProcessEnabled, init: true and --init put tini in front as PID 1. It passes the signal on to \
            lameduck, so nothing is lost; but nothing is gained either.",
    fix: "Take the other init out: lameduck does what it does.",
    source: "the documentation of ECS, Compose and Docker",
    example: "initProcessEnabled true with an entry point of lameduck",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(settings) = case.lameduck() else { return holds() };
    let init = &case.container.init;
    let message = "another init stands in front of lameduck";
    if init.is(&true) {
        return Broken::new(Severity::Warning, message).with(init).with(&settings.delay).found();
    }
    if let Some(front) = case.container.launch.passes(|kind| *kind == FrontKind::Init) {
        let cited = Fact::written("init", front.word.text.clone(), front.word.place);
        return Broken::new(Severity::Warning, message).with(&cited).found();
    }
    if init.value.is_err() { Err(super::Needs::one("whether the platform puts an init in front".to_owned())) } else { holds() }
}
