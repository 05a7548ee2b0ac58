//! Standing in for another init, when called by its name.
//!
//! Whoever puts lameduck over an image's `/usr/bin/tini`, or gives it to an engine as its init, changes
//! no command line with it. So by the name it is called by, lameduck reads the options and variables
//! of that program, signals whom that program would signal, leaves with its statuses, and is a plain
//! init: there is no stop sequence until a `LAMEDUCK_*` variable asks for one.
//!
//! `getopt` takes the command line apart; `tini`, `dumb_init` and `catatonit` say what a program's
//! options and variables mean in lameduck's own. What each does on purpose unlike the original stands
//! in examples/drop-in, and in the table of the differential tests.

mod catatonit;
mod dumb_init;
mod getopt;
mod tini;

#[cfg(test)]
mod tests;

use super::given::{Origin, Origins, Word};
use super::line::Line;
use super::options::{Id, OPTIONS, PREFIX};
use super::{LogLevel, Outcome, Printed, Settings, Stream};
use crate::core::policy::{Hold, Place, StopOn, StopSignal};
use crate::core::{Policy, Signal};
use crate::exit::StartErrors;
use getopt::Grammar;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

/// The program that lameduck is called as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Itself.
    Lameduck,
    /// tini, which Docker calls docker-init.
    Tini,
    /// dumb-init.
    DumbInit,
    /// catatonit, which Podman calls podman-init.
    Catatonit,
}

/// Name and value of a variable.
type Variable = (OsString, OsString);

/// What a command line and a program's own variables come to, in lameduck's options.
pub(super) struct Asked {
    program: Program,
    /// From the command line: they beat `LAMEDUCK_*`.
    flags: Vec<Word>,
    /// From the program's variables and defaults: they are beaten by `LAMEDUCK_*`.
    beaten: Vec<Word>,
    place: Place,
    /// How often `-v` was given.
    louder: u8,
}

/// How the command line of a program is read.
struct Dialect {
    letters: &'static [(u8, bool)],
    names: &'static [(&'static str, u8)],
    /// Whether options may stand behind the command as well, unless `POSIXLY_CORRECT` is set.
    anywhere: bool,
    /// What the help page has between its head and its foot.
    help: &'static str,
    /// Takes one option in.
    take: fn(&mut Asked, u8, &OsStr) -> Result<(), Leave>,
    /// Takes the program's variables in, after all options.
    variables: fn(&mut Asked, &[Variable]),
}

/// Why nothing is run.
enum Leave {
    Help,
    Version,
    Licence,
    Wrong(String),
}

/// The end of every help page.
const FOOT: &str = "
A plain init, as ever, until a LAMEDUCK_* variable asks for more: with
LAMEDUCK_DELAY=15s the server serves on for 15 s after the stop signal. Called
as lameduck, --help lists them all; LAMEDUCK_EXPLAIN=1 shows what they come to.
";

/// The status of all of them for a command line that cannot be read, and for failing before there is
/// a command to fail.
const USAGE: u8 = 1;

const LICENCE: &str = "\
lameduck is free software under the MIT licence or the Apache licence 2.0, as
you like. It stands in for other inits and holds nothing of them.
";

// === impl Program ===

impl Program {
    /// By the name that lameduck was called by, with or without a directory.
    #[must_use]
    pub fn of(own_name: Option<&OsString>) -> Self {
        let own_name = Path::new(own_name.map_or(OsStr::new(""), OsString::as_os_str));
        let base = own_name.file_name().unwrap_or_default().as_encoded_bytes();
        match base {
            b"tini" | b"docker-init" => Self::Tini,
            b"dumb-init" => Self::DumbInit,
            b"catatonit" | b"podman-init" => Self::Catatonit,
            // As downloaded: tini-static, tini-amd64, dumb-init_1.2.5_x86_64.
            _ if base.starts_with(b"tini-") => Self::Tini,
            _ if base.starts_with(b"dumb-init_") => Self::DumbInit,
            // Where older Podmans put their init.
            _ if own_name == Path::new("/dev/init") => Self::Catatonit,
            _ => Self::Lameduck,
        }
    }

    /// Name and value of a word of the environment, if a variable of that name may have a meaning.
    #[must_use]
    pub fn variable(self, word: &CStr) -> Option<Variable> {
        let word = word.to_bytes();
        let ends = self.reads(word).then(|| word.iter().position(|byte| *byte == b'='))??;
        let (name, value) = word.split_at(ends);
        Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value.get(1..)?).to_owned()))
    }

    /// Whether a name may have a meaning, going by its first bytes.
    fn reads(self, name: &[u8]) -> bool {
        let own: &[u8] = match self {
            Self::Lameduck => PREFIX.as_bytes(),
            Self::Tini => b"TINI_",
            Self::DumbInit => b"DUMB_INIT_",
            Self::Catatonit => b"CATATONIT_",
        };
        name.starts_with(own)
            || (self != Self::Lameduck && (name.starts_with(PREFIX.as_bytes()) || name.starts_with(b"POSIXLY_CORRECT")))
    }

    /// Reads the command line, without the program's own name, and what [`Self::variable`] found.
    #[must_use]
    pub fn read(self, args: &[OsString], environ: &[Variable]) -> Outcome {
        let dialect = match self {
            Self::Lameduck => return super::read(args, environ),
            Self::Tini => &tini::DIALECT,
            Self::DumbInit => &dumb_init::DIALECT,
            Self::Catatonit => &catatonit::DIALECT,
        };
        let mut asked =
            Asked { program: self, flags: Vec::new(), beaten: Vec::new(), place: Place::OwnGroup, louder: 0 };
        match asked.read(dialect, args, environ) {
            Ok(command) => {
                let line = Line::of(std::mem::take(&mut asked.flags), command);
                let is_ours = |(name, _): &&Variable| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
                let ours: Vec<Variable> = environ.iter().filter(is_ours).cloned().collect();
                super::settle(line, &ours, Some(&asked))
            }
            Err(Leave::Version) => Outcome::out(super::version(), 0),
            Err(Leave::Licence) => Outcome::out(LICENCE.to_owned(), 0),
            Err(Leave::Help) => {
                let name = self.name();
                Outcome::out(format!("lameduck in the place of {name}\n\n{}{FOOT}", dialect.help), 0)
            }
            Err(Leave::Wrong(why)) => {
                let as_whom = format!("lameduck as {}", self.name());
                let text = format!("{as_whom}: {why}\n{as_whom}: nothing was started; try -h\n");
                Outcome::Print(Printed { text, code: USAGE, stream: Stream::Err })
            }
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Lameduck => "lameduck",
            Self::Tini => "tini",
            Self::DumbInit => "dumb-init",
            Self::Catatonit => "catatonit",
        }
    }

    /// Its statuses for a command that could not be started.
    const fn start_errors(self) -> StartErrors {
        match self {
            Self::Lameduck => StartErrors::OURS,
            Self::Tini => StartErrors { own: USAGE, ..StartErrors::OURS },
            Self::DumbInit => StartErrors { own: USAGE, not_found: 2, not_executable: 2 },
            Self::Catatonit => StartErrors { own: USAGE, not_found: 1, not_executable: 1 },
        }
    }
}

/// The value of one of a program's own variables, set to nothing too.
fn variable<'a>(environ: &'a [Variable], name: &str) -> Option<&'a OsStr> {
    environ.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// Whether a variable that means "yes" by being set is set. The originals take `=0` and `=false` for
/// a yes as well, which nobody can have meant.
fn is_set(environ: &[Variable], name: &str) -> bool {
    let no = |value: &OsStr| ["0", "false", "no", "off"].iter().any(|no| value.eq_ignore_ascii_case(no));
    variable(environ, name).is_some_and(|value| !no(value))
}

/// The number that a text begins with, as C's `strtol` finds it, and what comes after it.
fn number(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let number: i64 = digits.parse().ok()?;
    Some((if text.starts_with('-') { -number } else { number }, rest))
}

// === impl Asked ===

impl Asked {
    /// Takes a command line and the program's own variables in, and returns the command.
    fn read(&mut self, dialect: &Dialect, args: &[OsString], environ: &[Variable]) -> Result<Vec<OsString>, Leave> {
        if self.program == Program::Tini && args == ["--version"] {
            return Err(Leave::Version);
        }
        let anywhere = dialect.anywhere && variable(environ, "POSIXLY_CORRECT").is_none();
        let line = getopt::read(&Grammar { letters: dialect.letters, names: dialect.names, anywhere }, args);
        for (letter, value) in &line.options {
            (dialect.take)(self, *letter, value)?;
        }
        (dialect.variables)(self, environ);
        match line.unreadable {
            Some(why) => Err(Leave::Wrong(why)),
            None if line.operands.is_empty() => Err(Leave::Wrong("no command given".to_owned())),
            None => Ok(line.operands),
        }
    }

    fn flag(&mut self, id: Id, from: &'static str, value: &str) {
        self.flags.push(Word { id, from, value: value.into() });
    }

    fn beaten(&mut self, id: Id, from: &'static str, value: &str) {
        self.beaten.push(Word { id, from, value: value.into() });
    }

    /// What `LAMEDUCK_*` variables beat.
    pub(super) fn beaten_by_ours(&self) -> &[Word] {
        &self.beaten
    }

    /// Makes of the settings what they are under that program's name.
    pub(super) fn apply(&self, settings: &mut Settings, origins: &mut Origins, environ: &[Variable]) {
        settings.start_errors = self.program.start_errors();
        // A file of ours that is named from the working directory keeps us there; so does a hook.
        settings.lets_go = !settings.extras.need_the_working_directory();
        // What a script runs in its background has INT and QUIT ignored, except under dumb-init.
        settings.clean_signals = self.program == Program::DumbInit;
        let policy = &mut settings.policy;
        policy.place = self.place;
        if policy.place == Place::OwnSession {
            // The kernel stops no process of a session that has no shell to continue it, except by
            // STOP. What was asked for comes later in the list, and so wins.
            let stopped = [Signal::TSTP, Signal::TTIN, Signal::TTOU].map(|signal| (signal, Some(Signal::STOP)));
            policy.rewrite.splice(0..0, stopped);
        }
        if asks_for_a_stop(environ) {
            return;
        }
        let Policy { stop_on, stop_signal, drain, linger, watch, hold, .. } = policy;
        (*stop_on, *stop_signal, *drain, *linger) = (StopOn::Nothing, StopSignal::Same, None, Some(Duration::ZERO));
        (*watch, *hold) = (false, Hold::Never);
        let mut ids = vec![Id::StopOn, Id::StopSignal, Id::DrainTimeout, Id::Linger];
        if origins[Id::LogLevel as usize] == Origin::Default {
            settings.log_level = LogLevel::Warn;
            ids.push(Id::LogLevel);
        }
        for id in ids {
            origins[id as usize] = Origin::StandIn(self.program.name());
        }
    }
}

/// Whether a variable of ours is about the stop: then there is one, with lameduck's own defaults for
/// everything that is not given.
fn asks_for_a_stop(environ: &[Variable]) -> bool {
    let about_it = |name: &OsString| {
        OPTIONS.iter().any(|spec| spec.topic.is_about_the_stop() && spec.is_variable(name.as_encoded_bytes()))
    };
    environ.iter().any(|(name, value)| !value.is_empty() && about_it(name))
}
