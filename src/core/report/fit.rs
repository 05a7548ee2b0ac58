//! What is left out of a report that is too long, in this order: seconds are merged, then the
//! settings go, then lists are cut short, the longest first. The rest always fits.

use crate::json::Value;

/// What a list is cut down to, before it is emptied.
const SHORT: usize = 4;

/// No text is left longer than this, in characters, once something has to go.
const MOST_TEXT: usize = 120;

/// The object as one line of at most `limit` bytes, its line end included.
pub(super) fn into(limit: usize, mut object: Vec<(&'static str, Value)>) -> String {
    if let Some(line) = line(limit, &object) {
        return line;
    }
    set(&mut object, "truncated", true.into());
    while merge_seconds(&mut object) {
        if let Some(line) = line(limit, &object) {
            return line;
        }
    }
    set(&mut object, "settings", Value::Object(Vec::new()));
    for left in [SHORT, 1, 0] {
        while line(limit, &object).is_none() && shorten_longest(&mut object, left) {}
    }
    if line(limit, &object).is_none() {
        object.retain(|(key, _)| *key != "traffic");
    }
    // Nothing is left that has no bound of its own.
    format!("{}\n", Value::Object(object))
}

fn line(limit: usize, object: &[(&'static str, Value)]) -> Option<String> {
    let line = format!("{}\n", Value::Object(object.to_vec()));
    (line.len() <= limit).then_some(line)
}

fn set(object: &mut [(&'static str, Value)], key: &str, value: Value) {
    if let Some((_, known)) = object.iter_mut().find(|(known, _)| *known == key) {
        *known = value;
    }
}

/// Makes one of every two rows of `traffic.per_second`; false when there are none to merge.
fn merge_seconds(object: &mut [(&'static str, Value)]) -> bool {
    let Some((_, Value::Object(traffic))) = object.iter_mut().find(|(key, _)| *key == "traffic") else { return false };
    let Some((_, Value::List(rows))) = traffic.iter_mut().find(|(key, _)| *key == "per_second") else { return false };
    if rows.len() < 2 {
        return false;
    }
    *rows = rows
        .chunks(2)
        .map(|pair| pair.iter().skip(1).fold(pair.first().cloned().unwrap_or(Value::Null), add))
        .collect();
    true
}

/// Adds a row to the one before it.
fn add(first: Value, second: &Value) -> Value {
    let (Value::Object(mut sums), Value::Object(more)) = (first.clone(), second) else { return first };
    for (key, sum) in sums.iter_mut().filter(|(key, _)| *key != "second") {
        if let (Value::Number(sum), Some((_, Value::Number(more)))) = (sum, more.iter().find(|(other, _)| other == key))
        {
            *sum = sum.saturating_add(*more);
        }
    }
    Value::Object(sums)
}

/// Cuts the list that takes the most room down to `left` entries, and its texts; false when there is
/// nothing left to cut.
fn shorten_longest(object: &mut [(&'static str, Value)], left: usize) -> bool {
    let mut lists = Vec::new();
    gather(object, &mut lists);
    let too_long = lists.into_iter().filter(|list| list.len() > left || list.iter().any(|item| cut_to(item).is_some()));
    let Some(longest) = too_long.max_by_key(|list| list.iter().map(|item| item.to_string().len()).sum::<usize>())
    else {
        return false;
    };
    longest.truncate(left);
    for item in longest {
        if let Some(cut) = cut_to(item) {
            *item = cut;
        }
    }
    true
}

/// All lists that are not part of another one.
fn gather<'a>(object: &'a mut [(&'static str, Value)], lists: &mut Vec<&'a mut Vec<Value>>) {
    for (_, value) in object {
        match value {
            Value::List(list) => lists.push(list),
            Value::Object(inner) => gather(inner, lists),
            _ => {}
        }
    }
}

/// A text that is too long, cut.
fn cut_to(item: &Value) -> Option<Value> {
    let Value::Text(text) = item else { return None };
    (text.chars().count() > MOST_TEXT).then(|| text.chars().take(MOST_TEXT - 1).chain(['…']).collect::<String>().into())
}
