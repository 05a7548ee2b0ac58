//! Makes trees of other trees: formats that say the same in other words are put into the words of the API,
//! and what is only known later is marked, before the loaders of the API's own formats read them.

use crate::check::source::Place;
use crate::check::tree::{Entry, Kind, Node};
use std::rc::Rc;

/// So many values are looked at in one file. What an alias stands for is read as often as it is named: a few
/// lines could make any number.
pub(super) const MOST: usize = 500_000;

/// A text, which may be a number or a switch.
pub(super) fn scalar(text: impl Into<String>, place: Place) -> Rc<Node> {
    let kind = Kind::Scalar { text: text.into(), plain: true };
    Rc::new(Node { place, kind, tag: String::new() })
}

/// What is only known when the deployment is made, by that description.
pub(super) fn unresolved(what: impl Into<String>, place: Place) -> Rc<Node> {
    Rc::new(Node { place, kind: Kind::Unresolved(what.into()), tag: String::new() })
}

/// A map of these values, each at its own place.
pub(super) fn map<'a>(place: Place, entries: impl IntoIterator<Item = (&'a str, Rc<Node>)>) -> Rc<Node> {
    let entry = |(key, value): (&str, Rc<Node>)| Entry { key: key.to_owned(), key_place: place, value };
    let kind = Kind::Map(entries.into_iter().map(entry).collect());
    Rc::new(Node { place, kind, tag: String::new() })
}

/// A number or a switch in quotes, as what it means: both formats take `"30"` for 30.
pub(super) fn unquoted(node: &Rc<Node>) -> Rc<Node> {
    match &node.kind {
        Kind::Scalar { text, plain: false }
            if matches!(text.as_str(), "true" | "false")
                || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())) =>
        {
            scalar(text.as_str(), node.place)
        }
        _ => Rc::clone(node),
    }
}

/// Counts the values of a tree, as often as they are named, down from `left`; whether it was enough.
pub(super) fn within(node: &Node, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    node.items().iter().all(|item| within(item, left)) && node.entries().iter().all(|entry| within(&entry.value, left))
}
