//! tini 0.19, and docker-init, which is the same program.

use super::getopt::{self, Grammar};
use super::{Asked, LICENCE, Printed, Program, Variable, is_set, number, page, variable};
use crate::cli::given::quoted;
use crate::cli::options::Id;
use crate::core::Signal;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

/// Its verbosity when nothing is said: warnings.
const VERBOSITY: i64 = 1;

const OPTIONS: [[&str; 2]; 13] = [
    ["-s", "reap orphans though not process 1 (always on here)"],
    ["-p SIGNAL", "get this signal when the parent dies, as in SIGTERM"],
    ["-g", "signal the process group of the command"],
    ["-e STATUS", "exit with 0 in the place of this; may be repeated"],
    ["-w", "log every orphan that is reaped"],
    ["-v", "log more; up to -vvv"],
    ["-l", "print the licence"],
    ["-h", "print this page"],
    ["--version", "print the version, when it is the only word"],
    ["", ""],
    ["TINI_SUBREAPER", "as -s"],
    ["TINI_KILL_PROCESS_GROUP", "as -g"],
    ["TINI_VERBOSITY", "0 to 4; 1 when nothing is said, each -v adds 1"],
];

/// Reads a command line of tini's.
pub(super) fn read(args: &[OsString], environ: &[Variable]) -> Result<Asked, Printed> {
    if args == ["--version"] {
        return Err(page(crate::cli::version()));
    }
    let grammar = Grammar {
        letters: &[
            (b's', false),
            (b'p', true),
            (b'g', false),
            (b'e', true),
            (b'w', false),
            (b'v', false),
            (b'l', false),
            (b'h', false),
        ],
        names: &[],
        anywhere: variable(environ, "POSIXLY_CORRECT").is_none(),
    };
    let mut asked = Asked::of(Program::Tini);
    let complain = |why: &str| Program::Tini.complaint(why);
    let line = getopt::read(&grammar, args);
    let mut mapped = BTreeSet::new();
    let mut louder = 0;
    for option in line.options {
        let (letter, value) = option.map_err(|why| complain(&why))?;
        match letter {
            b's' => asked.flag(Id::Subreaper, "-s", "yes"),
            b'g' => asked.flag(Id::Group, "-g", "yes"),
            b'w' => asked.flag(Id::WarnOnReap, "-w", "yes"),
            b'v' => louder += 1,
            b'p' => {
                let signal = signal(&value).ok_or_else(|| {
                    complain(&format!("-p {}: not the name of a signal, as in SIGTERM", quoted(&value)))
                })?;
                asked.flags.retain(|word| word.id != Id::ParentDeathSignal);
                asked.flag(Id::ParentDeathSignal, "-p", signal.to_string());
            }
            b'e' => {
                let status = status(&value)
                    .ok_or_else(|| complain(&format!("-e {}: not an exit status from 0 to 255", quoted(&value))))?;
                mapped.insert(status);
            }
            b'l' => return Err(page(LICENCE.to_owned())),
            _ => return Err(Program::Tini.help("tini [OPTIONS] [--] COMMAND [ARGUMENTS]", &OPTIONS)),
        }
    }
    for status in mapped {
        asked.flag(Id::MapExit, "-e", status.to_string());
    }
    asked.command = line.operands;
    for (name, id) in [("TINI_SUBREAPER", Id::Subreaper), ("TINI_KILL_PROCESS_GROUP", Id::Group)] {
        if is_set(environ, name) {
            asked.beaten(id, name, "yes");
        }
    }
    // What is no number counts as 0, as it always has.
    let given = variable(environ, "TINI_VERBOSITY").map(|text| number(&text.to_string_lossy()).map_or(0, |(n, _)| n));
    let level = level(given.unwrap_or(VERBOSITY).saturating_add(louder));
    match given {
        _ if louder > 0 => asked.flag(Id::LogLevel, "-v", level),
        Some(_) => asked.beaten(Id::LogLevel, "TINI_VERBOSITY", level),
        None => {}
    }
    Ok(asked)
}

/// A signal by its whole name; the originals know no other way to write one.
fn signal(text: &OsStr) -> Option<Signal> {
    let text = text.to_str()?;
    Signal::parse(text).ok().filter(|signal| signal.to_string() == text)
}

/// An exit status; nothing counts as 0.
fn status(text: &OsStr) -> Option<u8> {
    match text.to_str()? {
        "" => Some(0),
        text => number(text).filter(|(_, rest)| rest.is_empty()).and_then(|(number, _)| u8::try_from(number).ok()),
    }
}

fn level(verbosity: i64) -> &'static str {
    match verbosity {
        ..=0 => "error",
        1 => "warn",
        2 => "info",
        3 => "debug",
        _ => "trace",
    }
}
