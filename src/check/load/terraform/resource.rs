//! Resources with their values, and with what is only known after it was applied marked as that.

use super::super::rewrite::{self, map, unresolved};
use crate::check::source::Place;
use crate::check::tree::{Entry, Kind, Node};
use std::collections::HashMap;
use std::rc::Rc;

/// A resource, or a block in one.
#[derive(Clone)]
pub(super) struct Resource<'a> {
    /// Its type: `aws_lb_target_group`.
    pub(super) of: &'a str,
    /// Its address: `module.web.aws_lb_target_group.blue[0]`.
    pub(super) address: &'a str,
    /// Where that stands.
    pub(super) place: Place,
    /// Its values.
    pub(super) values: Rc<Node>,
}

/// The types that are read.
const TYPES: [&str; 7] = [
    "aws_ecs_task_definition",
    "aws_ecs_service",
    "aws_lb_target_group",
    "aws_alb_target_group",
    "aws_lb",
    "aws_alb",
    "aws_service_discovery_service",
];

/// The resources of a module and of those it calls that are read.
pub(super) fn all<'a>(root: &'a Node, document: &'a Node) -> Vec<Resource<'a>> {
    let changes = document.get("resource_changes").map_or(&[] as &[Rc<Node>], |changes| changes.items());
    let unknown = |change: &'a Rc<Node>| {
        let address = change.get("address")?.text()?;
        Some((address, change.get("change")?.get("after_unknown")?))
    };
    let unknown: HashMap<&str, &Rc<Node>> = changes.iter().filter_map(unknown).collect();
    let mut left = rewrite::MOST;
    let mut found = Vec::new();
    let mut modules = vec![root];
    while let Some(module) = modules.pop() {
        for node in items(module, "resources") {
            let text = |key: &str| node.get(key).and_then(|node| node.text());
            let (Some(of), Some(address)) = (text("type"), node.get("address")) else { continue };
            let (Some(values), Some(name)) = (node.get("values"), address.text()) else { continue };
            // What is only looked up (a data source) belongs to somebody else's files.
            if !TYPES.contains(&of) || text("mode") == Some("data") {
                continue;
            }
            let what = format!("{name} (known after apply)");
            let place = address.place;
            let values = marked(Some(values), unknown.get(name).copied(), &(&what, place), &mut left);
            found.push(Resource { of, address: name, place, values });
        }
        left = left.saturating_sub(1);
        if left == 0 {
            break;
        }
        modules.extend(items(module, "child_modules").iter().rev().map(Rc::as_ref));
    }
    found
}

/// The names by which others refer to a resource: with its file, as the same address may stand in another.
pub(super) fn names(resource: &Resource<'_>, file: &str) -> [String; 2] {
    [reference(resource.address, file), resource.address.to_owned()]
}

/// The name by which resources of one file refer to each other.
pub(super) fn reference(address: &str, file: &str) -> String {
    format!("{file}#{address}")
}

/// Values, with those marked that stand as `true` in `after_unknown`.
fn marked(values: Option<&Rc<Node>>, unknown: Option<&Rc<Node>>, mark: &(&str, Place), left: &mut usize) -> Rc<Node> {
    let known = || values.cloned().unwrap_or_else(|| map(mark.1, []));
    *left = left.saturating_sub(1);
    let Some(unknown) = unknown.filter(|_| *left > 0) else { return known() };
    let kind = match &unknown.kind {
        Kind::Scalar { text, .. } if text == "true" => return unresolved(mark.0, mark.1),
        Kind::Map(entries) if !entries.is_empty() => {
            let own = values.map_or(&[] as &[Entry], |values| values.entries());
            let in_own = |key: &str| own.iter().any(|entry| entry.key == key);
            let own = own.iter().map(|entry| (entry, Some(&entry.value)));
            let new = entries.iter().filter(|entry| !in_own(&entry.key)).map(|entry| (entry, None));
            let entry = |(entry, value): (&Entry, Option<&Rc<Node>>)| Entry {
                key: entry.key.clone(),
                key_place: entry.key_place,
                value: marked(value, unknown.get(&entry.key), mark, left),
            };
            Kind::Map(own.chain(new.filter(|(entry, _)| says_something(&entry.value))).map(entry).collect())
        }
        Kind::List(items) if !items.is_empty() => {
            let own = values.map_or(&[] as &[Rc<Node>], |values| values.items());
            let length = own.len().max(items.len());
            Kind::List((0..length).map(|at| marked(own.get(at), items.get(at), mark, left)).collect())
        }
        _ => return known(),
    };
    Rc::new(Node { place: values.map_or(mark.1, |values| values.place), kind, tag: String::new() })
}

/// Whether a part of `after_unknown` is more than an empty shell.
fn says_something(unknown: &Node) -> bool {
    match &unknown.kind {
        Kind::Scalar { text, .. } => text == "true",
        Kind::List(items) => !items.is_empty(),
        Kind::Map(entries) => !entries.is_empty(),
        Kind::Unresolved(_) => false,
    }
}

pub(super) fn items<'a>(node: &'a Node, key: &str) -> &'a [Rc<Node>] {
    node.get(key).map_or(&[], |list| list.items())
}

// === impl Resource ===

impl Resource<'_> {
    /// A value that is set. Providers write an empty text for what is not.
    pub(super) fn value(&self, key: &str) -> Option<&Rc<Node>> {
        // Of a block that is not known nothing is.
        if let Kind::Unresolved(_) = self.values.kind {
            return Some(&self.values);
        }
        self.values.get(key).filter(|value| !value.is_null() && value.text() != Some(""))
    }

    /// The blocks of that name.
    pub(super) fn blocks(&self, key: &str) -> Vec<Self> {
        let block = |values: &Rc<Node>| Self { values: Rc::clone(values), ..self.clone() };
        match self.value(key) {
            Some(value) if matches!(value.kind, Kind::Unresolved(_)) => vec![block(value)],
            Some(value) => value.items().iter().map(block).collect(),
            None => Vec::new(),
        }
    }

    /// Some of its values under other names.
    pub(super) fn renamed(&self, names: &[(&str, &'static str)]) -> Rc<Node> {
        let found = names.iter().filter_map(|(from, to)| Some((*to, Rc::clone(self.value(from)?))));
        map(self.place, found)
    }

    /// Without those values that are not known and that nobody set: the platform's default is what they will be.
    pub(super) fn without_computed(&self, is_set: &dyn Fn(&str) -> bool) -> Self {
        let stays = |entry: &&Entry| !matches!(entry.value.kind, Kind::Unresolved(_)) || is_set(&entry.key);
        let entries = self.values.entries().iter().filter(stays);
        let kept = entries.map(|entry| (entry.key.as_str(), Rc::clone(&entry.value)));
        match self.values.kind {
            Kind::Map(_) => Self { values: map(self.values.place, kept), ..self.clone() },
            _ => self.clone(),
        }
    }
}
