//! The result for programs. Keys may be added; those that are here stay.

use super::super::measured::{Measured, Result};
use super::super::outcome::Class;
use super::super::tally::{Bucket, Counts};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// The whole result. Moments are seconds since the deploy command began, or since the load began where
/// there is none; what came before is negative.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// The version of these keys.
    schema: u32,
    /// `kept`, `lost` or `no_measure`.
    result: &'static str,
    /// Why it is no measure.
    why_no_measure: Vec<String>,
    /// The time of day when the load began, in seconds since 1970.
    began_unix_s: f64,
    /// How long the load lasted.
    seconds: f64,
    /// Requests a second that were asked for.
    rate: f64,
    /// Requests that were sent: `answered` and `lost` together.
    sent: u64,
    answered: u64,
    lost: u64,
    max_lost: u64,
    /// Requests that could not be sent, for want of something here.
    not_sent: u64,
    /// Requests that were still on their way when it was cut short.
    unfinished: u64,
    /// Of the lost, those on connections that had been used before.
    lost_on_kept_alive: u64,
    classes: BTreeMap<&'static str, u64>,
    first_lost_s: Option<f64>,
    last_lost_s: Option<f64>,
    /// The same from the first stop signal that a `--watch-status` told of.
    first_lost_after_stop_s: Option<f64>,
    last_lost_after_stop_s: Option<f64>,
    /// When that signal came.
    stop_s: Option<f64>,
    /// Answered requests, but for those to the slow path, from the moment they were due.
    latency_ms: Latency,
    slow_latency_ms: Latency,
    /// How late requests went out: our own fault.
    own_lateness_ms: Latency,
    /// Each change of a readiness page.
    readiness: Vec<Readiness<'a>>,
    /// Each change of a lameduck's phase.
    phases: Vec<Phase<'a>>,
    targets: Vec<Target<'a>>,
    timeline: Vec<Second>,
    /// The first thousand.
    losses: Vec<Loss<'a>>,
    deploy: Option<Deploy<'a>>,
}

#[derive(Debug, Serialize)]
struct Latency {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct Readiness<'a> {
    at_s: f64,
    /// Null when there was no answer.
    status: Option<u16>,
    url: &'a str,
}

#[allow(clippy::struct_field_names, reason = "the names of the keys")]
#[derive(Debug, Serialize)]
struct Phase<'a> {
    at_s: f64,
    /// Null when there was no answer.
    phase: Option<&'static str>,
    url: &'a str,
}

#[derive(Debug, Serialize)]
struct Target<'a> {
    url: &'a str,
    sent: u64,
    answered: u64,
    lost: u64,
    classes: BTreeMap<&'static str, u64>,
}

/// What was sent and what was lost within a second, whenever it was sent; of a run of hours, in several.
#[allow(clippy::struct_field_names, reason = "the names of the keys")]
#[derive(Debug, Serialize)]
struct Second {
    second: i64,
    sent: u64,
    lost: u64,
}

#[derive(Debug, Serialize)]
struct Loss<'a> {
    sent_s: f64,
    lost_s: f64,
    class: &'static str,
    /// Of each lameduck that answered.
    phases: Vec<&'static str>,
    what: &'a str,
    target: &'a str,
    slow: bool,
    kept_alive: bool,
}

#[derive(Debug, Serialize)]
struct Deploy<'a> {
    command: &'a str,
    /// Null when it still ran.
    exit_code: Option<i32>,
    seconds: f64,
}

/// Writes it.
#[must_use]
pub fn write(measured: &Measured) -> String {
    let tally = &measured.tally;
    let all = tally.all();
    let (result, why_no_measure) = match measured.result() {
        Result::Kept => ("kept", Vec::new()),
        Result::Lost => ("lost", Vec::new()),
        Result::NoMeasure(reasons) => ("no_measure", reasons),
    };
    let at = |moment: Duration| rounded(measured.seconds(moment));
    let stop = measured.stop();
    let after_stop = |moment: Duration| stop.map(|stop| rounded(moment.as_secs_f64() - stop.as_secs_f64()));
    let url = |number: usize| measured.urls.get(number).map_or("", String::as_str);
    let report = Report {
        schema: 1,
        result,
        why_no_measure,
        began_unix_s: rounded(measured.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()),
        seconds: rounded(measured.length.as_secs_f64()),
        rate: measured.rate,
        sent: all.sent(),
        answered: all.of(Class::Ok),
        lost: all.lost(),
        max_lost: measured.max_lost,
        not_sent: tally.not_sent,
        unfinished: measured.unfinished,
        lost_on_kept_alive: tally.lost_reused,
        classes: classes(&all),
        first_lost_s: tally.first_and_last.map(|(first, _)| at(first)),
        last_lost_s: tally.first_and_last.map(|(_, last)| at(last)),
        first_lost_after_stop_s: tally.first_and_last.and_then(|(first, _)| after_stop(first)),
        last_lost_after_stop_s: tally.first_and_last.and_then(|(_, last)| after_stop(last)),
        stop_s: stop.map(at),
        latency_ms: latency(&tally.latency),
        slow_latency_ms: latency(&tally.slow_latency),
        own_lateness_ms: latency(&tally.lateness),
        readiness: measured
            .readiness
            .iter()
            .map(|(url, moment, status)| Readiness { at_s: at(*moment), status: *status, url })
            .collect(),
        phases: measured
            .phases
            .iter()
            .map(|(url, moment, phase)| Phase { at_s: at(*moment), phase: phase.map(crate::core::Phase::name), url })
            .collect(),
        targets: measured
            .urls
            .iter()
            .zip(&tally.targets)
            .map(|(url, counts)| Target {
                url,
                sent: counts.sent(),
                answered: counts.of(Class::Ok),
                lost: counts.lost(),
                classes: classes(counts),
            })
            .collect(),
        timeline: timeline(measured),
        losses: tally
            .losses
            .iter()
            .map(|loss| Loss {
                sent_s: at(loss.due),
                lost_s: at(loss.lost),
                class: loss.class.name(),
                phases: measured.phases_at(loss.lost),
                what: &loss.words,
                target: url(loss.target),
                slow: loss.slow,
                kept_alive: loss.reused,
            })
            .collect(),
        deploy: measured.deploy.as_ref().map(|deploy| Deploy {
            command: &deploy.command,
            exit_code: deploy.code,
            seconds: rounded(deploy.took.as_secs_f64()),
        }),
    };
    let text = serde_json::to_string_pretty(&report).unwrap_or_else(|_| unreachable!("texts and numbers only"));
    text + "\n"
}

fn classes(counts: &Counts) -> BTreeMap<&'static str, u64> {
    Class::ALL.into_iter().map(|class| (class.name(), counts.of(class))).collect()
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    #[allow(clippy::cast_precision_loss, reason = "at most an hour")]
    let ms = |micros: u64| micros as f64 / 1_000.0;
    let at = |quantile| ms(histogram.value_at_quantile(quantile));
    Latency { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: ms(histogram.max()) }
}

/// Buckets come together to seconds, counted from where all moments are.
fn timeline(measured: &Measured) -> Vec<Second> {
    let mut sums: BTreeMap<i64, Bucket> = BTreeMap::new();
    let mut from = Duration::ZERO;
    for bucket in &measured.tally.buckets {
        // The middle of a bucket: its edges are those of the load's own clock, not of the deploy's.
        #[allow(clippy::cast_possible_truncation, reason = "seconds of a run")]
        let second = measured.seconds(from + measured.tally.width / 2).floor() as i64;
        let sum = sums.entry(second).or_default();
        *sum = sum.with(*bucket);
        from += measured.tally.width;
    }
    let second = |(second, sum): (i64, Bucket)| Second { second, sent: sum.sent.into(), lost: sum.lost().into() };
    sums.into_iter().map(second).collect()
}

/// To the millisecond.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::sample;

    #[test]
    fn the_keys_that_programs_rely_on_are_there_with_what_they_tell() {
        let json: serde_json::Value = serde_json::from_str(&write(&sample())).unwrap();
        for (pointer, value) in [
            ("/sent", "100"),
            ("/answered", "97"),
            ("/lost", "3"),
            ("/first_lost_s", "3.001"),
            ("/last_lost_s", "3.201"),
            ("/first_lost_after_stop_s", "2.001"),
            ("/readiness/1", r#"{"at_s":1.1,"status":503,"url":"http://h:8081/readyz"}"#),
            ("/timeline/5", r#"{"lost":3,"second":3,"sent":10}"#),
            ("/deploy", r#"{"command":"./deploy web","exit_code":0,"seconds":6.0}"#),
            ("/targets/0/lost", "3"),
        ] {
            assert_eq!(json.pointer(pointer).map(ToString::to_string).as_deref(), Some(value), "{pointer}");
        }
        let keys =
            |pointer: &str| json.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut classes: Vec<&str> = Class::ALL.into_iter().map(Class::name).collect();
        classes.sort_unstable();
        assert_eq!(keys("/classes"), classes);
        for name in ["latency_ms", "own_lateness_ms"] {
            assert_eq!(keys(&format!("/{name}")), ["max", "p50", "p90", "p99"]);
        }
    }
}
