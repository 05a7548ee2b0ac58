//! What happened, in order: the deploy, the phases, the readiness and the losses as one list.

use super::super::measured::{Measured, distinct};
use super::super::outcome::Class;
use super::super::tally::Bucket;
use super::{count, seconds};
use std::time::Duration;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Deploy,
    Phase,
    Readiness,
    Loss,
}

/// One line of the story.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) about: About,
    pub(super) text: String,
}

/// Losses closer than this belong together.
const GAP: Duration = Duration::from_secs(1);

/// Losses that belong together.
struct Run {
    from: Duration,
    to: Duration,
    sum: Bucket,
}

/// The whole story.
pub(super) fn tell(measured: &Measured) -> Vec<Event> {
    let mut events = Vec::new();
    let mut add = |at: Duration, about: About, text: String| events.push(Event { at, about, text });
    if let Some(deploy) = &measured.deploy {
        add(measured.zero, About::Deploy, format!("the deploy command starts: {}", deploy.command));
        for (at, line) in &deploy.lines {
            add(*at, About::Deploy, format!("it says: {line}"));
        }
        if let Some(code) = deploy.code {
            add(measured.zero + deploy.took, About::Deploy, format!("it ends with status {code}"));
        }
    }
    for (url, at, phase) in &measured.phases {
        let phase = phase.map_or("no answer", |phase| phase.name());
        add(*at, About::Phase, format!("{url}: {phase}"));
    }
    for (url, at, status) in &measured.readiness {
        let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        add(*at, About::Readiness, format!("readiness of {url}: {status}"));
    }
    for run in runs(measured) {
        let lost = u64::from(run.sum.lost());
        let classes = Class::ALL.into_iter().filter(|class| run.sum.lost[class.index()] > 0);
        let classes: Vec<String> =
            classes.map(|class| format!("{} {}", run.sum.lost[class.index()], words(measured, class))).collect();
        let until = if run.to - run.from > Duration::from_millis(200) {
            format!(", until {}", seconds(measured.seconds(run.to)))
        } else {
            String::new()
        };
        let requests = if lost == 1 { "request" } else { "requests" };
        add(run.from, About::Loss, format!("{} {requests} lost{until}: {}", count(lost), classes.join(", ")));
    }
    events.sort_by_key(|event| event.at);
    events
}

/// A class, with the words of its losses when they all say the same.
fn words(measured: &Measured, class: Class) -> String {
    let losses = measured.tally.losses.iter().filter(|loss| loss.class == class);
    match distinct(losses.map(|loss| loss.words.as_str())).as_slice() {
        [words] => format!("{} ({words})", class.name()),
        _ => class.name().to_owned(),
    }
}

fn runs(measured: &Measured) -> Vec<Run> {
    let tally = &measured.tally;
    let Some((first, last)) = tally.first_and_last else { return Vec::new() };
    let mut runs: Vec<Run> = Vec::new();
    let mut from = Duration::ZERO;
    for bucket in &tally.buckets {
        let to = from + tally.width;
        if bucket.lost() > 0 {
            match runs.last_mut() {
                Some(run) if from < run.to + GAP => {
                    run.sum = run.sum.with(*bucket);
                    run.to = to.min(last);
                }
                _ => runs.push(Run { from: from.max(first), to: to.min(last), sum: *bucket }),
            }
        }
        from = to;
    }
    runs
}
