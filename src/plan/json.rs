//! A plan as JSON. The keys are stable: programs read them. `examples/plan/schema.json` describes them,
//! and a test holds what is printed against it.

use super::compute::{Number, Plan};
use super::seen::Seen;
use super::snippet;
use crate::check::fact::Cited;
use crate::check::source::{Problem, Sources};
use crate::json::Value;

pub(super) fn value(plans: &[Plan], passed_over: &[String], problems: &[Problem], sources: &Sources) -> Value {
    let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
    let errors = problems.iter().map(|problem| {
        let line = problem.line.map_or(Value::Null, count);
        object([("file", problem.file.as_str().into()), ("line", line), ("message", problem.message.as_str().into())])
    });
    object([
        ("schema", 1.into()),
        ("plans", Value::List(plans.iter().map(|plan| one(plan, sources)).collect())),
        ("not_planned", texts(passed_over)),
        ("errors", Value::List(errors.collect())),
    ])
}

fn one(plan: &Plan, sources: &Sources) -> Value {
    let ask = &plan.ask;
    let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
    let check = plan.check.as_ref().map(|(check, why)| {
        object([
            ("interval_s", check.interval.into()),
            ("timeout_s", check.timeout.into()),
            ("unhealthy_threshold", count(check.unhealthy)),
            ("healthy_threshold", count(check.healthy)),
            ("on_lameducks_port", plan.flips.into()),
            ("why", why.as_str().into()),
        ])
    });
    let snippets = snippet::all(plan).into_iter().map(|snippet| {
        object([("title", snippet.title.into()), ("language", snippet.language.into()), ("text", snippet.text.into())])
    });
    object([
        ("name", ask.name.as_str().into()),
        ("platform", ask.platform.map(|platform| Value::from(platform.word())).into_value()),
        ("ways", Value::List(ask.ways.iter().map(|way| way.word().into()).collect())),
        ("flow", object([("is", ask.flow.0.word().into()), ("why", ask.flow.1.as_str().into())])),
        ("delay", number(&plan.delay, sources)),
        ("drain_timeout", number(&plan.drain, sources)),
        ("grace", number(&plan.grace, sources)),
        ("deregistration_delay", plan.deregistration.as_ref().map(|number_| number(number_, sources)).into_value()),
        ("health_check", check.into_value()),
        (
            "cost",
            object([
                ("least_s", plan.cost.least.into()),
                ("most_s", plan.cost.most.into()),
                ("batches", plan.cost.batches.map(count).into_value()),
            ]),
        ),
        ("seen", ask.seen.as_ref().map(seen).into_value()),
        ("notes", texts(&plan.notes)),
        ("problems", texts(&plan.problems)),
        ("snippets", Value::List(snippets.collect())),
    ])
}

fn number(number: &Number, sources: &Sources) -> Value {
    object([
        ("seconds", number.value.into()),
        ("why", number.why.as_str().into()),
        ("source", number.source.as_str().into()),
        ("now", number.now.as_ref().map(|cited| now(cited, sources)).into_value()),
    ])
}

fn now(cited: &Cited, sources: &Sources) -> Value {
    let position = cited.place.map(|place| sources.position(place));
    object([
        ("file", cited.place.map(|place| sources.get(place.file).name.as_str()).into()),
        ("line", position.map_or(Value::Null, |(line, _)| count(line))),
        ("name", cited.name.as_str().into()),
        ("value", cited.value.as_str().into()),
        ("origin", cited.origin.as_str().into()),
    ])
}

fn seen(seen: &Seen) -> Value {
    let stops = seen.stops.iter().map(|stop| {
        let last = stop.last.as_ref();
        object([
            ("file", stop.file.as_str().into()),
            ("line", count(stop.line)),
            ("last_s", last.ok().map(|last| last.at).into()),
            ("still_arriving", last.is_ok_and(|last| last.cut).into()),
            ("why_not", last.err().map(String::as_str).into()),
            ("drain_s", stop.drain.into()),
            ("killed", stop.killed.into()),
        ])
    });
    let judged = seen.judge();
    object([
        ("stops", Value::List(stops.collect())),
        ("judged", count(judged.map_or(0, |judged| judged.stops))),
        ("earliest_s", judged.map(|judged| judged.earliest).into()),
        ("latest_s", judged.map(|judged| judged.latest).into()),
        ("spread_s", judged.map(|judged| judged.latest.saturating_sub(judged.earliest)).into()),
        ("delay_s", judged.map(|judged| judged.delay).into()),
        ("sure", judged.map(|judged| judged.sure.word()).into()),
        ("told", judged.map(|judged| format!("{}; {}", judged.told(), judged.how_sure())).into()),
    ])
}

fn count<T: TryInto<i64>>(number: T) -> Value {
    Value::Number(number.try_into().unwrap_or(i64::MAX))
}

fn object<const N: usize>(pairs: [(&'static str, Value); N]) -> Value {
    Value::Object(pairs.into())
}

/// What is not there is null.
trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for Option<Value> {
    fn into_value(self) -> Value {
        self.unwrap_or(Value::Null)
    }
}
