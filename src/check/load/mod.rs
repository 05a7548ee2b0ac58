//! One loader a format: from a tree (or a text) to facts of the [`Model`].
//!
//! To add a format, write one file with a `pub const FORMAT: Format` and name it in `formats!` below.
//! `is` looks only at what is there, never at file names. `load` reads what it needs through [`Loading`],
//! whose readers keep the place of every value, turn what is only known later into unknown facts, and
//! report what has the wrong type; a loader itself never fails. What a platform does when nothing is
//! written is the loader's knowledge too: every default is a fact with that origin.

mod container;
#[cfg(test)]
mod hostile;
mod rewrite;

use super::fact::{Fact, Origin};
use super::model::{Model, Platform, Word, Words};
use super::source::{FileId, Place};
use super::tree::{Kind, Node};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// A format that is understood.
pub struct Format {
    /// Its name for people.
    pub name: &'static str,
    /// How it is told and read.
    pub read: Reading,
}

/// How a format is told from others, and read.
pub enum Reading {
    /// It is YAML or JSON: a document at a time.
    Tree {
        /// Whether a document is one of this format.
        is: fn(&Node) -> bool,
        /// Adds what is in it to the model.
        load: fn(&Rc<Node>, &mut Loading<'_>),
    },
    /// It is a text of its own kind.
    Text {
        /// Whether a file is one of this format.
        is: fn(&str) -> bool,
        /// Adds what is in it to the model.
        load: fn(&str, &mut Loading<'_>),
    },
}

macro_rules! formats {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every format, in the order in which a document is held against them.
        pub const FORMATS: &[Format] = &[$($name::FORMAT),*];
    };
}

formats! {
    ecs_task,
    ecs_service,
    target_group,
    attributes,
    cloud_map,
    kubernetes,
    compose,
    dockerfile,
    image_config,
    terraform,
    cloudformation,
}

/// What a loader works with.
pub struct Loading<'a> {
    /// The file.
    pub file: FileId,
    /// Its name.
    pub name: &'a str,
    /// What stands in it.
    pub text: &'a str,
    /// What is found goes here.
    pub model: &'a mut Model,
    /// What is wrong in the file, and where.
    pub wrong: Vec<(Place, String)>,
    /// Kinds of things that were passed over, one by one.
    pub passed_over: Vec<String>,
    /// Who says the values at these places, where that is not simply the file.
    pub origins: HashMap<Place, Origin>,
    /// What the file calls the fields of the API, where it has other names for them.
    pub spellings: &'static [(&'static str, &'static str)],
}

// === impl Loading ===

impl Loading<'_> {
    /// How the file calls a field of the API.
    #[must_use]
    pub fn spelled<'k>(&self, field: &'k str) -> &'k str {
        self.spellings.iter().find(|(api, _)| *api == field).map_or(field, |(_, own)| own)
    }

    /// A field with a reader of single values: the value if it is there, `None` if not. Of the wrong type:
    /// reported, and unknown.
    pub fn optional<T>(
        &mut self,
        parent: &Node,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Option<Fact<T>> {
        let node = parent.field(key).filter(|node| !node.is_null())?;
        let name = self.spelled(parent.spelling(key));
        Some(self.fact(node, name, read))
    }

    /// The same, with what `whose` takes when it is not there.
    pub fn value<T>(
        &mut self,
        parent: &Node,
        key: &str,
        (whose, default): (&'static str, T),
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Fact<T> {
        let found = self.optional(parent, key, read);
        found.unwrap_or_else(|| Fact::default_of(whose, self.spelled(key), default, Some(parent.anchor())))
    }

    /// A node as a fact.
    pub fn fact<T>(&mut self, node: &Node, name: &str, read: impl FnOnce(&Node) -> Result<T, String>) -> Fact<T> {
        if let Kind::Unresolved(what) = &node.kind {
            return Fact::unknown(name, format!("{name}: {what} is only known when it is deployed"), Some(node.place));
        }
        match read(node) {
            Ok(value) => {
                let origin = self.origins.get(&node.place).cloned().unwrap_or(Origin::Written);
                Fact { origin, ..Fact::written(name, value, node.place) }
            }
            Err(why) => {
                let template = node.text().is_some_and(|text| text.contains("{{"));
                let why = if template { "a template, which has to be rendered first".to_owned() } else { why };
                self.wrong.push((node.place, format!("{name}: {why}")));
                Fact::unknown(name, format!("{name} cannot be read"), Some(node.place))
            }
        }
    }

    /// The texts of a list, as the words of a command.
    pub fn words(&mut self, parent: &Node, key: &str) -> Option<Words> {
        let node = parent.field(key).filter(|node| !node.is_null())?;
        let mut words = Vec::new();
        let mut missing = None;
        for item in node.items() {
            match self.fact(item, key, text).value {
                Ok(text) => words.push(Word { text, place: item.place }),
                Err(why) => missing = Some(why),
            }
        }
        match &node.kind {
            Kind::List(_) => {}
            Kind::Unresolved(what) => missing = Some(format!("{key}: {what} is only known when it is deployed")),
            _ => self
                .wrong
                .push((node.place, format!("{key}: a list of texts is wanted here, not {}", node.described()))),
        }
        Some(Words { words: missing.map_or(Ok(words), Err), place: node.place })
    }

    /// The platform's default, at the place where it would be written.
    pub fn default<T>(platform: Platform, name: &str, value: T, parent: &Node) -> Fact<T> {
        Fact::default_of(platform.name(), name, value, Some(parent.anchor()))
    }
}

/// Reads a whole number of seconds.
///
/// # Errors
/// What stands there instead.
pub fn seconds(node: &Node) -> Result<Duration, String> {
    let seconds = node.number()?;
    let duration = Duration::from_secs(seconds);
    if duration > crate::core::duration::MAX {
        Err(format!("{seconds} seconds are longer than a year"))
    } else {
        Ok(duration)
    }
}

/// Reads a text, or what looks like one: `value: 15` is one in an environment.
///
/// # Errors
/// What stands there instead.
pub fn text(node: &Node) -> Result<String, String> {
    node.text().map(str::to_owned).ok_or_else(|| format!("a text is wanted here, not {}", node.described()))
}

/// Reads a duration as Go writes it: with a unit, `1m30s`.
///
/// # Errors
/// What is wrong with it.
pub fn go_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text != "0" && text.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("{text:?} has no unit: write {text}s"));
    }
    crate::core::duration::parse(text).map_err(|_| format!("{text:?} is no duration: write 15s or 1m30s"))
}
