//! The result for a terminal.

use super::super::chart;
use super::super::measured::{Measured, Result};
use super::super::outcome::Class;
use super::story;
use super::{count, headline, latency, seconds};
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::time::Duration;

/// The lines of the story that a terminal has room for.
const MOST_EVENTS: usize = 24;

/// Writes it.
#[must_use]
pub fn write(measured: &Measured) -> String {
    let mut text = "\n".to_owned();
    // What is no measure has no number of lost requests either: nobody should quote it.
    if let Result::NoMeasure(reasons) = measured.result() {
        for reason in reasons {
            let _ = writeln!(text, "THIS IS NO MEASURE: {reason}.");
        }
    } else {
        text = text + &headline(measured) + "\n";
    }
    if measured.interrupted {
        text += "It was ended early by a signal.\n";
    }
    classes(&mut text, measured);
    targets(&mut text, measured);
    text += &chart::draw(measured);
    happened(&mut text, measured);
    numbers(&mut text, measured);
    text
}

fn classes(text: &mut String, measured: &Measured) {
    let all = measured.tally.all();
    text.push('\n');
    for class in Class::ALL.into_iter().filter(|class| *class == Class::Ok || all.of(*class) > 0) {
        let _ = writeln!(text, "{:>11}  {:<12} {}", count(all.of(class)), class.name(), class.meaning());
    }
    if measured.tally.not_sent > 0 {
        let _ = writeln!(
            text,
            "{:>11}  {:<12} never sent: we ran out of something here",
            count(measured.tally.not_sent),
            "-"
        );
    }
    if measured.unfinished > 0 {
        let _ =
            writeln!(text, "{:>11}  {:<12} still on their way when it was cut short", count(measured.unfinished), "-");
    }
    if measured.tally.lost_reused > 0 {
        let _ = writeln!(text, "\n{} of the lost were on kept-alive connections.", count(measured.tally.lost_reused));
    }
}

fn targets(text: &mut String, measured: &Measured) {
    if measured.urls.len() < 2 {
        return;
    }
    let _ = writeln!(text, "\n       sent        lost  target");
    for (url, counts) in measured.urls.iter().zip(&measured.tally.targets) {
        let _ = writeln!(text, "{:>11} {:>11}  {url}", count(counts.sent()), count(counts.lost()));
    }
}

fn happened(text: &mut String, measured: &Measured) {
    let story = story::tell(measured);
    if story.is_empty() {
        return;
    }
    text.push('\n');
    for event in story.iter().take(MOST_EVENTS) {
        let _ = writeln!(text, "{:>9.2} s  {}", measured.seconds(event.at), event.text);
    }
    if story.len() > MOST_EVENTS {
        let _ = writeln!(text, "             and {} more: see --html", story.len() - MOST_EVENTS);
    }
}

fn numbers(text: &mut String, measured: &Measured) {
    text.push('\n');
    if let Some((first, last)) = measured.tally.first_and_last {
        for (name, at) in [("first loss", first), ("last loss", last)] {
            let _ = writeln!(text, "{name:<13} {}", moment(measured, at));
        }
    }
    let tally = &measured.tally;
    let mut row = |name: &str, histogram: &Histogram<u64>| {
        if !histogram.is_empty() {
            let at = |quantile| latency(histogram.value_at_quantile(quantile));
            let (p50, p90, p99, max) = (at(0.5), at(0.9), at(0.99), latency(histogram.max()));
            let _ = writeln!(text, "{name:<13} p50 {p50}, p90 {p90}, p99 {p99}, max {max}");
        }
    };
    row("latency", &tally.latency);
    row("slow path", &tally.slow_latency);
    row("own lateness", &tally.lateness);
    if let Some(deploy) = &measured.deploy {
        let code = deploy.code.map_or_else(|| "still running".to_owned(), |code| format!("status {code}"));
        let _ = writeln!(text, "{:<13} {code} after {}", "deploy", seconds(deploy.took.as_secs_f64()));
    }
}

/// A moment by every clock that there is.
pub(super) fn moment(measured: &Measured, at: Duration) -> String {
    let from = if measured.deploy.is_some() { "the deploy began" } else { "the load began" };
    let side = |offset: f64| if offset < 0.0 { "before" } else { "after" };
    let offset = measured.seconds(at);
    let mut text = format!("{} {} {from}", seconds(offset.abs()), side(offset));
    if let Some(stop) = measured.stop() {
        let offset = at.as_secs_f64() - stop.as_secs_f64();
        let _ = write!(text, ", {} {} the stop signal", seconds(offset.abs()), side(offset));
    }
    let phases = measured.phases_at(at);
    if !phases.is_empty() {
        let _ = write!(text, " ({})", phases.join(", "));
    }
    text
}
