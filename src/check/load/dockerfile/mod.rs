//! Dockerfiles: what an image runs, from the stage that is built and those that it is built from.

mod heredoc;
mod pairs;
mod stage;

use super::{Format, Loading, Reading};
use crate::check::fact::Fact;
use crate::check::image::Image;
use crate::check::model::{Container, Platform, Variable};
use crate::check::source::{FileId, Place};
use parse_dockerfile::{Dockerfile, FromInstruction};
use stage::{Scope, Stage};
use std::cell::Cell;
use std::ops::Range;

pub(super) const FORMAT: Format = Format { name: "Dockerfile", read: Reading::Text { is, load } };

const INSTRUCTIONS: [&str; 18] = [
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD",
    "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
];

/// So many bytes the values of a file may come to, those that later stages inherit counted again: a few
/// lines of `ENV B=$A$A$A` could make any number.
const MOST: usize = 32 * 1024 * 1024;

/// So many stages a file may have.
const MOST_STAGES: usize = 1000;

const TOO_MUCH: &str = "more is set in this file than is looked at";

/// Whether the first line that is no comment is an instruction. In small letters only `from` and `arg` are
/// taken for one: words begin many texts.
fn is(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some((first, rest)) = lines.next().and_then(|line| line.split_once([' ', '\t'])) else { return false };
    // `ENV: value` of YAML has a colon before the blank.
    let small = ["from", "arg"].contains(&first) && !rest.starts_with(':');
    INSTRUCTIONS.contains(&first) || small
}

fn load(text: &str, loading: &mut Loading<'_>) {
    let escape = escape(text);
    // A byte order mark, as some editors on Windows write it.
    let bare = text.trim_start_matches('\u{feff}');
    let skipped = text.len() - bare.len();
    let blanked = heredoc::blank(bare, escape);
    let parsed = match parse_dockerfile::parse(&blanked) {
        Ok(parsed) => parsed,
        Err(error) => {
            let before: usize =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let at = place(loading.file, before..before);
            loading.wrong.push((at, format!("{error:#}")));
            return;
        }
    };
    let reader = Reader { text: &blanked, file: loading.file, skipped, escape, left: Cell::new(MOST) };
    let images = reader.images(&parsed, loading);
    loading.model.images.extend(images);
}

/// The escape that a directive in the first lines may set.
fn escape(text: &str) -> char {
    let comments = text.lines().take_while(|line| line.trim_start().starts_with('#'));
    let mut directives = comments.filter_map(|line| line.trim_start().strip_prefix('#')?.split_once('='));
    let escape = directives.find(|(name, _)| name.trim().eq_ignore_ascii_case("escape"));
    if escape.is_some_and(|(_, value)| value.trim() == "`") { '`' } else { '\\' }
}

fn place(file: FileId, range: Range<usize>) -> Place {
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Place { file, start: byte(range.start), end: byte(range.end) }
}

/// What the stages of a file have in common.
struct Reader<'a> {
    /// The text as it was parsed.
    text: &'a str,
    file: FileId,
    /// So many bytes stand before it in the file: a byte order mark.
    skipped: usize,
    escape: char,
    /// So many bytes of [`MOST`] are left.
    left: Cell<usize>,
}

// === impl Reader ===

impl Reader<'_> {
    fn place(&self, range: Range<usize>) -> Place {
        place(self.file, range.start + self.skipped..range.end + self.skipped)
    }

    /// Whether so many bytes may still be taken.
    fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes.saturating_add(size_of::<Variable>()));
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// An image of every stage that may be asked for, each with what it has from earlier ones.
    fn images(&self, parsed: &Dockerfile<'_>, loading: &mut Loading<'_>) -> Vec<Image> {
        let mut globals = Scope::default();
        for arg in parsed.global_args() {
            globals.declare(self, arg, &Scope::default(), &[]);
        }
        let mut stages: Vec<Stage> = Vec::new();
        let total = parsed.stages().len();
        if total > MOST_STAGES {
            loading.wrong.push((self.place(0..0), format!("{total} stages are more than the {MOST_STAGES} that are read")));
            return Vec::new();
        }
        for parsed in parsed.stages() {
            let name = parsed.from.as_.as_ref().map(|(_, name)| name.value.to_ascii_lowercase());
            let base = self.base(parsed.from, &globals);
            // Names count without capitals; the latest of a name would be refused by Docker anyway.
            let below = base.known().and_then(|base| {
                let base = base.to_ascii_lowercase();
                stages.iter().find(|stage| stage.name.as_deref() == Some(&base))
            });
            let at = self.place(parsed.from.from.span.clone());
            let mut stage = match below {
                Some(below) if !self.spend(below.weight()) => {
                    loading.wrong.push((at, TOO_MUCH.to_owned()));
                    break;
                }
                Some(below) => below.inherited(name, at),
                None => Stage::new(Container::new(Platform::Docker, loading.name.to_owned(), at), name, Some(base)),
            };
            for instruction in parsed.instructions {
                stage.take(self, instruction, &globals, loading);
            }
            stages.push(stage);
        }
        let last = stages.len().saturating_sub(1);
        let image = |(at, stage): (usize, Stage)| {
            let bare = stage.base.as_ref().is_some_and(|base| base.is(&"scratch".to_owned()));
            Image {
                name: stage.container.name.clone(),
                references: Vec::new(),
                place: stage.container.place,
                base: stage.base.clone().filter(|_| !bare),
                stage: stage.name.clone(),
                last: at == last,
                container: stage.finish(bare),
            }
        };
        stages.into_iter().enumerate().map(image).collect()
    }

    /// The image that a stage begins with; only arguments before the first stage count there.
    fn base(&self, from: &FromInstruction<'_>, globals: &Scope) -> Fact<String> {
        let at = self.place(from.image.span.clone());
        match globals.text(&from.image.value, &[]) {
            Ok((text, origin)) if !text.is_empty() => Fact { origin, ..Fact::written("FROM", text, at) },
            Ok(_) => Fact::unknown("FROM", format!("FROM {}: it names no image", from.image.value), Some(at)),
            Err(why) => Fact::unknown("FROM", format!("FROM {}: {why}", from.image.value), Some(at)),
        }
    }
}
