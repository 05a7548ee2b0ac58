//! A plan for people.

use super::compute::{Number, Plan};
use super::platform::{HealthCheck, Platform};
use super::snippet;
use crate::check::fact::{Cited, Shown, seconds};
use crate::check::source::Sources;
use std::fmt::Write as _;

/// Columns of a line.
const WIDTH: usize = 100;

pub(super) fn write(plans: &[Plan], passed_over: &[String], sources: &Sources) -> String {
    let mut out = String::new();
    for (at, plan) in plans.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        one(&mut out, plan, sources);
    }
    for what in passed_over {
        let _ = writeln!(out, "\nnot planned: {what}");
    }
    out
}

fn one(out: &mut String, plan: &Plan, sources: &Sources) {
    let ask = &plan.ask;
    let on = ask.platform.map_or_else(String::new, |platform| format!(" on {}", platform.name()));
    let ways: Vec<&str> = ask.ways.iter().map(|way| way.name()).collect();
    let behind = if ways.is_empty() { String::new() } else { format!(", reached by {}", ways.join(" and ")) };
    let _ = writeln!(out, "{}{on}{behind}", ask.name);
    if !ways.is_empty() {
        paragraph(out, "", &format!("flow {}: {}", ask.flow.0.word(), ask.flow.1));
    }
    out.push('\n');
    number(out, "delay", &plan.delay, sources);
    number(out, "drain timeout", &plan.drain, sources);
    number(out, grace_name(plan), &plan.grace, sources);
    if let Some(deregistration) = &plan.deregistration {
        number(out, "deregistration delay", deregistration, sources);
    }
    if let Some((check, why)) = &plan.check {
        row(out, "health check", &told(&check_words(*check)), "");
        paragraph(out, "    ", why);
        if let [Some(interval), Some(unhealthy), Some(timeout), Some(healthy)] =
            [&ask.now.interval, &ask.now.unhealthy, &ask.now.timeout, &ask.now.healthy]
        {
            let now = [interval, unhealthy, timeout, healthy].map(|cited| cited.value.clone());
            paragraph(out, "    ", &format!("now {}{}", told(&now), place(interval, sources)));
        }
    }
    cost(out, plan);
    if let Some(seen) = &ask.seen {
        let _ = writeln!(out, "  {:<22}{} in all", "reports", seen.stops.len());
        if let Some(judged) = seen.judge() {
            paragraph(out, "    ", &judged.told());
            paragraph(out, "    ", &format!("how sure: {}", judged.how_sure()));
        }
        for stop in &seen.stops {
            if let Err(why) = &stop.last {
                paragraph(out, "    ", &format!("{}:{} does not count: {why}", stop.file, stop.line));
            }
        }
        let connections =
            seen.stops.iter().filter(|stop| stop.last.as_ref().is_ok_and(|last| last.connections_only)).count();
        if connections > 0 {
            paragraph(
                out,
                "    ",
                &format!(
                    "{connections} of them saw only connections: requests on those that are kept alive are missing"
                ),
            );
        }
    }
    out.push('\n');
    if plan.problems.is_empty() {
        out.push_str(&crate::cli::timeline(&plan.policy(), Some(plan.grace.value)));
    }
    if !(plan.notes.is_empty() && plan.problems.is_empty()) {
        out.push('\n');
    }
    for note in &plan.notes {
        paragraph(out, "note: ", note);
    }
    for problem in &plan.problems {
        paragraph(out, "does not fit: ", problem);
    }
    for snippet in snippet::all(plan) {
        let _ = writeln!(out, "\n{}:\n", snippet.title);
        for line in snippet.text.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
}

/// A health check: interval, threshold, time-out, the other threshold.
fn told([interval, unhealthy, timeout, healthy]: &[String; 4]) -> String {
    format!("interval {interval}, unhealthy after {unhealthy}, time-out {timeout}, healthy after {healthy}")
}

fn check_words(check: HealthCheck) -> [String; 4] {
    let time = |duration: std::time::Duration| duration.shown();
    [time(check.interval), check.unhealthy.to_string(), time(check.timeout), check.healthy.to_string()]
}

fn grace_name(plan: &Plan) -> &'static str {
    plan.ask.platform.map_or("grace period", |platform| platform.grace().0)
}

fn cost(out: &mut String, plan: &Plan) {
    let cost = plan.cost;
    let unit = plan.ask.platform.map_or("container", Platform::unit);
    let each = format!("{} s for each {unit}, {} s at the most", seconds(cost.least), seconds(cost.most));
    row(out, "cost of a deploy", &each, "");
    if let Some(batches) = cost.batches.filter(|batches| *batches > 1) {
        let all = cost.most * u32::try_from(batches).unwrap_or(u32::MAX);
        paragraph(out, "    ", &format!("one after another in {batches} steps: {} s at the most", seconds(all)));
    }
    paragraph(out, "    ", "the delay is always waited out; the rest ends when the last request does");
}

fn number(out: &mut String, name: &str, number: &Number, sources: &Sources) {
    let value = format!("{} s", seconds(number.value));
    let now =
        number.now.as_ref().map_or_else(String::new, |cited| format!("now {}{}", cited.value, place(cited, sources)));
    row(out, name, &value, &now);
    paragraph(out, "    ", &number.why);
    paragraph(out, "    ", &format!("source: {}", number.source));
}

/// Where it stands now; of a default: whose it is.
fn place(cited: &Cited, sources: &Sources) -> String {
    match cited.place {
        _ if cited.origin != "written" => format!(" ({})", cited.origin),
        Some(place) => format!(" ({}:{})", sources.get(place.file).name, sources.position(place).0),
        None => String::new(),
    }
}

fn row(out: &mut String, name: &str, value: &str, now: &str) {
    // terminationGracePeriodSeconds is longer than the column.
    let name = format!("{name:<20}");
    let line = format!("  {name}  {value:<8}  {now}");
    let _ = writeln!(out, "{}", line.trim_end());
}

/// Wrapped text, its first line behind `head`, the others as far in.
fn paragraph(out: &mut String, head: &str, text: &str) {
    let indent = " ".repeat(if head.trim().is_empty() { head.len() } else { 2 });
    let mut line = head.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{line}");
}
