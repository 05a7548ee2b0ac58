//! Which resource refers to which, when the names that they do it by are only known after apply: the
//! `configuration` of a plan keeps the references of each expression. They are followed through the
//! variables and outputs of modules; where a `local` is in between, they end.

use super::resource::{Resource, items, reference};
use super::super::rewrite::scalar;
use crate::check::source::Place;
use crate::check::tree::{Entry, Node};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// The `configuration` of a plan, if there is one.
pub(super) struct Configuration<'a> {
    root: Option<&'a Node>,
    /// The expressions of each resource, by the calls that lead to its module and its name in there.
    expressions: HashMap<(Vec<&'a str>, &'a str), &'a Node>,
    resources: Vec<Address<'a>>,
    /// So many references may still be followed: they could lead in circles.
    left: Cell<usize>,
}

/// An address and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address<'a> {
    whole: &'a str,
    module: Module<'a>,
    /// Type and name: `aws_lb_target_group.blue`.
    name: String,
    /// `0` or `"blue"`, of one of several.
    index: Option<&'a str>,
}

/// The calls that lead to a module, each with the index of one of several.
type Module<'a> = Vec<(&'a str, Option<&'a str>)>;

/// So many references of one file are followed.
const MOST: usize = 10_000;

/// So many modules call each other at the most.
const DEEPEST: usize = 64;

// === impl Configuration ===

impl<'a> Configuration<'a> {
    pub(super) fn new(document: &'a Node, resources: &[Resource<'a>]) -> Self {
        let root = document.get("configuration").and_then(|configuration| configuration.get("root_module"));
        let resources = resources.iter().filter_map(|resource| Address::of(resource.address)).collect();
        let root = root.map(Rc::as_ref);
        let expressions = root.map(expressions).unwrap_or_default();
        Self { root, expressions, resources, left: Cell::new(MOST) }
    }

    /// Whether somebody set a value; when that cannot be told, somebody did.
    pub(super) fn is_set(&self, resource: &Resource<'_>, path: &[&str]) -> bool {
        let Some(expressions) = self.expressions(resource) else { return true };
        match path {
            // A block that came of a `dynamic` one is not in there.
            [block, key] => items(expressions, block).first().is_none_or(|block| block.get(key).is_some()),
            [key] => expressions.get(key).is_some(),
            _ => true,
        }
    }

    /// What a value of a resource refers to, as a text that is one of the names of that.
    pub(super) fn refers_to(&self, from: &Resource<'a>, key: &str, file: &str, place: Place) -> Option<Rc<Node>> {
        self.follow_all(from, self.expressions(from)?.get(key)?, file, place)
    }

    /// The same, of a value in one of several blocks. Blocks are a set: the configuration may have them in
    /// another order, so that they are told apart by what else is in them.
    pub(super) fn block_refers_to(
        &self,
        from: &Resource<'a>,
        (name, at): (&str, usize),
        key: &str,
        file: &str,
        place: Place,
    ) -> Option<Rc<Node>> {
        let written = items(self.expressions(from)?, name);
        let blocks = from.blocks(name);
        let same = |block: &Resource<'_>, written: &Node| {
            ["container_name", "container_port"].iter().all(|key| {
                let constant = written.get(key).and_then(|expression| expression.get("constant_value"));
                let (Some(constant), Some(value)) = (constant, block.value(key)) else { return true };
                constant.text() == value.text()
            })
        };
        let block = blocks.get(at)?;
        let alike: Vec<&Rc<Node>> = written.iter().filter(|written| same(block, written)).collect();
        let before = blocks.iter().take(at).filter(|other| alike.iter().any(|written| same(other, written))).count();
        let written = if written.len() == 1 { written.first()? } else { alike.get(before)? };
        self.follow_all(from, written.get(key)?, file, place)
    }

    fn follow_all(&self, from: &Resource<'a>, expression: &'a Node, file: &str, place: Place) -> Option<Rc<Node>> {
        let from = Address::of(from.address)?;
        let found = self.first_of(&from.module, expression, from.index, 0)?;
        Some(scalar(reference(found, file), place))
    }

    fn first_of(&self, module: &Module<'a>, expression: &'a Node, index: Option<&str>, depth: usize) -> Option<&'a str> {
        let references = items(expression, "references").iter().filter_map(|reference| reference.text());
        let mut references = references;
        references.find_map(|reference| self.follow(module, reference, index, depth + 1))
    }

    /// The address of the resource that a reference of a module leads to.
    fn follow(&self, module: &Module<'a>, reference: &'a str, index: Option<&str>, depth: usize) -> Option<&'a str> {
        self.left.set(self.left.get().checked_sub(1).filter(|_| depth < DEEPEST)?);
        let parts = parts(reference);
        match parts.as_slice() {
            [("module", _), (call, at), (output, _), ..] => {
                let mut inner = module.clone();
                inner.push((call, *at));
                let expression = self.module(&inner)?.get("outputs")?.get(output)?.get("expression")?;
                self.first_of(&inner, expression, index, depth)
            }
            [("var", _), (name, _), ..] => {
                let mut outer = module.clone();
                let (call, at) = outer.pop()?;
                let expression = self.module(&outer)?.get("module_calls")?.get(call)?.get("expressions")?.get(name)?;
                // Out there `each.key` is that of the call.
                self.first_of(&outer, expression, at.or(index), depth)
            }
            [(of, _), (name, at), ..] => self.instance(module, &format!("{of}.{name}"), *at, index),
            _ => None,
        }
    }

    /// One of the instances of a resource: that of the index, else of the index of who refers to it, else the
    /// only one.
    fn instance(&self, module: &Module<'a>, name: &str, at: Option<&str>, own: Option<&str>) -> Option<&'a str> {
        let calls = |module: &Module<'a>| module.iter().map(|(call, _)| *call).collect::<Vec<_>>();
        let all = self.resources.iter().filter(|resource| resource.name == name);
        let all: Vec<_> = all.filter(|resource| calls(&resource.module) == calls(module)).collect();
        let here: Vec<_> = all.iter().copied().filter(|resource| resource.module == *module).collect();
        let all = if here.is_empty() { all } else { here };
        let indexed = |index: Option<&str>| all.iter().find(|resource| index.is_some() && resource.index == index);
        let only = || all.first().filter(|_| all.len() == 1 && at.is_none());
        let found = if at.is_some() { indexed(at) } else { indexed(own).or_else(only) };
        found.map(|resource| resource.whole)
    }

    fn module(&self, module: &Module<'_>) -> Option<&'a Node> {
        let step = |node: &'a Node, (call, _): &(&str, _)| {
            node.get("module_calls")?.get(call)?.get("module").map(Rc::as_ref)
        };
        module.iter().try_fold(self.root?, step)
    }

    fn expressions(&self, resource: &Resource<'_>) -> Option<&'a Node> {
        let address = Address::of(resource.address)?;
        let calls: Vec<&str> = address.module.iter().map(|(call, _)| *call).collect();
        self.expressions.get(&(calls, address.name.as_str())).copied()
    }
}

/// The expressions of all resources.
fn expressions(root: &Node) -> HashMap<(Vec<&str>, &str), &Node> {
    let mut found = HashMap::new();
    let mut modules = vec![(Vec::new(), root)];
    let mut left = MOST;
    while let Some((calls, module)) = modules.pop() {
        for resource in items(module, "resources") {
            let name = resource.get("address").and_then(|name| name.text());
            if let (Some(name), Some(expressions)) = (name, resource.get("expressions")) {
                found.insert((calls.clone(), name), expressions.as_ref());
            }
        }
        // One that is shared by an alias is looked at as often as it is called.
        let Some(rest) = left.checked_sub(1).filter(|_| calls.len() < DEEPEST) else { continue };
        left = rest;
        for entry in module.get("module_calls").map_or(&[] as &[Entry], |calls| calls.entries()) {
            let Some(inner) = entry.value.get("module") else { continue };
            modules.push(([calls.as_slice(), &[entry.key.as_str()]].concat(), inner));
        }
    }
    found
}

// === impl Address ===

impl<'a> Address<'a> {
    fn of(whole: &'a str) -> Option<Self> {
        let parts = parts(whole);
        let mut rest = parts.as_slice();
        let mut module = Vec::new();
        while let [("module", None), call, after @ ..] = rest {
            module.push(*call);
            rest = after;
        }
        match rest {
            [(of, None), (name, index)] => Some(Self { whole, module, name: format!("{of}.{name}"), index: *index }),
            _ => None,
        }
    }
}

/// The parts of an address or a reference between its dots, each with the index in brackets behind it.
/// In an index dots are nothing special.
fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut parts = Vec::new();
    let (mut quoted, mut escaped, mut start) = (false, false, 0);
    let part = |text: &'_ str| -> (usize, Option<usize>) { (text.find('[').unwrap_or(text.len()), text.find('[')) };
    let mut push = |from: usize, to: usize| {
        let whole = &text[from..to];
        let (end, open) = part(whole);
        let index = open.map(|open| whole[open + 1..].strip_suffix(']').unwrap_or(&whole[open + 1..]));
        parts.push((&whole[..end], index));
    };
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '.' if !quoted => {
                push(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    push(start, text.len());
    parts
}

#[cfg(test)]
mod tests {
    use super::{Address, parts};

    #[test]
    fn dots_in_an_index_part_nothing() {
        assert_eq!(
            parts(r#"module.a["x.y"].aws_lb.b[0].arn"#),
            [("module", None), ("a", Some("\"x.y\"")), ("aws_lb", None), ("b", Some("0")), ("arn", None)]
        );
        assert_eq!(parts(r#"a["q\".b"].c"#), [("a", Some(r#""q\".b""#)), ("c", None)]);
        assert_eq!(parts("a[\"x.b"), [("a", Some("\"x.b"))]);
        assert_eq!(parts(""), [("", None)]);
    }

    #[test]
    fn an_address_has_its_modules() {
        let address = Address::of(r#"module.a["x"].module.b.aws_ecs_service.web[1]"#).unwrap();
        assert_eq!(address.module, [("a", Some("\"x\"")), ("b", None)]);
        assert_eq!((address.name.as_str(), address.index), ("aws_ecs_service.web", Some("1")));
        assert_eq!(Address::of("aws_ecs_service"), None);
    }
}
