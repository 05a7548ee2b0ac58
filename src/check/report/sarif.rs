//! The report as SARIF 2.1.0, which code scanning reads.

use super::json::count;
use super::{Finding, Report, Suppressed};
use crate::check::fact::Cited;
use crate::check::rules::{RULES, Severity};
use crate::check::source::{Problem, Sources};
use crate::json::Value;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn value(report: &Report, sources: &Sources) -> Value {
    let rules = RULES.iter().map(|rule| {
        object([
            ("id", rule.id.into()),
            ("name", rule.name.into()),
            ("shortDescription", text(rule.formula)),
            ("fullDescription", text(rule.about)),
            ("help", text(rule.fix)),
            ("defaultConfiguration", object([("level", level(rule.worst).into())])),
        ])
    });
    let driver = object([
        ("name", "lameduckctl".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rules", Value::List(rules.collect())),
    ]);
    let found = report.findings.iter().map(|finding| result(finding, None, sources));
    let known = report.suppressed.iter().map(|known| result(&known.finding, Some(known), sources));
    let invocation = object([
        ("executionSuccessful", report.errors.is_empty().into()),
        ("toolExecutionNotifications", Value::List(report.errors.iter().map(notification).collect())),
    ]);
    let run = object([
        ("tool", object([("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("invocations", Value::List(vec![invocation])),
        ("results", Value::List(found.chain(known).collect())),
    ]);
    object([("$schema", SCHEMA.into()), ("version", "2.1.0".into()), ("runs", Value::List(vec![run]))])
}

fn result(finding: &Finding, known: Option<&Suppressed>, sources: &Sources) -> Value {
    let mut places: Vec<Value> = finding.places.iter().filter_map(|cited| location(cited, sources)).collect();
    let related = places.split_off(places.len().min(1));
    let index = RULES.iter().position(|rule| rule.id == finding.rule.id).unwrap_or_default();
    let mut pairs = vec![
        ("ruleId", finding.rule.id.into()),
        ("ruleIndex", count(index)),
        ("level", level(finding.severity).into()),
        ("message", text(&format!("{}. {}", finding.message, finding.fix))),
        ("locations", Value::List(places)),
        ("relatedLocations", Value::List(related)),
    ];
    if let Some(known) = known {
        let kind = if known.in_file { "inSource" } else { "external" };
        let suppression = object([("kind", kind.into()), ("justification", known.reason.as_str().into())]);
        pairs.push(("suppressions", Value::List(vec![suppression])));
    }
    Value::Object(pairs)
}

fn location(cited: &Cited, sources: &Sources) -> Option<Value> {
    let place = cited.place?;
    let (line, column) = sources.position(place);
    let region = object([("startLine", count(line)), ("startColumn", count(column))]);
    let artifact = object([("uri", uri(&sources.get(place.file).name).into())]);
    Some(object([
        ("physicalLocation", object([("artifactLocation", artifact), ("region", region)])),
        ("message", text(&format!("{} = {} ({})", cited.name, cited.value, cited.origin))),
    ]))
}

fn notification(problem: &Problem) -> Value {
    let mut physical = vec![("artifactLocation", object([("uri", uri(&problem.file).into())]))];
    if let Some(line) = problem.line {
        physical.push(("region", object([("startLine", count(line))])));
    }
    let location = object([("physicalLocation", Value::Object(physical))]);
    object([("level", "error".into()), ("message", text(&problem.message)), ("locations", Value::List(vec![location]))])
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn text(text: &str) -> Value {
    object([("text", text.into())])
}

fn object<const N: usize>(pairs: [(&'static str, Value); N]) -> Value {
    Value::Object(pairs.into())
}
