//! A plan for people.

use super::compute::{Number, Plan};
use super::snippet;
use super::platform::Platform;
use crate::check::fact::{Cited, seconds};
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
    paragraph(out, "", &format!("flow {}: {}", ask.flow.0.word(), ask.flow.1));
    out.push('\n');
    number(out, "delay", &plan.delay, sources);
    number(out, "drain timeout", &plan.drain, sources);
    let field = ask.platform.map_or("grace period", |platform| Platform::grace(platform).0);
    number(out, field, &plan.grace, sources);
    if let Some(deregistration) = &plan.deregistration {
        number(out, "deregistration delay", deregistration, sources);
    }
    if let Some((check, why)) = &plan.check {
        let now: Vec<&Cited> =
            [&ask.now.interval, &ask.now.unhealthy, &ask.now.timeout, &ask.now.healthy].into_iter().flatten().collect();
        let values: Vec<&str> = now.iter().map(|cited| cited.value.as_str()).collect();
        let place = now.first().map_or_else(String::new, |cited| place(cited, sources));
        let now = if now.is_empty() { String::new() } else { format!("now {}{place}", values.join(", ")) };
        row(
            out,
            "health check",
            &format!(
                "interval {}, unhealthy after {}, time-out {}, healthy after {}",
                seconds(check.interval), check.unhealthy, seconds(check.timeout), check.healthy
            ),
            &now,
        );
        paragraph(out, "    ", why);
    }
    cost(out, plan);
    if let Some(seen) = &ask.seen {
        let _ = writeln!(out, "  {:<22}{} in all", "reports", seen.stops.len());
        if let Some(judged) = seen.judge() {
            paragraph(out, "    ", &judged.told());
            paragraph(out, "    ", &format!("sure: {}", judged.how_sure()));
        }
        for stop in &seen.stops {
            if let Err(why) = &stop.last {
                paragraph(out, "    ", &format!("{} does not count: {why}", stop.file));
            }
        }
        let connections = seen.stops.iter().filter(|stop| stop.last.as_ref().is_ok_and(|last| last.connections_only)).count();
        if connections > 0 {
            paragraph(out, "    ", &format!("{connections} of them saw only connections: requests on those that are kept alive are missing"));
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

fn cost(out: &mut String, plan: &Plan) {
    let cost = plan.cost;
    let each = format!("{} s, at the most {} s a task", seconds(cost.least), seconds(cost.most));
    row(out, "cost of a deploy", &each, "");
    if let Some(batches) = cost.batches.filter(|batches| *batches > 1) {
        let all = cost.most * u32::try_from(batches).unwrap_or(u32::MAX);
        paragraph(out, "    ", &format!("one after another in {batches} steps: {} s at the most", seconds(all)));
    }
    paragraph(out, "    ", "the delay is always waited out; the rest ends when the last request does");
}

fn number(out: &mut String, name: &str, number: &Number, sources: &Sources) {
    let value = format!("{} s", seconds(number.value));
    let now = number.now.as_ref().map_or_else(String::new, |cited| format!("now {}{}", cited.value, place(cited, sources)));
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
    let line = format!("  {name:<22}{value:<8}  {now}");
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
