//! Shells and scripts as PID 1: what a script in a string says about who gets the signal.

use super::{FrontKind, Word, base};
use crate::check::words::split as split_words;

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"];

/// When the words begin with a shell or a script: what that is, and the words behind it.
pub(super) fn read(name: &str, words: &[Word]) -> Option<(FrontKind, Vec<Word>)> {
    let rest = &words[1..];
    if SHELLS.contains(&name) {
        let mut rest = rest;
        if name == "busybox" {
            let applet = rest.first().filter(|word| matches!(word.text.as_str(), "sh" | "ash"))?;
            rest = &rest[rest.iter().position(|word| word == applet).unwrap_or(0) + 1..];
        }
        let mut options = 0;
        while let Some(word) = rest.get(options).filter(|word| word.text.starts_with(['-', '+'])) {
            // `-o pipefail`, as Dockerfiles like it.
            options += 1 + usize::from(matches!(word.text.get(1..), Some("o" | "O")));
        }
        let options = options.min(rest.len());
        let takes_script = rest[..options].iter().any(|word| !word.text.starts_with("--") && word.text.contains('c'));
        let script = rest.get(options)?;
        if takes_script {
            return Some(in_string(name, script));
        }
        return Some((FrontKind::Script, rest[options + 1..].to_vec()));
    }
    let is_script = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "sh") || name.contains("entrypoint");
    // A script that is handed a command runs it, as the official images' do; one that is not is all there is.
    (is_script && !rest.is_empty()).then(|| (FrontKind::Script, rest.to_vec()))
}

/// What a script in a string does with its own process.
fn in_string(shell: &str, script: &Word) -> (FrontKind, Vec<Word>) {
    let text = script.text.trim();
    let commands = split(text);
    let last = commands.last().map_or("", |(command, _)| *command);
    let background = commands.iter().any(|(_, background)| *background);
    let traps = commands.iter().any(|(command, _)| command.starts_with("trap "));
    let word = |text: &str| Word { text: text.to_owned(), place: script.place };
    // A pipe is not taken apart: which side is the server nobody can tell from here.
    let piped = last.contains('|');
    let (last, execs) = match last.strip_prefix("exec ") {
        Some(rest) => (rest.trim(), true),
        // bash replaces itself by a single command; dash and the others stay.
        None => (last, shell == "bash" && commands.len() == 1 && !background && !piped),
    };
    let kind = if execs && !piped { FrontKind::Exec } else { FrontKind::Shell { background, traps } };
    let subject =
        if background { commands.iter().find(|(_, b)| *b).map_or(last, |(command, _)| *command) } else { last };
    (kind, words_of(subject).iter().map(|text| word(text)).collect())
}

/// The commands of a script in their order, each with whether it is put into the background. Quotes are
/// respected; what is nested is not.
fn split(script: &str) -> Vec<(&str, bool)> {
    let bytes = script.as_bytes();
    let mut commands = Vec::new();
    let (mut start, mut at, mut quote) = (0, 0, None);
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b';' | b'\n') => {
                commands.push((&script[start..at], false));
                start = at + 1;
            }
            // `&&`, `2>&1`, `&>file` put nothing into the background.
            (None, b'&') if bytes.get(at + 1) == Some(&b'&') => {
                commands.push((&script[start..at], false));
                at += 1;
                start = at + 1;
            }
            (None, b'&') if at > 0 && bytes[at - 1] == b'>' || bytes.get(at + 1) == Some(&b'>') => {}
            (None, b'&') => {
                commands.push((&script[start..at], true));
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    commands.push((&script[start..], false));
    let trimmed = commands.into_iter().map(|(command, background)| (command.trim(), background));
    trimmed.filter(|(command, _)| !command.is_empty()).collect()
}

/// The words of a simple command; its quotes taken off, leading assignments left out.
pub(super) fn words_of(command: &str) -> Vec<String> {
    let mut words: Vec<String> = split_words(command).into_iter().map(|(word, _)| word).collect();
    let assigns = |word: &String| word.split_once('=').is_some_and(|(name, _)| base(name) == name && is_name(name));
    let leading = words.iter().take_while(|word| assigns(word)).count();
    words.split_off(leading)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
