//! Service Connect takes its time.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::seconds;
use crate::check::model::By;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD013",
    name: "service-connect",
    formula: "Service Connect: D ≥ 15",
    severity: "warning",
    worst: Severity::Warning,
    about: "The proxies of the other tasks learn of the removal some time after the task began to stop. Their \
            two retries do not cover it.",
    fix: "Set the delay to 15 s.",
    source: "measured on a service in production: errors for 8 s without, a few with 10 s, none with 15 s",
    example: "delay 10 with serviceConnectConfiguration.enabled",
    over: Over::Containers,
    check,
};

const LEAST: Duration = Duration::from_secs(15);

fn check(case: &Case<'_>) -> Verdict {
    for route in &case.workload.routes {
        let By::ServiceConnect(enabled) = &route.by else { continue };
        let delay = case.delay();
        if one(enabled)? && one(&delay)? < LEAST {
            let message = format!(
                "other tasks' proxies still send requests when the server stops: D {} < 15",
                seconds(one(&delay)?)
            );
            return Broken::new(Severity::Warning, message).with(&delay).with(enabled).found();
        }
    }
    holds()
}
