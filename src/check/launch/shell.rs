//! Shells and scripts as PID 1: what a script in a string says about who gets the signal.

use super::script::{Command, Expanded, MOST, Scope, commands};
use super::{FrontKind, Word};
use crate::check::model::Variable;

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"];

/// A shell or a script, and what is behind it.
pub(super) struct Found {
    /// Which of them.
    pub(super) kind: FrontKind,
    /// What it runs.
    pub(super) words: Vec<Word>,
    /// What it sets in the environment of that.
    pub(super) sets: Vec<Variable>,
    /// Those of the words that are not known, each with why.
    pub(super) open: Vec<(String, String)>,
    /// Why nothing is known of what it runs.
    pub(super) blind: Option<Blind>,
}

/// Why nothing is known of what a script runs.
#[derive(Clone, Copy)]
pub(super) enum Blind {
    /// One thing or another.
    Branches,
    /// It is too long to be looked at.
    Long,
}

/// What a shell or a script at the beginning of the words does with what is behind it.
pub(super) fn read(name: &str, words: &[Word], environment: &[Variable]) -> Option<Found> {
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
            // Behind the script comes what it calls itself, and only then its arguments.
            return Some(in_string(name, script, rest.get(options + 2..).unwrap_or_default(), environment));
        }
        return Some(Found::of(FrontKind::Script, rest[options + 1..].to_vec()));
    }
    let is_script = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "sh") || name.contains("entrypoint");
    // A script that is handed a command runs it, as the official images' do; one that is not is all there is.
    (is_script && !rest.is_empty()).then(|| Found::of(FrontKind::Script, rest.to_vec()))
}

/// What a script in a string does with its own process.
fn in_string(shell: &str, script: &Word, arguments: &[Word], environment: &[Variable]) -> Found {
    if script.text.len() > MOST {
        return Found { blind: Some(Blind::Long), ..Found::of(FrontKind::Exec, Vec::new()) };
    }
    let mut commands = commands(&script.text);
    // What stands behind an `exec` is never reached.
    let end = commands.iter().position(|command| !command.nested && !command.background && command.exec().is_some());
    commands.truncate(end.map_or(commands.len(), |at| at + 1));
    let Some(last) = commands.last() else { return Found::of(FrontKind::Exec, Vec::new()) };
    let ending = commands.iter().rev().take_while(|command| command.nested);
    if end.is_none() && ending.into_iter().any(|command| command.exec().is_some()) {
        return Found { blind: Some(Blind::Branches), ..Found::of(FrontKind::Exec, Vec::new()) };
    }
    let background = commands.iter().any(|command| command.background);
    let traps = commands.iter().any(Command::traps);
    // bash replaces itself by a single command; dash and the others stay.
    let alone = shell == "bash" && commands.len() == 1 && !background && !last.piped && !last.nested;
    let kind = if end.is_some() || alone { FrontKind::Exec } else { FrontKind::Shell { background, traps } };
    // Where the script waits in the end, it waits for what it has started.
    let started = commands.iter().find(|command| command.background).filter(|_| last.bides());
    let subject = started.or_else(|| commands.iter().rev().find(|command| !command.runs().is_empty())).unwrap_or(last);
    let mut scope = Scope::new(environment, script.place, arguments);
    let sets = scope.set(&commands);
    let Expanded { words, open } = scope.words(subject.runs());
    Found { kind, words, sets, open, blind: None }
}

// === impl Blind ===

impl Blind {
    pub(super) fn why(self, container: &str) -> String {
        match self {
            Self::Branches => format!("which of its branches the script of {container} runs"),
            Self::Long => {
                format!("what the script of {container} runs: it is longer than the {MOST} bytes that are read")
            }
        }
    }
}

// === impl Found ===

impl Found {
    fn of(kind: FrontKind, words: Vec<Word>) -> Self {
        Self { kind, words, sets: Vec::new(), open: Vec::new(), blind: None }
    }
}
