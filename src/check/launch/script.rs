//! A script in a string, as `sh -c` gets it: its commands, what it sets, and what it ends as. It is read,
//! not run: what stands in a condition or a loop may run or not.

use super::Word;
use crate::check::expand::{Dialect, Value, expand};
use crate::check::fact::Origin;
use crate::check::model::Variable;
use crate::check::source::Place;
use crate::check::words::split as split_words;
use std::collections::BTreeMap;
use std::ops::Range;

/// One simple command.
pub(in crate::check) struct Command<'a> {
    /// Its text.
    pub(in crate::check) text: &'a str,
    /// Whether it is put into the background.
    pub(in crate::check) background: bool,
    /// Whether it is a part of a pipe. That is not taken apart: which side is the server nobody can tell.
    pub(in crate::check) piped: bool,
    /// Whether it stands in a condition, a loop, a function or a subshell, or ends one.
    pub(in crate::check) nested: bool,
}

/// What the words of a command come to.
pub(in crate::check) struct Expanded {
    /// The words. One that is not known stands there as it is written.
    pub(in crate::check) words: Vec<Word>,
    /// Those that are not known, each with why.
    pub(in crate::check) open: Vec<(String, String)>,
}

/// The variables of a shell.
pub(in crate::check) struct Scope<'a> {
    environment: &'a [Variable],
    own: BTreeMap<String, Variable>,
    left: usize,
    place: Place,
    /// The words behind the script: `$@`.
    arguments: &'a [Word],
}

/// A longer script is not looked at, nor one whose variables come to more: a few lines could make any number.
pub(in crate::check) const MOST: usize = 64 * 1024;

/// The commands of a script in their order. Quotes, comments and `$(…)` are respected.
pub(in crate::check) fn commands(script: &str) -> Vec<Command<'_>> {
    let mut nesting = Nesting(Vec::new());
    let split = split(script).into_iter().map(|(text, background, piped)| (text.trim(), background, piped));
    let written = split.filter(|(text, ..)| !text.is_empty());
    let command = |(text, background, piped)| Command { text, background, piped, nested: nesting.takes(text) };
    written.map(command).collect()
}

/// The texts between what separates commands, each with whether it is put into the background and whether
/// it is a pipe.
fn split(script: &str) -> Vec<(&str, bool, bool)> {
    let bytes = script.as_bytes();
    let next_is = |at: usize, byte: u8| bytes.get(at + 1) == Some(&byte);
    let (mut commands, mut documents) = (Vec::new(), Vec::new());
    let (mut start, mut at, mut quote, mut inner, mut piped) = (0, 0, None, 0_usize, false);
    while at < bytes.len() {
        let byte = bytes[at];
        let begins_word = at == 0 || bytes[at - 1].is_ascii_whitespace() || matches!(bytes[at - 1], b';' | b'&' | b'|');
        // How many bytes end the command here, and whether it goes into the background.
        let mut end = None;
        match (quote, byte) {
            // It protects what comes next, be that the end of the line.
            (None | Some(b'"' | b'`'), b'\\') => at += 1,
            (Some(open), _) if open == byte => quote = None,
            (None | Some(b'"'), b'$') if next_is(at, b'(') => {
                inner += 1;
                at += 1;
            }
            (_, b'(') if inner > 0 => inner += 1,
            (_, b')') if inner > 0 => inner -= 1,
            _ if inner > 0 => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'#') if begins_word => {
                let line = script[at..].find('\n').map_or(script.len(), |length| at + length);
                end = Some((line - at, false));
            }
            (None, b';') => end = Some((1, false)),
            (None, b'\n') => end = Some((1 + length_of(&mut documents, &script[at + 1..]), false)),
            // `<<<` has its text behind it.
            (None, b'<') if script[at..].starts_with("<<<") => at += 2,
            (None, b'<') if next_is(at, b'<') => {
                documents.extend(Document::named(&script[at + 2..]));
                at += 1;
            }
            (None, b'|') if next_is(at, b'|') => end = Some((2, false)),
            (None, b'|') => piped = true,
            // `&&`, `2>&1`, `&>file` put nothing into the background.
            (None, b'&') if next_is(at, b'&') => end = Some((2, false)),
            (None, b'&') if at > 0 && matches!(bytes[at - 1], b'>' | b'<' | b'|') || next_is(at, b'>') => {}
            (None, b'&') => end = Some((1, true)),
            _ => {}
        }
        if let Some((length, background)) = end {
            commands.push((&script[start..at], background, piped));
            piped = false;
            at += length;
            start = at;
        } else {
            at += 1;
        }
    }
    commands.push((script.get(start..).unwrap_or_default(), false, piped));
    commands
}

/// A text for the input of a command, which begins in the next line: `<<EOF`.
struct Document<'a> {
    /// The line that ends it.
    end: &'a str,
    /// Whether tabs may stand before that.
    indented: bool,
}

/// How much of a text the documents take that begin it, one after the other.
fn length_of(documents: &mut Vec<Document<'_>>, text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let mut length = 0;
    for document in documents.drain(..) {
        for line in lines.by_ref() {
            length += line.len();
            let line = line.trim_end_matches('\n');
            if document.end == if document.indented { line.trim_start_matches('\t') } else { line } {
                break;
            }
        }
    }
    length
}

/// What is open at a place of a script: by what each will be closed.
struct Nesting(Vec<&'static str>);

/// Words of a condition or a loop, behind which a command may stand.
const LEADS: [&str; 10] = ["then", "else", "elif", "do", "{", "!", "fi", "done", "esac", "}"];

/// Commands that only wait for another.
const BIDES: [&str; 4] = ["wait", "tail", "sleep", "read"];

// === impl Document ===

impl<'a> Document<'a> {
    /// By what stands behind the `<<`; `None` when that is a number, as in `((1 << 2))`, or nothing.
    fn named(behind: &'a str) -> Option<Self> {
        let name = behind.strip_prefix('-').unwrap_or(behind).trim_start_matches([' ', '\t', '\\']);
        let end = match name.chars().next()? {
            quote @ ('"' | '\'') => name[1..].split(quote).next()?,
            _ => name.split(|c: char| c.is_whitespace() || ";&|<>()".contains(c)).next()?,
        };
        let is_one = end.starts_with(|c: char| !c.is_ascii_digit());
        is_one.then_some(Self { end, indented: behind.starts_with('-') })
    }
}

// === impl Nesting ===

impl Nesting {
    /// Takes the next command in; whether it is nested.
    fn takes(&mut self, text: &str) -> bool {
        let first = text.split_whitespace().next().unwrap_or_default();
        // One may open behind the words of another: `then if`, `do {`.
        for word in text.split_whitespace() {
            self.0.extend(match word {
                "if" => Some("fi"),
                "for" | "while" | "until" | "select" => Some("done"),
                "case" => Some("esac"),
                "{" => Some("}"),
                _ if word.starts_with('(') => Some(")"),
                _ => None,
            });
            if !LEADS.contains(&word) {
                break;
            }
        }
        let names_a_function = text.contains("()") || text.contains("function ");
        self.0.extend((names_a_function && text.ends_with('{')).then_some("}"));
        let nested = !self.0.is_empty();
        let closes = |closer: &&str| first == *closer || (*closer == ")" && text.ends_with(')'));
        if self.0.last().is_some_and(closes) {
            self.0.pop();
        }
        nested
    }
}

// === impl Command ===

impl<'a> Command<'a> {
    /// Its text behind the words that belong to a condition or a loop: `then`, `web)`.
    fn simple(&self) -> &'a str {
        let of_case = |word: &str| self.nested && word.ends_with(')') && !word.contains('(');
        behind(self.text, |word| LEADS.contains(&word) || of_case(word))
    }

    /// Its text from the program on.
    fn program(&self) -> &'a str {
        behind(self.simple(), |word| assignment(word).is_some())
    }

    /// What it puts in the place of the shell; `None` = nothing.
    pub(in crate::check) fn exec(&self) -> Option<&'a str> {
        let rest = self.program().strip_prefix("exec").filter(|rest| rest.starts_with(char::is_whitespace))?;
        let mut words = ranges(rest).into_iter();
        let mut first = words.next()?;
        while let Some(option) = rest.get(first.clone()).filter(|word| word.starts_with('-')) {
            // `-a NAME`, and `--`.
            if option == "-a" {
                words.next();
            }
            first = words.next()?;
        }
        let rest = rest.get(first.start..)?;
        // `exec 2>&1` only turns the shell's own output elsewhere.
        (!self.piped && !without_redirections(rest, split_words(rest)).is_empty()).then_some(rest)
    }

    /// What it runs.
    pub(in crate::check) fn runs(&self) -> &'a str {
        self.exec().unwrap_or_else(|| self.program())
    }

    /// Whether it only waits for another.
    pub(in crate::check) fn bides(&self) -> bool {
        let program = self.program();
        program.is_empty() || program.split_whitespace().next().is_some_and(|first| BIDES.contains(&first))
    }

    /// Whether it says what is done on a signal.
    pub(in crate::check) fn traps(&self) -> bool {
        self.program().starts_with("trap ")
    }
}

// === impl Scope ===

impl<'a> Scope<'a> {
    pub(in crate::check) fn new(environment: &'a [Variable], place: Place, arguments: &'a [Word]) -> Self {
        Self { environment, own: BTreeMap::new(), left: MOST, place, arguments }
    }

    /// Takes in what commands set, the last of them being what the script ends as; returned is what that one
    /// finds in its environment.
    pub(in crate::check) fn set(&mut self, commands: &[Command<'_>]) -> Vec<Variable> {
        let mut exported = Vec::new();
        for (at, command) in commands.iter().enumerate() {
            let text = command.simple();
            let mut words = ranges(text).into_iter().map(|range| &text[range]).peekable();
            let mut exports = words.next_if(|word| *word == "export").is_some();
            let assigned: Vec<&str> = words.by_ref().take_while(|word| exports || assignment(word).is_some()).collect();
            let of_another = assigned.len() < ranges(text).len() && !exports;
            if of_another && at + 1 < commands.len() {
                continue;
            }
            exports |= of_another;
            for word in assigned {
                let Some((name, value)) = assignment(word) else {
                    exported.extend(self.find(word).cloned());
                    continue;
                };
                let value = if command.nested {
                    Err("the script sets it under a condition".to_owned())
                } else {
                    let expanded = expand(value, Dialect::Shell, &|name| self.value(name));
                    expanded.and_then(|expanded| spend(&mut self.left, &expanded.text).map(|()| expanded.text))
                };
                let is_there = self.environment.iter().any(|variable| variable.name == name);
                let place = self.place;
                let variable = Variable { name: name.to_owned(), value, place, origin: Origin::Written };
                // What is exported already stays so.
                exported.extend((exports || is_there).then(|| variable.clone()));
                self.own.insert(name.to_owned(), variable);
            }
        }
        exported
    }

    /// The words of a command, with the variables put in.
    pub(in crate::check) fn words(&self, command: &str) -> Expanded {
        let (mut words, mut open, mut left) = (Vec::new(), Vec::new(), MOST);
        let word = |text: &str| Word { text: text.to_owned(), place: self.place };
        for (text, range) in without_redirections(command, split_words(command)) {
            let raw = &command[range];
            let quoted = raw.contains(['"', '\'', '\\']);
            if matches!(raw.trim_matches('"'), "$@" | "${@}" | "$*") {
                let fits = |argument: &&Word| spend(&mut left, &argument.text).is_ok();
                words.extend(self.arguments.iter().take_while(fits).cloned());
            } else if !raw.contains(['$', '`']) {
                words.push(word(&text));
            } else {
                let expanded = expand(raw, Dialect::Shell, &|name| self.value(name));
                match expanded.and_then(|expanded| spend(&mut left, &expanded.text).map(|()| expanded)) {
                    Ok(expanded) if quoted => words.push(word(&expanded.text)),
                    // Without quotes a value may be several words, or none.
                    Ok(expanded) => words.extend(expanded.text.split_whitespace().map(word)),
                    Err(why) => {
                        words.push(word(&text));
                        open.push((text, why));
                    }
                }
            }
        }
        Expanded { words, open }
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.own.get(name).or_else(|| self.environment.iter().rev().find(|variable| variable.name == name))
    }

    fn value(&self, name: &str) -> Value {
        let known = self.find(name).and_then(|variable| variable.value.clone().ok());
        known.map_or(Value::Open, |value| Value::Known(value, false))
    }
}

/// Takes a text from what is left to be made.
fn spend(left: &mut usize, text: &str) -> Result<(), String> {
    let rest = left.checked_sub(text.len() + 1).ok_or("the script's variables come to more than is looked at")?;
    *left = rest;
    Ok(())
}

/// A text behind the words at its beginning that are such.
fn behind(text: &str, is: impl Fn(&str) -> bool) -> &str {
    let start = ranges(text).into_iter().find(|range| !is(&text[range.clone()]));
    start.map_or("", |range| text.get(range.start..).unwrap_or_default())
}

/// The words of a command, as the bytes they are written in.
fn ranges(command: &str) -> Vec<Range<usize>> {
    split_words(command).into_iter().map(|(_, range)| range).collect()
}

/// Name and value, when a word is an assignment.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// The words that are not about where the output goes: `2>&1`, `> file`.
fn without_redirections(command: &str, words: Vec<(String, Range<usize>)>) -> Vec<(String, Range<usize>)> {
    let mut target = false;
    let keeps = |(_, range): &(String, Range<usize>)| {
        let raw = command.get(range.clone()).unwrap_or_default();
        let is_target = std::mem::take(&mut target);
        let bare = raw.trim_start_matches(|c: char| c.is_ascii_digit());
        let redirects = bare.starts_with(['>', '<']) || raw.starts_with("&>");
        target = redirects && raw.ends_with(['>', '<']);
        !is_target && !redirects
    };
    words.into_iter().filter(keeps).collect()
}
