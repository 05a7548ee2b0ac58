//! As much of JSON Schema as the schemas of this repository use. A keyword that is not known here is
//! a failure, not a pass.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// A report, which is as the published schema says.
#[track_caller]
pub(crate) fn report(text: &str) -> Value {
    assert!(text.len() <= 4_096 && text.ends_with("}\n") && text.lines().count() == 1, "{} {text}", text.len());
    let report: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/report/schema.json");
    let published = serde_json::from_str(&fs::read_to_string(published).unwrap()).unwrap();
    assert_eq!(faults(&published, &report), [""; 0], "{text}");
    report
}

/// What of `value` is not as `schema` says: one line each, with its place.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, value, "$", &mut faults);
    faults
}

fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let mut fault = |what: String| faults.push(format!("{at}: {what}: {value}"));
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                if !types.iter().any(|name| is_a(value, name.as_str().unwrap())) {
                    fault(format!("not of type {wanted}"));
                }
            }
            "const" if value != wanted => fault(format!("not {wanted}")),
            "enum" if !wanted.as_array().unwrap().contains(value) => fault(format!("none of {wanted}")),
            "$schema" | "title" | "description" | "properties" | "items" | "const" | "enum" => {}
            "minimum" | "maximum" => {
                let (number, limit) = (value.as_f64(), wanted.as_f64().unwrap());
                if number.is_some_and(|number| if keyword == "minimum" { number < limit } else { number > limit }) {
                    fault(format!("beyond the {keyword} of {limit}"));
                }
            }
            "required" => {
                let missing = |name: &&Value| value.is_object() && value.get(name.as_str().unwrap()).is_none();
                for name in wanted.as_array().unwrap().iter().filter(missing) {
                    fault(format!("no {name}"));
                }
            }
            "uniqueItems" if wanted == true => {
                let items = value.as_array().map_or(&[] as &[Value], Vec::as_slice);
                if items.iter().enumerate().any(|(at, item)| items[..at].contains(item)) {
                    fault("the same twice".to_owned());
                }
            }
            "additionalProperties" if wanted == false => {
                let names = value.as_object().into_iter().flat_map(|object| object.keys());
                for name in names.filter(|name| schema["properties"].get(name.as_str()).is_none()) {
                    fault(format!("{name} does not belong here"));
                }
            }
            unknown => panic!("{at}: the keyword {unknown} is not known here"),
        }
    }
    if let (Some(properties), Some(object)) = (schema.get("properties"), value.as_object()) {
        for (name, schema) in properties.as_object().unwrap() {
            if let Some(value) = object.get(name) {
                check(schema, value, &format!("{at}.{name}"), faults);
            }
        }
    }
    if let (Some(schema), Some(items)) = (schema.get("items"), value.as_array()) {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, &format!("{at}[{index}]"), faults);
        }
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("the type {unknown} is not known here"),
    }
}

#[test]
fn what_is_not_as_the_schema_says_is_found() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
            "b": {"type": "array", "items": {"enum": ["x", null]}},
            "c": {"const": 1},
            "d": {"additionalProperties": false, "properties": {"e": {"uniqueItems": true}}}
        }
    });
    for (value, wrong) in [
        (serde_json::json!({"a": 1, "b": ["x", null], "c": 1, "more": true}), 0),
        (serde_json::json!({"a": null, "b": []}), 0),
        (serde_json::json!({"a": -1, "b": ["y"], "c": 2}), 3),
        (serde_json::json!({"a": 10}), 2),
        (serde_json::json!({"a": 1.5, "b": {}}), 2),
        (serde_json::json!([]), 1),
        (serde_json::json!({"a": 1, "b": [], "d": {"e": [1, 2]}}), 0),
        (serde_json::json!({"a": 1, "b": [], "d": {"e": [1, 2, 1], "f": 0}}), 2),
    ] {
        assert_eq!(faults(&schema, &value).len(), wrong, "{value}: {:?}", faults(&schema, &value));
    }
}
