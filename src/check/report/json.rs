//! The report as JSON. The keys are stable: programs read them.

use super::{Finding, Report};
use crate::check::fact::Cited;
use crate::check::rules::Severity;
use crate::check::source::{Problem, Sources};
use crate::json::Value;

pub(super) fn value(report: &Report, sources: &Sources) -> Value {
    let list = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
    let not_checked = report
        .not_checked
        .iter()
        .map(|not| Value::Object(vec![("rule", not.rule.into()), ("needs", list(&not.needs))]));
    let suppressed = report.suppressed.iter().map(|suppressed| {
        let Value::Object(mut pairs) = finding(&suppressed.finding, sources) else { return Value::Null };
        pairs.push(("by", suppressed.by.as_str().into()));
        pairs.push(("reason", suppressed.reason.as_str().into()));
        Value::Object(pairs)
    });
    Value::Object(vec![
        ("findings", Value::List(report.findings.iter().map(|found| finding(found, sources)).collect())),
        ("not_checked", Value::List(not_checked.collect())),
        ("assumed", list(&report.assumed)),
        ("suppressed", Value::List(suppressed.collect())),
        ("errors", Value::List(report.errors.iter().map(problem).collect())),
        (
            "summary",
            Value::Object(vec![
                ("files", count(report.files)),
                ("errors", count(report.count(Severity::Error))),
                ("warnings", count(report.count(Severity::Warning))),
                ("infos", count(report.count(Severity::Info))),
                ("suppressed", count(report.suppressed.len())),
            ]),
        ),
    ])
}

fn finding(finding: &Finding, sources: &Sources) -> Value {
    Value::Object(vec![
        ("rule", finding.rule.id.into()),
        ("name", finding.rule.name.into()),
        ("severity", finding.severity.word().into()),
        ("message", finding.message.as_str().into()),
        ("fix", finding.fix.as_str().into()),
        ("places", Value::List(finding.places.iter().map(|cited| place(cited, sources)).collect())),
    ])
}

fn place(cited: &Cited, sources: &Sources) -> Value {
    let position = cited.place.map(|place| sources.position(place));
    Value::Object(vec![
        ("file", cited.place.map(|place| sources.get(place.file).name.as_str()).into()),
        ("line", position.map_or(Value::Null, |(line, _)| count(line))),
        ("column", position.map_or(Value::Null, |(_, column)| count(column))),
        ("name", cited.name.as_str().into()),
        ("value", cited.value.as_str().into()),
        ("origin", cited.origin.as_str().into()),
    ])
}

fn problem(problem: &Problem) -> Value {
    Value::Object(vec![
        ("file", problem.file.as_str().into()),
        ("line", problem.line.map_or(Value::Null, count)),
        ("message", problem.message.as_str().into()),
    ])
}

pub(super) fn count(number: usize) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}
