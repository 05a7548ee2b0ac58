//! The functions of `CloudFormation`, as far as the template itself knows what they come to: `!Ref` to a
//! parameter with a default or to a resource, `!Sub`, `!Join`, `!If`, `!FindInMap`, `!Select`, `!Split`,
//! each in its short and its long form. What is left is marked as known only when it is deployed.

use super::super::rewrite::{self, scalar, unresolved, unquoted};
use super::Type;
use crate::check::fact::Origin;
use crate::check::source::Place;
use crate::check::tree::{Entry, Kind, Node};
use std::collections::HashMap;
use std::rc::Rc;

/// A template, and what looking at it has used up.
pub(super) struct Template<'a> {
    root: &'a Node,
    /// The resources of the types that are read.
    resources: HashMap<&'a str, Type>,
    parameters: HashMap<&'a str, &'a Rc<Node>>,
    file: &'a str,
    /// Who says the values at these places, where that is a default.
    pub(super) origins: HashMap<Place, Origin>,
    /// The parameters whose defaults were taken, in the order in which they were.
    taken: Vec<String>,
    /// Whether conditions hold, as far as that was looked at.
    conditions: HashMap<String, Option<bool>>,
    /// So many values may still be looked at.
    left: usize,
    /// How deep in values and conditions it is just now.
    depth: usize,
}

/// A function and what it is called with.
struct Call<'a> {
    name: &'a str,
    argument: &'a Rc<Node>,
}

/// Values and conditions stand in each other, or name each other, so deep at the most: what they name could
/// lead in a circle.
const DEEPEST: usize = 256;

/// So many bytes of composed text count as one value.
const BYTES_A_VALUE: usize = 64;

/// So much of an argument is shown.
const SHOWN: usize = 60;

// === impl Template ===

impl<'a> Template<'a> {
    pub(super) fn new(root: &'a Node, resources: &'a Node, file: &'a str) -> Self {
        let entries = |map: &'a Node| map.all_entries().into_iter().map(|entry| (entry.key.as_str(), &entry.value));
        Self {
            root,
            resources: entries(resources).filter_map(|(id, resource)| Some((id, Type::of(resource)?))).collect(),
            parameters: root.get("Parameters").map(|map| entries(map).collect()).unwrap_or_default(),
            file,
            origins: HashMap::new(),
            taken: Vec::new(),
            conditions: HashMap::new(),
            left: rewrite::MOST,
            depth: 0,
        }
    }

    /// Whether there was more to look at than is looked at.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// The name by which resources of this template refer to one of them.
    pub(super) fn reference_to(&self, id: &str) -> String {
        format!("{}#{id}", self.file)
    }

    /// A copy of a tree with everything put in that is known; `None` for `AWS::NoValue`.
    pub(super) fn resolve(&mut self, node: &Rc<Node>) -> Option<Rc<Node>> {
        if self.depth == DEEPEST {
            return Some(unresolved("what names itself", node.place));
        }
        self.left = self.left.checked_sub(1)?;
        self.depth += 1;
        let resolved = self.resolve_one(node);
        self.depth -= 1;
        resolved
    }

    fn resolve_one(&mut self, node: &Rc<Node>) -> Option<Rc<Node>> {
        if let Some(call) = call(node) {
            return self.value_of(&call, node.place);
        }
        let kind = match &node.kind {
            Kind::Scalar { text, .. } if text.contains("{{resolve:") => {
                return Some(unresolved(shortened(text), node.place));
            }
            Kind::Scalar { .. } | Kind::Unresolved(_) => return Some(unquoted(node)),
            Kind::List(items) => Kind::List(items.iter().filter_map(|item| self.resolve(item)).collect()),
            Kind::Map(_) => {
                let entry = |entry: &Entry| {
                    let value = self.resolve(&entry.value)?;
                    Some(Entry { key: entry.key.clone(), key_place: entry.key_place, value })
                };
                Kind::Map(node.all_entries().into_iter().filter_map(entry).collect())
            }
        };
        Some(Rc::new(Node { place: node.place, kind, tag: String::new() }))
    }

    /// Whether a condition holds, as far as the template knows.
    pub(super) fn condition(&mut self, name: &str) -> Option<bool> {
        if let Some(known) = self.conditions.get(name) {
            return *known;
        }
        if self.depth == DEEPEST {
            return None;
        }
        let condition = self.looked_up(self.root.get("Conditions")?, name)?;
        // Until it is known it is not: what names itself in a circle never will be.
        self.conditions.insert(name.to_owned(), None);
        self.depth += 1;
        let holds = self.holds(condition);
        self.depth -= 1;
        self.conditions.insert(name.to_owned(), holds);
        holds
    }

    fn value_of(&mut self, call: &Call<'_>, place: Place) -> Option<Rc<Node>> {
        let before = self.taken.len();
        let known = match call.name {
            "Ref" if call.argument.text() == Some("AWS::NoValue") => return None,
            "Ref" => call.argument.text().and_then(|name| self.reference(name, place)),
            "GetAtt" => self.attribute(call.argument, place),
            "Sub" => self.substituted(call.argument, place),
            "Join" => self.joined(call.argument, place),
            "Split" => self.split(call.argument, place),
            "Select" => self.selected(call.argument),
            "FindInMap" => self.found_in_map(call.argument),
            "If" => match call.argument.items() {
                [name, then, other] => {
                    let holds = name.text().and_then(|name| self.condition(name));
                    match holds.map(|holds| self.resolve(if holds { then } else { other })) {
                        // What was chosen may be to leave it out.
                        Some(None) => return None,
                        chosen => chosen.flatten(),
                    }
                }
                _ => None,
            },
            _ => None,
        };
        let Some(known) = known else {
            self.taken.truncate(before);
            return Some(unresolved(described(call), place));
        };
        if let Some(first) = self.taken.get(before) {
            let mut names = vec![first.as_str()];
            for name in &self.taken[before..] {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            let origin = Origin::Derived(format!("default of parameter {}", names.join(", ")));
            self.origins.insert(known.place, origin);
        }
        Some(known)
    }

    /// What a name stands for: a parameter's default, or a resource.
    fn reference(&mut self, name: &str, place: Place) -> Option<Rc<Node>> {
        let Some(parameter) = self.parameters.get(name).copied() else {
            return self.resource(name, place);
        };
        let of = parameter.get("Type").and_then(|of| of.text()).unwrap_or("String");
        // The default of such a one is the name of the value.
        if of.starts_with("AWS::SSM::") {
            return None;
        }
        let default = parameter.get("Default").filter(|default| default.text().is_some())?;
        self.taken.push(name.to_owned());
        if of == "CommaDelimitedList" || of.starts_with("List<") {
            return self.pieces(default.text()?, ",", default.place);
        }
        Some(unquoted(default))
    }

    fn resource(&self, id: &str, place: Place) -> Option<Rc<Node>> {
        let of = *self.resources.get(id)?;
        (of != Type::LoadBalancer).then(|| scalar(self.reference_to(id), place))
    }

    fn attribute(&self, argument: &Node, place: Place) -> Option<Rc<Node>> {
        let words: Vec<&str> = match &argument.kind {
            Kind::List(items) => items.iter().filter_map(|item| item.text()).collect(),
            _ => argument.text()?.splitn(2, '.').collect(),
        };
        match words.as_slice() {
            // The attributes that are the name of the whole thing.
            [id, "Arn" | "Id" | "TaskDefinitionArn" | "TargetGroupArn"] => self.resource(id, place),
            _ => None,
        }
    }

    fn substituted(&mut self, argument: &Rc<Node>, place: Place) -> Option<Rc<Node>> {
        let (template, given) = match argument.items() {
            [template, given] => (template.text()?, Some(given)),
            [] => (argument.text()?, None),
            _ => return None,
        };
        // Alone it may be any reference.
        if given.is_none()
            && let Some(name) = template.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'))
            && !name.contains(['$', '!'])
        {
            let name = scalar(name.trim(), place);
            let found = if name.text()?.contains('.') { self.attribute(&name, place) } else { self.reference(name.text()?, place) };
            return found.filter(|found| found.text().is_some()).map(|found| scalar(found.text().unwrap_or_default(), place));
        }
        let mut text = String::new();
        let mut rest = template;
        while let Some(at) = rest.find("${") {
            text.push_str(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside.find('}')?;
            let name = inside[..end].trim();
            if let Some(literal) = name.strip_prefix('!') {
                text.push_str("${");
                text.push_str(literal);
                text.push('}');
            } else if let Some(value) = given.and_then(|given| self.looked_up(given, name)) {
                let value = self.resolve(value)?;
                self.push(&mut text, &value)?;
            } else {
                let value = self.reference(name, place)?;
                self.push(&mut text, &value)?;
            }
            rest = &inside[end + 1..];
        }
        text.push_str(rest);
        self.composed(text, place)
    }

    /// Adds a value to a text. A resource is no text until it is deployed.
    fn push(&mut self, text: &mut String, value: &Node) -> Option<()> {
        let value = value.text().filter(|value| !value.starts_with(&self.reference_to("")))?;
        self.left = self.left.saturating_sub(value.len() / BYTES_A_VALUE);
        text.push_str(value);
        (self.left > 0).then_some(())
    }

    /// A value of a map. To look through a long one costs something too.
    fn looked_up<'n>(&mut self, map: &'n Node, key: &str) -> Option<&'n Rc<Node>> {
        self.left = self.left.saturating_sub(map.entries().len() / BYTES_A_VALUE);
        map.get(key)
    }

    fn composed(&mut self, text: String, place: Place) -> Option<Rc<Node>> {
        self.left = self.left.saturating_sub(text.len() / BYTES_A_VALUE);
        (!text.contains("{{resolve:")).then(|| scalar(text, place))
    }

    fn joined(&mut self, argument: &Rc<Node>, place: Place) -> Option<Rc<Node>> {
        let [between, list] = argument.items() else { return None };
        let list = self.resolve(list)?;
        let mut text = String::new();
        for (at, item) in list.items().iter().enumerate() {
            if at > 0 {
                text.push_str(between.text()?);
            }
            self.push(&mut text, item)?;
        }
        matches!(list.kind, Kind::List(_)).then_some(())?;
        self.composed(text, place)
    }

    fn split(&mut self, argument: &Rc<Node>, place: Place) -> Option<Rc<Node>> {
        let [between, whole] = argument.items() else { return None };
        let whole = self.resolve(whole)?;
        self.pieces(whole.text()?, between.text().filter(|between| !between.is_empty())?, place)
    }

    fn pieces(&mut self, whole: &str, between: &str, place: Place) -> Option<Rc<Node>> {
        let items: Vec<Rc<Node>> = whole.split(between).map(|piece| scalar(piece.trim(), place)).collect();
        self.left = self.left.saturating_sub(items.len());
        (self.left > 0).then(|| Rc::new(Node { place, kind: Kind::List(items), tag: String::new() }))
    }

    fn selected(&mut self, argument: &Rc<Node>) -> Option<Rc<Node>> {
        let [index, list] = argument.items() else { return None };
        let index = usize::try_from(self.resolve(index)?.number().ok()?).ok()?;
        self.resolve(list)?.items().get(index).cloned()
    }

    fn found_in_map(&mut self, argument: &Rc<Node>) -> Option<Rc<Node>> {
        let [map, first, second] = argument.items() else { return None };
        let mut found = self.root.get("Mappings")?;
        for key in [map, first, second] {
            let key = self.resolve(key)?;
            found = self.looked_up(found, key.text()?)?;
        }
        self.resolve(found)
    }

    fn holds(&mut self, node: &Rc<Node>) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        let alone = || match node.entries() {
            [entry] if entry.key == "Condition" => Some(Call { name: "Condition", argument: &entry.value }),
            _ => None,
        };
        let call = call(node).or_else(alone)?;
        let all = call.argument.items();
        match (call.name, all) {
            ("Condition", _) => self.condition(call.argument.text()?),
            ("Not", [one]) => self.holds(one).map(|holds| !holds),
            ("Equals", [one, other]) => {
                let (one, other) = (self.resolve(one)?, self.resolve(other)?);
                Some(one.text()? == other.text()?)
            }
            ("And" | "Or", all) => {
                // One of them may decide while others are not known.
                let decides = call.name == "Or";
                let found: Vec<Option<bool>> = all.iter().map(|one| self.holds(one)).collect();
                if found.contains(&Some(decides)) {
                    Some(decides)
                } else {
                    (!found.contains(&None)).then_some(!decides)
                }
            }
            _ => None,
        }
    }
}

/// The function that a node is, if it is one.
fn call(node: &Rc<Node>) -> Option<Call<'_>> {
    if !node.tag.is_empty() {
        return Some(Call { name: &node.tag, argument: node });
    }
    let [entry] = node.entries() else { return None };
    let name = if entry.key == "Ref" { "Ref" } else { entry.key.strip_prefix("Fn::")? };
    Some(Call { name, argument: &entry.value })
}

/// A function as its writer knows it: `!FindInMap Sizes`.
fn described(call: &Call<'_>) -> String {
    let first = call.argument.text().or_else(|| call.argument.items().iter().find_map(|item| item.text()));
    format!("!{} {}", call.name, shortened(first.unwrap_or("…")))
}

fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() > SHOWN { line.chars().take(SHOWN).chain(['…']).collect() } else { line.to_owned() }
}
