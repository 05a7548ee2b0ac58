//! The report for people: each finding with the lines of all the values it is about.

use super::{Finding, Report};
use crate::check::fact::Cited;
use crate::check::rules::Severity;
use crate::check::source::{FileId, Place, Sources};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

pub(super) fn write(report: &Report, sources: &Sources, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for problem in &report.errors {
        let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        let _ = writeln!(out, "{}{line}: {}", problem.file, problem.message);
    }
    if !report.errors.is_empty() {
        out.push('\n');
    }
    for finding in &report.findings {
        let _ = writeln!(out, "{}\n", renderer.render(&[group(finding, sources)]));
    }
    for suppressed in &report.suppressed {
        let why = if suppressed.reason.is_empty() { String::new() } else { format!(": {}", suppressed.reason) };
        let _ = writeln!(out, "ignored {} by {}{why}", suppressed.finding.rule.id, suppressed.by);
    }
    assumed(&mut out, report);
    not_checked(&mut out, report);
    for (what, count) in &report.passed_over {
        let _ = writeln!(out, "passed over {count}: {what}");
    }
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    summary(&mut out, report);
    out
}

/// A line each; but what is assumed of many things alike is said once.
fn assumed(out: &mut String, report: &Report) {
    let mut seen = HashSet::new();
    let lines: Vec<&str> = report.assumed.iter().map(String::as_str).filter(|line| seen.insert(*line)).collect();
    let mut alike: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, what) in lines.iter().filter_map(|line| line.split_once(": ")) {
        alike.entry(what).or_default().push(name);
    }
    for line in lines {
        let names = line.split_once(": ").and_then(|(name, what)| Some((name, what, alike.get(what)?.as_slice())));
        match names {
            Some((name, what, [first, second, third, rest @ ..])) if rest.len() > 2 => {
                if name == *first {
                    let _ = writeln!(out, "assumed {first}, {second}, {third} and {} others: {what}", rest.len());
                }
            }
            _ => {
                let _ = writeln!(out, "assumed {line}");
            }
        }
    }
}

/// One line for all rules that wait for the same.
fn not_checked(out: &mut String, report: &Report) {
    let mut told: Vec<(&[String], Vec<&str>)> = Vec::new();
    for not in &report.not_checked {
        match told.iter_mut().find(|(needs, _)| *needs == not.needs) {
            Some((_, rules)) => rules.push(not.rule),
            None => told.push((&not.needs, vec![not.rule])),
        }
    }
    for (needs, rules) in told {
        let _ = writeln!(out, "not checked {}, for want of:", rules.join(", "));
        for need in needs {
            let _ = writeln!(out, "  - {need}");
        }
    }
}

fn summary(out: &mut String, report: &Report) {
    let many = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let _ = write!(
        out,
        "{}: {}, {}, {}",
        many(report.files, "file"),
        many(report.count(Severity::Error), "error"),
        many(report.count(Severity::Warning), "warning"),
        many(report.count(Severity::Info), "info"),
    );
    if !report.suppressed.is_empty() {
        let _ = write!(out, ", {} ignored", report.suppressed.len());
    }
    if !report.not_checked.is_empty() {
        let _ = write!(out, ", {} not checked", many(report.not_checked.len(), "rule"));
    }
    if !report.errors.is_empty() {
        let _ = write!(out, ", {} that could not be read", many(report.errors.len(), "thing"));
    }
    out.push('\n');
}

fn group<'a>(finding: &'a Finding, sources: &'a Sources) -> Group<'a> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut group = level
        .primary_title(finding.message.as_str())
        .id(finding.rule.id)
        .elements(Vec::<Snippet<'a, Annotation<'a>>>::new());
    let mut files: Vec<FileId> = Vec::new();
    for place in finding.places.iter().filter_map(|cited| cited.place) {
        if !files.contains(&place.file) {
            files.push(place.file);
        }
    }
    let in_line: Vec<FileId> = files.iter().copied().filter(|file| is_on_long_line(finding, *file, sources)).collect();
    for cited in &finding.places {
        let Some(place) = cited.place.filter(|place| in_line.contains(&place.file)) else { continue };
        let (line, column) = sources.position(place);
        let name = &sources.get(place.file).name;
        group = group.element(Level::NOTE.message(format!("{name}:{line}:{column}: {}", label(cited))));
    }
    files.retain(|file| !in_line.contains(file));
    for (at, file) in files.iter().enumerate() {
        group = group.element(snippet(finding, *file, at == 0, sources));
    }
    for cited in finding.places.iter().filter(|cited| cited.place.is_none()) {
        group = group.element(Level::NOTE.message(label(cited)));
    }
    group.element(Level::HELP.message(finding.fix.as_str()))
}

/// Lines longer than this are no sight: Terraform prints all of a plan as one.
const LONG_LINE: usize = 2_000;

fn is_on_long_line(finding: &Finding, file: FileId, sources: &Sources) -> bool {
    let text = sources.get(file).text.as_bytes();
    finding.places.iter().filter_map(|cited| cited.place.filter(|place| place.file == file)).any(|place| {
        let (before, behind) = text.split_at((place.start as usize).min(text.len()));
        let on_line = |byte: &&u8| **byte != b'\n';
        let before = before.iter().rev().take(LONG_LINE).take_while(on_line).count();
        before + behind.iter().take(LONG_LINE).take_while(on_line).count() > LONG_LINE
    })
}

/// The lines of one file that hold values of the finding.
fn snippet<'a>(finding: &'a Finding, file: FileId, first: bool, sources: &'a Sources) -> Snippet<'a, Annotation<'a>> {
    let text = sources.get(file).text.as_str();
    let cited: Vec<(&Cited, Range<usize>)> = finding
        .places
        .iter()
        .filter_map(|cited| Some((cited, on_one_line(text, cited.place.filter(|place| place.file == file)?))))
        .collect();
    let start = cited.iter().map(|(_, range)| range.start).min().unwrap_or(0);
    let end = cited.iter().map(|(_, range)| range.end).max().unwrap_or(0);
    // Only the lines in between: a file may be large.
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let line = 1 + text[..from].bytes().filter(|byte| *byte == b'\n').count();
    let mut snippet = Snippet::source(&text[from..to]).line_start(line).path(sources.get(file).name.as_str());
    for (at, (cited, range)) in cited.iter().enumerate() {
        let kind = if first && at == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        snippet = snippet.annotation(kind.span(range.start - from..range.end - from).label(label(cited)));
    }
    snippet
}

/// A place, cut at the end of its first line. One that does not fit between two characters is moved there.
fn on_one_line(text: &str, place: Place) -> Range<usize> {
    let between = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let start = between(place.start as usize);
    let end = between(place.end as usize).max(start);
    let line = text.get(start..end).and_then(|text| text.find('\n')).map_or(end, |at| start + at);
    start..line
}

fn label(cited: &Cited) -> String {
    if cited.origin == "written" {
        format!("{} = {}", cited.name, cited.value)
    } else {
        format!("{} = {} ({})", cited.name, cited.value, cited.origin)
    }
}
