//! dumb-init 1.2.

use super::getopt::{self, Grammar};
use super::{Asked, Printed, Program, Variable, number, page, variable};
use crate::cli::given::quoted;
use crate::cli::options::Id;
use crate::core::Signal;
use crate::core::policy::Place;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// It rewrites these and no real-time signals.
const LAST_SIGNAL: i64 = 31;

const OPTIONS: [[&str; 2]; 8] = [
    ["-c, --single-child", "signal the command alone, in our own group"],
    ["-r, --rewrite FROM:TO", "pass FROM on as TO, by numbers; TO 0 drops it"],
    ["-v, --verbose", "log what happens"],
    ["-V, --version", "print the version"],
    ["-h, --help", "print this page"],
    ["", ""],
    ["DUMB_INIT_SETSID=0", "as -c"],
    ["DUMB_INIT_DEBUG=1", "as -v"],
];

/// Reads a command line of dumb-init's.
pub(super) fn read(args: &[OsString], environ: &[Variable]) -> Result<Asked, Printed> {
    let grammar = Grammar {
        letters: &[(b'c', false), (b'r', true), (b'v', false), (b'V', false), (b'h', false)],
        names: &[("single-child", b'c'), ("rewrite", b'r'), ("verbose", b'v'), ("version", b'V'), ("help", b'h')],
        anywhere: false,
    };
    let mut asked = Asked::of(Program::DumbInit);
    let complain = |why: &str| Program::DumbInit.complaint(why);
    let line = getopt::read(&grammar, args);
    let mut rewritten = BTreeMap::new();
    let mut verbose = false;
    asked.place = if variable(environ, "DUMB_INIT_SETSID").is_some_and(|value| value == "0") {
        Place::OurGroup
    } else {
        asked.beaten(Id::Group, Program::DumbInit.name(), "yes");
        Place::OwnSession
    };
    for option in line.options {
        let (letter, value) = option.map_err(|why| complain(&why))?;
        match letter {
            b'c' => {
                asked.place = Place::OurGroup;
                asked.flag(Id::Group, "-c", "no");
            }
            b'v' => verbose = true,
            b'r' => {
                let (from, to) = rewrite(&value).ok_or_else(|| {
                    complain(&format!(
                        "-r {}: write FROM:TO, as in 15:3, from 1 to {LAST_SIGNAL}; TO may be 0",
                        quoted(&value)
                    ))
                })?;
                // A process never receives these two, and CHLD is for the reaper.
                let received =
                    ![Signal::KILL, Signal::STOP, Signal::CHLD].iter().any(|s| i64::from(s.number()) == from);
                if received {
                    rewritten.insert(from, to);
                }
            }
            b'V' => return Err(page(crate::cli::version())),
            _ => return Err(Program::DumbInit.help("dumb-init [OPTIONS] [--] COMMAND [ARGUMENTS]", &OPTIONS)),
        }
    }
    for (from, to) in rewritten {
        asked.flag(Id::Rewrite, "-r", format!("{from}:{to}"));
    }
    asked.command = line.operands;
    if verbose {
        asked.flag(Id::LogLevel, "-v", "debug");
    } else if variable(environ, "DUMB_INIT_DEBUG").is_some_and(|value| value == "1") {
        asked.beaten(Id::LogLevel, "DUMB_INIT_DEBUG", "debug");
    }
    Ok(asked)
}

/// Two numbers; what comes after them does not matter, as it never has. `None` for a pair that is
/// refused.
fn rewrite(text: &OsStr) -> Option<(i64, i64)> {
    let (from, rest) = number(text.to_str()?)?;
    let (to, _) = number(rest.strip_prefix(':')?)?;
    ((1..=LAST_SIGNAL).contains(&from) && (0..=LAST_SIGNAL).contains(&to)).then_some((from, to))
}
