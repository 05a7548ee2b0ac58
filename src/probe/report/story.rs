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
        add(*at, About::Phase, format!("phase of {url}: {phase}"));
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
        let until = if run.to.saturating_sub(run.from) > Duration::from_millis(100) {
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

/// From the losses one by one where all of them are known, else from the buckets.
fn runs(measured: &Measured) -> Vec<Run> {
    let tally = &measured.tally;
    let all_known = u64::try_from(tally.losses.len()).is_ok_and(|known| known == tally.all().lost());
    let mut pieces: Vec<Run> = if all_known {
        let one = |class: Class| {
            let mut sum = Bucket::default();
            sum.lost[class.index()] = 1;
            sum
        };
        tally.losses.iter().map(|loss| Run { from: loss.lost, to: loss.lost, sum: one(loss.class) }).collect()
    } else {
        let starts = (0..).map(|number| tally.width * number);
        let (first, last) = tally.first_and_last.unwrap_or_default();
        let run = |(from, bucket): (Duration, &Bucket)| Run {
            from: from.max(first),
            to: (from + tally.width).min(last),
            sum: *bucket,
        };
        starts.zip(&tally.buckets).filter(|(_, bucket)| bucket.lost() > 0).map(run).collect()
    };
    pieces.sort_by_key(|piece| piece.from);
    pieces.into_iter().fold(Vec::new(), |mut runs: Vec<Run>, piece| {
        match runs.last_mut() {
            Some(run) if piece.from < run.to + GAP => {
                run.sum = run.sum.with(piece.sum);
                run.to = run.to.max(piece.to);
            }
            _ => runs.push(piece),
        }
        runs
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::sample;

    fn told(measured: &Measured) -> Vec<String> {
        tell(measured).iter().map(|event| format!("{:.1} {}", measured.seconds(event.at), event.text)).collect()
    }

    #[test]
    fn everything_is_told_once_and_in_order() {
        let expected = [
            "-2.0 phase of http://h:8081/status: serving",
            "-2.0 readiness of http://h:8081/readyz: 200",
            "0.0 the deploy command starts: ./deploy web",
            "0.9 it says: stopping <web-1>",
            "1.0 phase of http://h:8081/status: lame-duck",
            "1.1 readiness of http://h:8081/readyz: 503",
            "3.0 phase of http://h:8081/status: draining",
            "3.0 3 requests lost, until 3.20 s: 3 refused (Connection refused)",
            "5.0 phase of http://h:8081/status: no answer",
            "6.0 it ends with status 0",
        ];
        assert_eq!(told(&sample()), expected);
    }

    #[test]
    fn losses_that_are_not_known_one_by_one_are_told_from_the_buckets() {
        let mut sample = sample();
        sample.tally.losses.pop();
        let loss = told(&sample).into_iter().find(|line| line.contains("lost")).unwrap();
        assert_eq!(loss, "3.0 3 requests lost, until 3.20 s: 3 refused (Connection refused)");
    }
}
