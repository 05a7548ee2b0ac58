//! The command line taken apart: flags, command, and everything that is wrong with the flags.
//!
//! clap reads the words; values stay bytes and are looked at later, together with those of the
//! environment. clap stops at the first thing it cannot read, so that is taken out and the rest is
//! read again, until all of it has been told.

use super::given::Word;
use super::nearest::nearest;
use super::options::{Id, OPTIONS, Spec, Takes, by_flag};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::{OsStr, OsString};

/// A command line.
pub(super) struct Line {
    /// What clap found; `None` when there was no flag to be read.
    flags: Option<ArgMatches>,
    /// The flags of another program's command line, as ours.
    words: Vec<Word>,
    /// What to run; empty when nothing was given.
    pub(super) command: Vec<OsString>,
    /// What is wrong with the flags.
    pub(super) errors: Vec<String>,
}

/// So many errors are told at the most. Each is found by reading everything again.
const MOST_ERRORS: usize = 20;

const COMMAND: &str = "command";

/// Takes a command line apart.
pub(super) fn read(args: &[OsString]) -> Line {
    // The usual case needs no parser: options end at the first word that is not a flag.
    let command = match args.split_first() {
        Some((first, rest)) if first == "--" => Some(rest),
        Some((first, _)) if is_flag(first) => None,
        _ => Some(args),
    };
    if let Some(command) = command {
        return Line { flags: None, words: Vec::new(), command: command.to_vec(), errors: Vec::new() };
    }
    let mut words = args.to_vec();
    let mut parser = parser();
    let mut errors = Vec::new();
    loop {
        match parser.try_get_matches_from_mut(&words) {
            Ok(mut flags) => {
                let command = flags.remove_many(COMMAND).map_or_else(Vec::new, Iterator::collect);
                return Line { flags: Some(flags), words: Vec::new(), command, errors };
            }
            Err(error) => {
                if !take_out(&error, &mut words, &mut errors) || errors.len() >= MOST_ERRORS {
                    // Where the command begins is not known, only that nobody forgot it.
                    return Line { flags: None, words: Vec::new(), command: args.to_vec(), errors };
                }
            }
        }
    }
}

fn parser() -> Command {
    let flags = OPTIONS.iter().map(|spec| {
        let arg = Arg::new(spec.long).long(spec.long).value_parser(value_parser!(OsString));
        let arg = if let Some(letter) = spec.short { arg.short(letter) } else { arg };
        match spec.takes {
            Takes::Nothing | Takes::Count => arg.value_parser(value_parser!(u8)).action(ArgAction::Count),
            // Appended even where one is wanted: which of several counts is not for clap to decide.
            Takes::One(_) | Takes::List(_) => arg.action(ArgAction::Append),
            Takes::Maybe(_) => arg.action(ArgAction::Append).num_args(0..=1),
        }
    });
    let command = Arg::new(COMMAND).num_args(0..).trailing_var_arg(true).value_parser(value_parser!(OsString));
    Command::new("lameduck")
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(flags)
        .arg(command)
}

/// The word that holds the value of a flag, or the flag itself where it has none: of several the last, which
/// counts. The words are lameduck's own, without the command.
#[cfg(feature = "ctl")]
pub(super) fn value_at(words: &[OsString], spec: &Spec) -> Option<usize> {
    let names = [Some(format!("--{}", spec.long)), spec.short.map(|letter| format!("-{letter}"))];
    let (mut found, mut at) = (None, 0);
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        let value = usize::from(wanting(&word).is_some());
        if names.iter().flatten().any(|name| holds(&word, name)) {
            found = Some(at + value);
        }
        at += 1 + value;
    }
    found.filter(|at| *at < words.len())
}

/// Takes what clap could not read out of `words` and says what is wrong with it, or brings it into a
/// form in which more can be said. False when the place is not found: the rest cannot be read then.
///
/// Each call makes the words fewer or shorter, or joins two; so this comes to an end.
fn take_out(error: &clap::Error, words: &mut Vec<OsString>, errors: &mut Vec<String>) -> bool {
    let named = match error.get(ContextKind::InvalidArg) {
        // `--delay <delay>`, `--group...`: the flag, and what clap thinks of it.
        Some(ContextValue::String(named)) => named.split(' ').next().unwrap_or_default().trim_end_matches("..."),
        _ => "",
    };
    let shown: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let holding = || shown.iter().position(|word| holds(word, named));
    let (at, message) = match error.kind() {
        ErrorKind::UnknownArgument => (holding(), unknown(named)),
        ErrorKind::TooManyValues => (holding(), format!("{named}: takes no value: write {named} alone")),
        // A value is missing.
        ErrorKind::InvalidValue => {
            let spec = by_flag(named);
            let at = shown.iter().enumerate().position(|(at, word)| {
                wanting(word).is_some_and(|wanting| spec.is_some_and(|spec| spec.id == wanting.id))
                    && shown.get(at + 1).is_none_or(|next| is_flag(OsStr::new(next)))
            });
            (at, format!("{named}: no value given: write {named} {}", spec.map_or("", Spec::wanted)))
        }
        _ => (None, error.to_string().lines().next().unwrap_or_default().to_owned()),
    };
    // `--delay -5s` is refused as what it was meant to be.
    let negative = |at: usize| shown.get(at).is_some_and(|word| is_negative(word));
    let after = |at: usize| at.checked_sub(1).filter(|before| wanting(&shown[*before]).is_some());
    let pair = at.and_then(|at| if negative(at + 1) { Some(at) } else { after(at).filter(|_| negative(at)) });
    if let Some(at) = pair.filter(|at| wanting(&shown[*at]).is_some()) {
        let value = words.remove(at + 1);
        words[at].push("=");
        words[at].push(value);
        return true;
    }
    errors.push(message);
    if let Some(at) = at {
        remove(words, at, named, &shown[at]);
    }
    at.is_some()
}

fn unknown(named: &str) -> String {
    let meant = if let Some(long) = named.strip_prefix("--") {
        nearest(long, OPTIONS.iter().map(|spec| spec.long)).map(|long| format!("--{long}"))
    } else {
        let letter = named.chars().nth(1).unwrap_or('-');
        OPTIONS.iter().filter_map(|spec| spec.short).find(|c| c.eq_ignore_ascii_case(&letter)).map(|c| format!("-{c}"))
    };
    let named = named.escape_debug();
    match meant {
        Some(meant) => format!("{named}: unknown flag; did you mean {meant}?"),
        None => format!("{named}: unknown flag; a flag of the command itself goes after the command"),
    }
}

/// Removes the flag `named` from the word at `at`, and its value if it looks like one.
fn remove(words: &mut Vec<OsString>, at: usize, named: &str, word: &str) {
    if !named.starts_with("--") {
        // `-vqg`: what stood before the letter is kept.
        let letter = named.chars().nth(1);
        let before: String =
            word.chars().enumerate().take_while(|(i, c)| *i == 0 || Some(*c) != letter).map(|(_, c)| c).collect();
        if before.len() > 1 {
            words[at] = before.into();
            return;
        }
    }
    words.remove(at);
    let meant = named.strip_prefix("--").and_then(|long| nearest(long, OPTIONS.iter().map(|spec| spec.long)));
    let meant_value =
        meant.and_then(|long| OPTIONS.iter().find(|spec| spec.long == long)).is_some_and(Spec::takes_value);
    // `--dealy 15s -- nginx`: `15s` is not the command.
    if word == named && meant_value && words.len() > at + 1 && !is_flag(&words[at]) {
        words.remove(at);
    }
}

/// Whether a word, before the command, is a flag. A lone dash is a word like any other.
fn is_flag(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes.starts_with(b"-")
}

fn is_negative(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether `word` is or contains the flag `flag`: `--delay=5s` holds `--delay`, `-vg` holds `-g`.
fn holds(word: &str, flag: &str) -> bool {
    if flag.starts_with("--") {
        return word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    }
    flag.chars().nth(1).is_some_and(|letter| letters(word).any(|c| c == letter))
}

/// The flags of a word of short ones, up to the one that takes the rest as its value.
fn letters(word: &str) -> impl Iterator<Item = char> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let mut over = false;
    letters.chars().take_while(move |letter| {
        let taken = !over;
        over = over || OPTIONS.iter().any(|spec| spec.short == Some(*letter) && spec.takes_value());
        taken
    })
}

/// The option whose value should be the word after this one.
fn wanting(word: &str) -> Option<&'static Spec> {
    let spec = if word.starts_with("--") {
        by_flag(word)
    } else {
        let last = word.chars().last()?;
        // Unless that letter is part of another's value: `-dt`.
        if letters(word).count() + 1 == word.chars().count() { by_flag(&format!("-{last}")) } else { None }
    };
    spec.filter(|spec| spec.takes_value())
}

// === impl Line ===

impl Line {
    /// A command line that was taken apart elsewhere.
    pub(super) const fn of(words: Vec<Word>, command: Vec<OsString>) -> Self {
        Self { flags: None, words, command, errors: Vec::new() }
    }

    /// What another program's command line says of an option.
    pub(super) fn words(&self, id: Id) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(move |word| word.id == id)
    }

    /// Whether a flag without a value was given.
    pub(super) fn asks(&self, id: Id) -> bool {
        self.count(id) > 0
    }

    /// How often a flag without a value was given.
    pub(super) fn count(&self, id: Id) -> u8 {
        self.flags.as_ref().map_or(0, |flags| flags.get_count(id.spec().long))
    }

    /// Whether a flag that may have a value was given.
    pub(super) fn has(&self, id: Id) -> bool {
        self.flags.as_ref().is_some_and(|flags| flags.contains_id(id.spec().long))
    }

    /// The values of a flag that takes some.
    pub(super) fn values(&self, id: Id) -> Vec<OsString> {
        self.flags
            .as_ref()
            .and_then(|flags| flags.get_many(id.spec().long))
            .map_or_else(Vec::new, |values| values.cloned().collect())
    }
}
