//! What the container definitions of several formats have in common.

use super::{Loading, text};
use crate::check::fact::Origin;
use crate::check::model::Variable;
use crate::check::tree::{Kind, Node};

/// An environment as a list of `{name, value}`.
pub(super) fn environment(list: &Node, loading: &mut Loading<'_>) -> Vec<Variable> {
    let mut variables = Vec::new();
    for item in list.items() {
        let Some(name) = item.field("name").and_then(|name| name.text()) else { continue };
        let (value, origin) = match item.field("value") {
            Some(value) => {
                let fact = loading.fact(value, name, text);
                (fact.value, fact.origin)
            }
            // A secret, or a reference to something else of the platform.
            None if item.entries().len() > 1 => {
                (Err("it is set from elsewhere when it is deployed".to_owned()), Origin::Written)
            }
            None => (Ok(String::new()), Origin::Written),
        };
        let place = item.field("value").map_or(item.place, |value| value.place);
        variables.push(Variable { name: name.to_owned(), value, place, origin });
    }
    if !matches!(list.kind, Kind::List(_)) && !list.is_null() {
        loading.wrong.push((list.place, format!("a list of variables is wanted here, not {}", list.described())));
    }
    variables
}
