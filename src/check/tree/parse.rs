//! From text to nodes, through the events of a YAML parser.

use super::{Entry, Kind, Node};
use crate::check::source::{FileId, Place};
use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Why a text is no tree, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATree {
    /// The byte.
    pub at: u32,
    /// What is wrong and what to do.
    pub message: String,
}

/// Collections are nested so deep at the most.
const DEEPEST: usize = 100;

/// So many values a file may have: some 200 MB of memory.
const MOST_NODES: usize = 2_000_000;

/// So deep values may stand in each other, counted through aliases: the parser's own limit sees only what is
/// written out, and a chain of aliases could be as deep as the file is long.
const DEEPEST_WITH_ALIASES: usize = 200;

/// Reads all documents of a text.
///
/// # Errors
/// The first thing that is wrong; nothing of the file is used then.
pub fn parse(file: FileId, text: &str) -> Result<Vec<Rc<Node>>, NotATree> {
    build(text, &|start, end| Place { file, start, end })
}

/// Reads a tree that stands as text inside another, as `container_definitions` of Terraform: everything
/// in it has the place of that text.
///
/// # Errors
/// As [`parse`], at the beginning of `place`.
pub fn parse_inside(place: Place, text: &str) -> Result<Vec<Rc<Node>>, NotATree> {
    build(text, &|_, _| place).map_err(|wrong| NotATree { at: place.start, ..wrong })
}

/// The same, where the text is a JSON string of a file or a block of YAML (`|`): everything in it has its own
/// place in there.
///
/// # Errors
/// As [`parse`].
pub fn parse_inside_of(place: Place, text: &str, file_text: &str) -> Result<Vec<Rc<Node>>, NotATree> {
    let (start, end) = (place.start as usize, place.end as usize);
    let raw = file_text.get(start..end).unwrap_or_default();
    let indent = file_text.get(..start).map_or(0, |before| before.len() - before.rfind('\n').map_or(0, |at| at + 1));
    let Some(offsets) = offsets(raw, text).or_else(|| offsets_of_block(raw, text, indent)) else {
        return parse_inside(place, text);
    };
    let at = |offset: u32| offsets.get(offset as usize).map_or(place.end, |at| place.start + at);
    build(text, &|start, end| Place { start: at(start), end: at(end), ..place })
        .map_err(|wrong| NotATree { at: at(wrong.at), ..wrong })
}

/// Where each byte of a text, and its end, stands in the JSON string that it was written as; `None` when it
/// was written in another way.
fn offsets(raw: &str, text: &str) -> Option<Vec<u32>> {
    let mut at = raw.starts_with('"').then_some(1)?;
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for c in text.chars() {
        let rest = raw.get(at..)?;
        let length = match rest.as_bytes() {
            // Beyond 16 bits two escapes make one character.
            [b'\\', b'u', ..] => 6 * c.len_utf16(),
            [b'\\', ..] => 2,
            _ if rest.starts_with(c) => c.len_utf8(),
            _ => return None,
        };
        offsets.extend(std::iter::repeat_n(u32::try_from(at).ok()?, c.len_utf8()));
        at += length;
    }
    raw.get(at..)?.starts_with('"').then_some(())?;
    offsets.push(u32::try_from(at).ok()?);
    Some(offsets)
}

/// The same of a block of YAML, whose lines are as they stand but for the indentation.
fn offsets_of_block(raw: &str, text: &str, indent: usize) -> Option<Vec<u32>> {
    let mut at = 0;
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 {
            let spaces = raw.get(at..)?.bytes().take_while(|byte| *byte == b' ').count();
            at += spaces.min(indent);
        }
        // The last line may end with the block.
        let written = raw.get(at..)?;
        if !written.starts_with(line) && written != line.trim_end_matches('\n') {
            return None;
        }
        let start = u32::try_from(at).ok()?;
        offsets.extend((0..u32::try_from(line.len()).ok()?).map(|byte| start + byte));
        at += line.len();
    }
    offsets.push(u32::try_from(at).ok()?);
    Some(offsets)
}

/// A collection that has begun and not ended.
struct Open {
    start: u32,
    anchor: usize,
    tag: String,
    content: Content,
    /// The levels below it.
    below: usize,
}

enum Content {
    List(Vec<Rc<Node>>),
    Map { entries: Vec<Entry>, seen: HashSet<String>, key: Option<(String, Place)> },
}

struct Builder<'a> {
    place: &'a dyn Fn(u32, u32) -> Place,
    open: Vec<Open>,
    /// What aliases stand for, and the levels in it.
    anchors: HashMap<usize, (Rc<Node>, usize)>,
    documents: Vec<Rc<Node>>,
    nodes: usize,
}

fn build(text: &str, place: &dyn Fn(u32, u32) -> Place) -> Result<Vec<Rc<Node>>, NotATree> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: DEEPEST,
        block_nesting_limit: DEEPEST,
        // JSON knows no limit to keys.
        simple_key_max_lookahead: 65_536,
    };
    options.set_emit_comments(false);
    let mut builder = Builder { place, open: Vec::new(), anchors: HashMap::new(), documents: Vec::new(), nodes: 0 };
    for event in Parser::new_from_str_with_options(text, options) {
        let taken = match event {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => Err(explain(&error, text, &builder.open)),
        };
        taken.map_err(|wrong| template(text, wrong))?;
    }
    Ok(builder.documents)
}

/// What is wrong in a template is not YAML's to say: `{{` on the line of the error, or on one before it that
/// was taken for a map of a map.
fn template(text: &str, wrong: NotATree) -> NotATree {
    let at = (wrong.at as usize).min(text.len());
    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length);
    let action = |line: &&str| line.find("{{").is_some_and(|at| !line[..at].contains(['"', '\'', '#']));
    let before = text.get(..end).unwrap_or_default().lines().rev().take(3).find(action);
    let Some(line) = before else { return wrong };
    let message = format!(
        "a template, not YAML yet: `{}`; render it first, as in helm template . | lameduckctl check -",
        line.trim()
    );
    NotATree { message, ..wrong }
}

/// The parser's complaint, with what is behind it when that is plain.
fn explain(error: &ScanError, text: &str, open: &[Open]) -> NotATree {
    let at = byte(error.marker().byte_offset());
    let rest = text.get(at as usize..).unwrap_or_default();
    let message = if (rest.trim().is_empty() && !open.is_empty()) || error.info().starts_with("unclosed") {
        "ends in the middle: is the file complete?".to_owned()
    } else if error.info().contains("recursion limit") {
        format!("nested deeper than the {DEEPEST} levels that are read")
    } else {
        error.info()
    };
    NotATree { at, message }
}

fn byte(offset: Option<usize>) -> u32 {
    offset.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
}

// === impl Builder ===

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), NotATree> {
        let (start, end) = (byte(span.start.byte_offset()), byte(span.end.byte_offset()));
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let kind = Kind::Scalar { text: text.into_owned(), plain };
                self.finish((start, end), anchor, name(tag), kind, 0)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open.push(Open { start, anchor, tag: name(tag), content: Content::List(Vec::new()), below: 0 });
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Map { entries: Vec::new(), seen: HashSet::new(), key: None };
                self.open.push(Open { start, anchor, tag: name(tag), content, below: 0 });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let kind = match open.content {
                    Content::List(items) => Kind::List(items),
                    Content::Map { entries, .. } => Kind::Map(entries),
                };
                self.finish((open.start, end.max(open.start)), open.anchor, open.tag, kind, open.below + 1)
            }
            Event::Alias(anchor) => {
                let Some((node, levels)) = self.anchors.get(&anchor).cloned() else {
                    let message = "this alias stands inside of what it stands for: it would never end".to_owned();
                    return Err(NotATree { at: start, message });
                };
                self.place_node(node, (start, end), levels)
            }
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(
        &mut self,
        (start, end): (u32, u32),
        anchor: usize,
        tag: String,
        kind: Kind,
        levels: usize,
    ) -> Result<(), NotATree> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let message = format!("more than the {MOST_NODES} values that are read of one file");
            return Err(NotATree { at: start, message });
        }
        let node = Rc::new(Node { place: (self.place)(start, end), kind, tag });
        if anchor != 0 {
            self.anchors.insert(anchor, (Rc::clone(&node), levels));
        }
        self.place_node(node, (start, end), levels)
    }

    /// Puts a node where it belongs: into the collection that is open, or at the top.
    fn place_node(&mut self, node: Rc<Node>, (start, end): (u32, u32), levels: usize) -> Result<(), NotATree> {
        if levels > DEEPEST_WITH_ALIASES {
            return Err(NotATree {
                at: start,
                message: format!("more than {DEEPEST_WITH_ALIASES} values stand in each other here"),
            });
        }
        if let Some(open) = self.open.last_mut() {
            open.below = open.below.max(levels);
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.documents.push(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, seen, key }) => {
                if let Some((key, key_place)) = key.take() {
                    entries.push(Entry { key, key_place, value: node });
                } else {
                    let Some(text) = node.text() else {
                        let message = format!("a key has to be a text, not {}", node.described());
                        return Err(NotATree { at: start, message });
                    };
                    if !seen.insert(text.to_owned()) {
                        let message =
                            format!("the key {text:?} stands here a second time: which one counts is not sure");
                        return Err(NotATree { at: start, message });
                    }
                    *key = Some((text.to_owned(), (self.place)(start, end)));
                }
            }
        }
        Ok(())
    }
}

/// `!Ref` → `Ref`; the tags of YAML itself say nothing that is needed here.
fn name(tag: Option<Cow<'_, granit_parser::Tag>>) -> String {
    tag.filter(|tag| tag.core_suffix().is_none()).map_or_else(String::new, |tag| tag.suffix().to_owned())
}
