//! tini 0.19, and docker-init, which is the same program.

use super::{Asked, Dialect, Leave, Variable, is_set, number, variable};
use crate::cli::given::quoted;
use crate::cli::options::Id;
use crate::core::Signal;
use std::ffi::OsStr;

/// Its verbosity when nothing is said: warnings.
const VERBOSITY: i64 = 1;

pub(super) const DIALECT: Dialect = Dialect {
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
    anywhere: true,
    help: "\
Usage: tini [OPTIONS] [--] COMMAND [ARGUMENTS]

  -s             reap orphans though not process 1 (always on here)
  -p SIGNAL      get this signal when the parent dies, as in SIGTERM
  -g             signal the process group of the command
  -e STATUS      exit with 0 in the place of this; may be repeated
  -w             log every orphan that is reaped
  -v             log more; up to -vvv
  -l, -h         print the licence, or this page
  --version      print the version, when it is the only word

TINI_SUBREAPER is as -s, TINI_KILL_PROCESS_GROUP as -g. TINI_VERBOSITY, 0 to 4,
goes before -v: 1 when nothing is said, and each -v adds 1.
",
    take,
    variables,
};

fn take(asked: &mut Asked, letter: u8, value: &OsStr) -> Result<(), Leave> {
    match letter {
        b's' => asked.flag(Id::Subreaper, "-s", "yes"),
        b'g' => asked.flag(Id::Group, "-g", "yes"),
        b'w' => asked.flag(Id::WarnOnReap, "-w", "yes"),
        b'v' => asked.louder = asked.louder.saturating_add(1),
        b'p' => {
            // The original knows a signal by its whole name only.
            let known = value.to_str().filter(|text| Signal::parse(text).is_ok_and(|s| s.to_string() == *text));
            let wrong = || Leave::Wrong(format!("-p {}: not the name of a signal, as in SIGTERM", quoted(value)));
            // The last one counts.
            asked.flags.retain(|word| word.id != Id::ParentDeathSignal);
            asked.flag(Id::ParentDeathSignal, "-p", known.ok_or_else(wrong)?);
        }
        b'e' => {
            let wrong = || Leave::Wrong(format!("-e {}: not an exit status from 0 to 255", quoted(value)));
            let status = status(value).ok_or_else(wrong)?.to_string();
            asked.flags.retain(|word| word.id != Id::MapExit || word.value != *status);
            asked.flag(Id::MapExit, "-e", &status);
        }
        b'l' => return Err(Leave::Licence),
        _ => return Err(Leave::Help),
    }
    Ok(())
}

/// An exit status; nothing counts as 0.
fn status(text: &OsStr) -> Option<u8> {
    let text = text.to_str()?;
    let (status, rest) = if text.is_empty() { (0, "") } else { number(text)? };
    u8::try_from(status).ok().filter(|_| rest.is_empty())
}

fn variables(asked: &mut Asked, environ: &[Variable]) {
    for (name, id) in [("TINI_SUBREAPER", Id::Subreaper), ("TINI_KILL_PROCESS_GROUP", Id::Group)] {
        if is_set(environ, name) {
            asked.beaten(id, name, "yes");
        }
    }
    // What is no number counts as 0, as it always has.
    let given = variable(environ, "TINI_VERBOSITY");
    let given = given.map(|text| text.to_str().and_then(number).map_or(0, |(number, _)| number));
    // The variable makes every -v void.
    let level = match given.unwrap_or_else(|| VERBOSITY.saturating_add(asked.louder.into())) {
        ..=0 => "error",
        1 => "warn",
        2 => "info",
        3 => "debug",
        _ => "trace",
    };
    if given.is_some() {
        asked.beaten(Id::LogLevel, "TINI_VERBOSITY", level);
    } else if asked.louder > 0 {
        asked.flag(Id::LogLevel, "-v", level);
    }
}
