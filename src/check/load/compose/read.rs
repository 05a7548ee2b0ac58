//! Reads single values of a Compose file: with variables put in, and within a limit.

use super::super::Loading;
use crate::check::expand::{Dialect, Value, expand};
use crate::check::fact::{Fact, Origin};
use crate::check::model::Variable;
use crate::check::source::Place;
use crate::check::tree::{Kind, Node};
use std::ops::Range;
use std::rc::Rc;

/// So many bytes the values of one file may come to. Services share what they name by an alias, and their
/// facts do not: a few lines could make any number.
const MOST: usize = 8 * 1024 * 1024;

/// What values are read through.
pub(super) struct Reader<'l, 'a> {
    loading: &'l mut Loading<'a>,
    left: usize,
}

// === impl Reader ===

impl<'l, 'a> Reader<'l, 'a> {
    pub(super) fn new(loading: &'l mut Loading<'a>) -> Self {
        Self { loading, left: MOST }
    }

    pub(super) fn wrong(&mut self, node: &Node, message: String) {
        self.loading.wrong.push((node.place, message));
    }

    pub(super) fn passed_over(&mut self, what: &str) {
        self.loading.passed_over.push(what.to_owned());
    }

    pub(super) fn name(&self) -> &str {
        self.loading.name
    }

    /// Whether nothing more is read of this file.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// A path that is meant from the directory of the file.
    pub(super) fn beside(&self, path: &str) -> String {
        let directory = self.loading.name.rfind('/').map_or("", |at| &self.loading.name[..=at]);
        if path.starts_with('/') { path.to_owned() } else { format!("{directory}{path}") }
    }

    /// The value of a key; `None` when there is none.
    pub(super) fn value<T>(
        &mut self,
        parent: &Node,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Fact<T>> {
        let node = said(parent, key)?;
        Some(self.fact(node, key, read))
    }

    pub(super) fn text(&mut self, parent: &Node, key: &str) -> Option<Fact<String>> {
        self.value(parent, key, |text| Ok(text.to_owned()))
    }

    /// A node as a fact. Of the wrong type: reported, and unknown.
    pub(super) fn fact<T>(
        &mut self,
        node: &Node,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Fact<T> {
        let unknown = |why: String| Fact::unknown(name, why, Some(node.place));
        let Kind::Scalar { text, .. } = &node.kind else {
            self.wrong(node, format!("{name}: a single value is wanted here, not {}", node.described()));
            return unknown(format!("{name} cannot be read"));
        };
        if !self.spend(node, text.len()) {
            return unknown(format!("{name}: it was not read"));
        }
        let (value, origin) = match interpolate(text) {
            Ok(found) => found,
            Err(why) => return unknown(format!("{name}: {why}")),
        };
        match read(&value) {
            Ok(value) => Fact { origin, ..Fact::written(name, value, node.place) },
            Err(why) => {
                self.wrong(node, format!("{name}: {why}"));
                unknown(format!("{name} cannot be read"))
            }
        }
    }

    /// The environment, as a map or a list of `NAME=value`.
    pub(super) fn environment(&mut self, service: &Node) -> Vec<Variable> {
        let Some(node) = said(service, "environment") else { return Vec::new() };
        let mut variables = Vec::new();
        let shell = || Err("it is taken from where `docker compose` runs".to_owned());
        match &node.kind {
            Kind::Map(_) => {
                for entry in node.all_entries().into_iter().filter(|entry| entry.value.tag != "reset") {
                    if self.is_exhausted() {
                        break;
                    }
                    let (value, origin) = if entry.value.is_null() {
                        (shell(), Origin::Written)
                    } else {
                        let fact = self.fact(&entry.value, &entry.key, |text| Ok(text.to_owned()));
                        (fact.value, fact.origin)
                    };
                    let place = if entry.value.is_null() { entry.key_place } else { entry.value.place };
                    variables.push(Variable { name: entry.key.clone(), value, place, origin });
                }
            }
            Kind::List(items) => {
                for item in items.iter().take_while(|_| !self.is_exhausted()).collect::<Vec<_>>() {
                    let fact = self.fact(item, "environment", |text| Ok(text.to_owned()));
                    let written = item.text().unwrap_or_default();
                    let name = written.split('=').next().unwrap_or_default().to_owned();
                    let value = match fact.value {
                        Ok(text) => text.split_once('=').map_or_else(shell, |(_, value)| Ok(value.to_owned())),
                        Err(why) => Err(why),
                    };
                    let place = inside(item)(name.len() + 1..written.len());
                    variables.push(Variable { name, value, place, origin: fact.origin });
                }
            }
            _ => self.wrong(node, format!("environment: a map or a list is wanted here, not {}", node.described())),
        }
        variables
    }

    /// Takes from what is left; says so when there is nothing any more.
    fn spend(&mut self, node: &Node, bytes: usize) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left = self.left.saturating_sub(bytes + size_of::<Variable>());
        if self.left == 0 {
            self.wrong(node, "from here on nothing is read: the services say the same things too often".to_owned());
        }
        self.left > 0
    }
}

/// The value of a key, unless there is nothing, or only that it counts no more.
pub(super) fn said<'n>(node: &'n Node, key: &str) -> Option<&'n Rc<Node>> {
    node.get(key).filter(|value| !value.is_null() && value.tag != "reset")
}

/// Where a part of a text stands, when it stands there as it is; else where all of it does.
pub(super) fn inside(node: &Node) -> impl Fn(Range<usize>) -> Place + use<> {
    let whole = node.place;
    let text = node.text().unwrap_or_default();
    let length = (whole.end - whole.start) as usize;
    let plain = matches!(node.kind, Kind::Scalar { plain: true, .. });
    let quoted = !plain && length == text.len() + 2;
    let literal = (quoted || (plain && length == text.len())) && !text.contains('$');
    let (skip, most) = (u32::from(quoted), text.len());
    move |range: Range<usize>| {
        let byte = |at: usize| whole.start + skip + u32::try_from(at).unwrap_or(0);
        if literal && range.start < range.end && range.end <= most {
            Place { start: byte(range.start), end: byte(range.end), ..whole }
        } else {
            whole
        }
    }
}

/// A text with its variables put in. What the shell or a file `.env` sets is not known here: only defaults are.
fn interpolate(text: &str) -> Result<(String, Origin), String> {
    if !text.contains('$') {
        return Ok((text.to_owned(), Origin::Written));
    }
    let expanded = expand(text, Dialect::Compose, &|_| Value::Open)?;
    Ok((expanded.text, expanded.origin))
}

/// Reads yes or no, in the words of YAML 1.1.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(format!("true or false is wanted here, not {text:?}")),
    }
}

/// Reads a whole number.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a whole number is wanted here, not {text:?}"))
}
