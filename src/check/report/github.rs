//! The report as workflow commands of GitHub: one annotation a finding.

use super::Report;
use crate::check::rules::Severity;
use crate::check::source::Sources;
use std::fmt::Write as _;

pub(super) fn write(report: &Report, sources: &Sources) -> String {
    let mut out = String::new();
    for problem in &report.errors {
        let line = problem.line.map_or_else(String::new, |line| format!(",line={line}"));
        let file = escaped(&problem.file, true);
        let _ = writeln!(out, "::error file={file}{line},title=unreadable::{}", escaped(&problem.message, false));
    }
    for finding in &report.findings {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let mut where_ = String::new();
        if let Some(place) = finding.places.iter().find_map(|cited| cited.place) {
            let (line, column) = sources.position(place);
            where_ = format!("file={},line={line},col={column},", escaped(&sources.get(place.file).name, true));
        }
        let title = escaped(&format!("{} {}", finding.rule.id, finding.rule.name), true);
        let message = escaped(&format!("{}\n{}", finding.message, finding.fix), false);
        let _ = writeln!(out, "::{command} {where_}title={title}::{message}");
    }
    out
}

/// As GitHub wants it; a property may hold no `:` and no `,` besides.
fn escaped(text: &str, property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}
