//! dumb-init 1.2.

use super::{Asked, Dialect, Leave, Variable, number, variable};
use crate::cli::given::quoted;
use crate::cli::options::Id;
use crate::core::Signal;
use crate::core::policy::Place;
use std::ffi::OsStr;

/// It rewrites these and no real-time signals.
const LAST_SIGNAL: i64 = 31;

pub(super) const DIALECT: Dialect = Dialect {
    letters: &[(b'c', false), (b'r', true), (b'v', false), (b'V', false), (b'h', false)],
    names: &[("single-child", b'c'), ("rewrite", b'r'), ("verbose", b'v'), ("version", b'V'), ("help", b'h')],
    anywhere: false,
    help: "\
Usage: dumb-init [OPTIONS] [--] COMMAND [ARGUMENTS]

  -c, --single-child        signal the command alone, in our own group
  -r, --rewrite FROM:TO     pass FROM on as TO, by numbers; TO 0 drops it
  -v, --verbose             log what happens
  -V, --version             print the version
  -h, --help                print this page

DUMB_INIT_SETSID=0 is as -c, DUMB_INIT_DEBUG=1 as -v.
",
    take,
    variables,
};

fn take(asked: &mut Asked, letter: u8, value: &OsStr) -> Result<(), Leave> {
    match letter {
        b'c' => asked.flag(Id::Group, "-c", "no"),
        b'v' => asked.louder = 1,
        b'r' => {
            let wrong = || {
                let quoted = quoted(value);
                Leave::Wrong(format!("-r {quoted}: write FROM:TO, as in 15:3, from 1 to {LAST_SIGNAL}; TO may be 0"))
            };
            let (from, to) = rewrite(value).ok_or_else(wrong)?;
            let begins = format!("{from}:");
            // The last one counts.
            asked.flags.retain(|word| !word.value.as_encoded_bytes().starts_with(begins.as_bytes()));
            // A process never receives the first two, and CHLD is for the reaper.
            if ![Signal::KILL, Signal::STOP, Signal::CHLD].iter().any(|signal| i64::from(signal.number()) == from) {
                asked.flag(Id::Rewrite, "-r", &format!("{begins}{to}"));
            }
        }
        b'V' => return Err(Leave::Version),
        _ => return Err(Leave::Help),
    }
    Ok(())
}

/// Two numbers; what comes after them does not matter, as it never has. `None` for a pair that is
/// refused.
fn rewrite(text: &OsStr) -> Option<(i64, i64)> {
    let (from, rest) = number(text.to_str()?)?;
    let (to, _) = number(rest.strip_prefix(':')?)?;
    ((1..=LAST_SIGNAL).contains(&from) && (0..=LAST_SIGNAL).contains(&to)).then_some((from, to))
}

fn variables(asked: &mut Asked, environ: &[Variable]) {
    let is = |name, wanted| variable(environ, name).is_some_and(|value| value == wanted);
    if is("DUMB_INIT_SETSID", "0") || asked.flags.iter().any(|word| word.id == Id::Group) {
        asked.place = Place::OurGroup;
    } else {
        asked.place = Place::OwnSession;
        asked.beaten(Id::Group, asked.program.name(), "yes");
    }
    if asked.louder > 0 {
        asked.flag(Id::LogLevel, "-v", "debug");
    } else if is("DUMB_INIT_DEBUG", "1") {
        asked.beaten(Id::LogLevel, "DUMB_INIT_DEBUG", "debug");
    }
}
