//! Some platforms have a limit of their own, or signal everything.

use super::{Broken, Over, Rule, Severity, Verdict, all, holds};
use crate::check::case::Case;
use crate::check::fact::seconds;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "LD043",
    name: "platform-cap",
    formula: "D + G + B ≤ the platform's own limit (Fly 300, Render 300, Cloud Run 10, Heroku 30)",
    severity: "error when it does not fit; warning where the platform signals every process (Heroku, systemd)",
    worst: Severity::Error,
    about: "Cloud Run and Heroku wait for a fixed time. Heroku, and systemd with KillMode=control-group, signal every \
            process, so the server hears of the stop without lameduck: nothing is delayed.",
    fix: "Shorten delay and drain; on systemd set KillMode=mixed.",
    source: "the documentation of the platforms",
    example: "--set platform=cloud-run with delay 15 and drain 30",
    over: Over::Containers,
    check,
};

/// The name, the limit if there is one, and whether every process is signalled.
const PLATFORMS: [(&str, Option<u64>, bool); 5] = [
    ("fly", Some(300), false),
    ("render", Some(300), false),
    ("cloud-run", Some(10), false),
    ("heroku", Some(30), true),
    ("systemd", None, true),
];

fn check(case: &Case<'_>) -> Verdict {
    let platform = case.given.text("platform");
    let Some(name) = platform.known().filter(|_| case.lameduck().is_some()) else { return holds() };
    let Some((_, limit, all_signalled)) = PLATFORMS.iter().find(|(known, ..)| known == name) else {
        let known: Vec<&str> = PLATFORMS.iter().map(|(name, ..)| *name).collect();
        return Err(super::Needs::one(format!("a platform it knows: --set platform={}", known.join("|"))));
    };
    let mut broken = Vec::new();
    if let Some(limit) = limit {
        let (delay, drain, buffer) = (case.delay(), case.bounded_drain(), case.buffer());
        let [d, g, b] = all([&delay, &drain, &buffer])?;
        if d + g + b > Duration::from_secs(*limit) {
            let message = format!(
                "{name} waits {limit} s at the most: D {} + G {} + B {} = {}",
                seconds(d), seconds(g), seconds(b), seconds(d + g + b)
            );
            let over = (d + g + b).saturating_sub(Duration::from_secs(*limit));
            let fix = format!("shorten delay and drain by {} s together", seconds(over));
            let finding = Broken::new(Severity::Error, message).fix(fix);
            broken.push(finding.with(&delay).with(&drain).with(&buffer).with(&platform));
        }
    }
    if *all_signalled {
        let message = format!("{name} signals every process, so the server stops without waiting for lameduck");
        let fix = match name.as_str() {
            "systemd" => "set KillMode=mixed in the unit: only lameduck is signalled then",
            _ => "do not rely on a delay there: let the server itself serve on after its signal",
        };
        broken.push(Broken::new(Severity::Warning, message).fix(fix).with(&platform).with(&case.delay()));
    }
    Ok(broken)
}
