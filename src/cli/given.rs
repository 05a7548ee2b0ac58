//! What was given for each option, and where: flag beats variable beats default.

use super::line::Line;
use super::nearest::nearest;
use super::options::{Id, OF_HOOKS, OPTIONS, PREFIX, Takes};
use super::value;
use std::ffi::{OsStr, OsString};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nobody gave one.
    #[default]
    Default,
    /// The command line.
    Flag,
    /// The environment.
    Variable,
    /// It follows from another option.
    From(Id),
}

/// The origin of every option's value, by [`Id`].
pub(super) type Origins = [Origin; OPTIONS.len()];

/// Reads what was given, option by option, and gathers what is wrong.
pub(super) struct Given<'a> {
    pub(super) line: Line,
    environ: &'a [(OsString, OsString)],
    pub(super) origins: Origins,
    pub(super) errors: Vec<String>,
}

impl<'a> Given<'a> {
    pub(super) fn new(mut line: Line, environ: &'a [(OsString, OsString)]) -> Self {
        let errors = std::mem::take(&mut line.errors);
        Self { line, environ, origins: [Origin::Default; OPTIONS.len()], errors }
    }

    /// The value of an option that takes one.
    pub(super) fn one<T>(&mut self, id: Id, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let words = self.words(id);
        if words.len() > 1 {
            let all: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            self.errors.push(format!("--{}: given more than once ({}): write it once", id.spec().long, all.join(", ")));
        }
        words.iter().filter_map(|word| self.value(id, word, &read)).next_back()
    }

    /// The values of an option that takes several.
    pub(super) fn list<T>(&mut self, id: Id, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let mut values = Vec::new();
        for word in self.words(id) {
            for item in word.as_encoded_bytes().split(|byte| *byte == b',') {
                // Only what is no text at all is shown in full instead of the one item.
                let item = std::str::from_utf8(item).map_or(word.as_os_str(), OsStr::new);
                values.extend(self.value(id, item, &read));
            }
        }
        values
    }

    /// Whether a switch is on.
    pub(super) fn switch(&mut self, id: Id) -> bool {
        if self.line.asks(id) {
            self.origins[id as usize] = Origin::Flag;
            return true;
        }
        self.variable(id, value::yes_or_no).unwrap_or(false)
    }

    /// How often a flag that may be repeated was given.
    pub(super) fn count(&mut self, id: Id) -> u8 {
        match self.line.count(id) {
            0 => self.variable(id, value::count).unwrap_or(0),
            count => {
                self.origins[id as usize] = Origin::Flag;
                count
            }
        }
    }

    /// Adds an error about an option as a whole.
    pub(super) fn refuse(&mut self, id: Id, why: &str) {
        let name = name(id, self.origins[id as usize]);
        self.errors.push(format!("{name}: {why}"));
    }

    /// One warning for each variable that looks like ours and is not.
    pub(super) fn unknown_variables(&self) -> Vec<String> {
        let unknown = self.environ.iter().map(|(name, _)| name).filter(|name| {
            let bytes = name.as_encoded_bytes();
            // Kubernetes injects these into every pod beside a Service that is called lameduck.
            let injected = bytes.starts_with(b"LAMEDUCK_SERVICE_") || bytes.starts_with(b"LAMEDUCK_PORT");
            let of_a_hook = OF_HOOKS.iter().any(|name| name.as_bytes() == bytes);
            !injected && !of_a_hook && !super::is_own_variable(bytes)
        });
        unknown
            .map(|name| {
                let shown = name.to_string_lossy();
                let rest = shown.strip_prefix(PREFIX).unwrap_or(&shown).replace('_', "-");
                let known = OPTIONS.iter().filter(|spec| spec.variable().is_some()).map(|spec| spec.long);
                let meant =
                    nearest(&rest, known).and_then(|long| OPTIONS.iter().find(|spec| spec.long == long)?.variable());
                let shown = shown.escape_debug();
                match meant {
                    Some(meant) => format!("{shown}: unknown variable, ignored; did you mean {meant}?"),
                    None => format!("{shown}: unknown variable, ignored; --help lists those there are"),
                }
            })
            .collect()
    }

    fn variable<T>(&mut self, id: Id, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let word = self.environ_word(id)?.clone();
        self.origins[id as usize] = Origin::Variable;
        self.value(id, &word, read)
    }

    /// The words given for an option: those of the flag, else that of the variable.
    fn words(&mut self, id: Id) -> Vec<OsString> {
        let mut words = self.line.values(id);
        let origin = if !words.is_empty() {
            Origin::Flag
        } else if let Some(word) = self.environ_word(id) {
            words.push(word.clone());
            Origin::Variable
        } else {
            Origin::Default
        };
        self.origins[id as usize] = origin;
        words
    }

    /// The option's variable. An empty one counts as unset: that is how a template leaves one out.
    fn environ_word(&self, id: Id) -> Option<&'a OsString> {
        let spec = id.spec();
        let (_, word) = self.environ.iter().find(|(name, _)| spec.is_variable(name.as_encoded_bytes()))?;
        Some(word).filter(|word| !word.is_empty())
    }

    fn value<T>(&mut self, id: Id, word: &OsStr, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let read = match word.to_str() {
            Some("") if matches!(id.spec().takes, Takes::List(_)) => Err("an empty value: take it out".to_owned()),
            Some(text) => read(text),
            None => Err("not text: write it in UTF-8".to_owned()),
        };
        read.map_err(|why| {
            let name = name(id, self.origins[id as usize]);
            self.errors.push(format!("{name}: {}: {why}", quoted(word)));
        })
        .ok()
    }
}

/// The name under which a user knows where a value was given.
pub(super) fn name(id: Id, origin: Origin) -> String {
    match origin {
        Origin::Variable => id.spec().variable().unwrap_or_default(),
        _ => id.spec().flag(),
    }
}

/// A word in quotes, on one line, with everything escaped that is not printable text.
pub(super) fn quoted(word: &OsStr) -> String {
    #[allow(clippy::unnecessary_debug_formatting, reason = "a word may hold a line end or bytes that are no text")]
    let quoted = format!("{word:?}");
    quoted
}

/// A text with everything escaped that would break the line it stands in.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}
