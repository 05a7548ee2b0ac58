//! The command line and the environment, resolved to settings.
//!
//! [`read`] is pure: words in, [`Outcome`] out. It writes nothing and ends nothing, so that the one
//! place that may is the binary's. All that is wrong is told at once: who sets twelve variables in a
//! task definition wants to deploy twice, not thirteen times.
//!
//! `options` is the table of what there is; `personality` reads the command lines of other inits;
//! `line` takes ours apart; `given` finds each option's value and origin; `value` reads single values;
//! `extras` and `health` put together those for others to see, `resolve` all of them, and looks for
//! contradictions; `help`, `explain` and `timeline` are pages to read.

mod explain;
mod extras;
mod given;
mod health;
mod help;
mod line;
mod nearest;
mod options;
mod personality;
mod resolve;
#[cfg(feature = "ctl")]
mod survey;
mod timeline;
mod value;

#[cfg(test)]
mod tests;

#[cfg(feature = "ctl")]
pub use survey::{GivenBy, Survey};
#[cfg(feature = "ctl")]
pub(crate) use timeline::draw as timeline;

use crate::core::{Policy, Signal};
use crate::exit::StartErrors;
pub use extras::{Extras, Hook, Place};
pub use health::{Ask, Health, HealthCheck, Probe, Question, Sources};
pub(crate) use options::OF_HOOKS;
use options::{Id, OPTIONS, PREFIX};
pub use personality::Program;
use std::ffi::OsString;
use std::fmt::Write as _;

/// Everything that was asked for, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Settings {
    /// How a stop goes.
    pub policy: Policy,
    /// What to run: never empty, though its first word may be.
    pub command: Vec<OsString>,
    /// Whether to become the reaper of orphans when not PID 1.
    pub subreaper: bool,
    /// The signal to ask the kernel for when our own parent dies.
    pub parent_death_signal: Option<Signal>,
    /// Whether each orphan that is reaped is worth a line.
    pub warn_on_reap: bool,
    /// Whether the server sees the `LAMEDUCK_*` variables.
    pub keep_env: bool,
    /// The ports whose traffic is watched; none for those the server listens on.
    pub watch_ports: Vec<u16>,
    /// Whether health is answered over the network, and where.
    pub health: Option<Health>,
    /// Whether the server starts with no signal ignored or blocked, whatever was so when we were started.
    pub clean_signals: bool,
    /// Whether we let go, once the server runs, of the working directory and the descriptors that we
    /// were given.
    pub lets_go: bool,
    /// The statuses for a command that cannot be started.
    pub start_errors: StartErrors,
    /// How log lines are written.
    pub log: LogFormat,
    /// Which log lines are written.
    pub log_level: LogLevel,
    /// What others are to see of it.
    pub extras: Extras,
    /// What looks wrong but does not keep the server from starting: one line each.
    pub warnings: Vec<String>,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// Which log lines are written: those of this level and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What looks wrong.
    Warn,
    /// What happens to the server.
    Info,
    /// And why.
    Debug,
    /// Everything.
    Trace,
}

/// What came of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Run this.
    Run(Box<Settings>),
    /// Ask this of a lameduck that runs; nothing is run.
    Ask(Box<Ask>),
    /// Print this and leave; nothing is run.
    Print(Printed),
}

/// A text to print before leaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Whole lines.
    pub text: String,
    /// The exit status.
    pub code: u8,
    /// Where the text goes.
    pub stream: Stream,
}

/// Where a text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output: it was asked for.
    Out,
    /// Standard error: it is a complaint.
    Err,
}

/// The exit status for what is wrong with the command line or the environment.
const USAGE: u8 = 125;

/// The exit status for what is wrong with a question.
const CANNOT_TELL: u8 = 1;

/// Reads the command line, without the program's own name, and those variables of the environment
/// that begin with `LAMEDUCK_`.
#[must_use]
pub fn read(args: &[OsString], environ: &[(OsString, OsString)]) -> Outcome {
    let line = line::read(args);
    if line.asks(Id::Help) {
        return Outcome::out(help::page(), 0);
    }
    if line.asks(Id::Version) {
        return Outcome::out(version(), 0);
    }
    if let Some(ask) = Ask::read(&line, environ, args) {
        return match ask {
            Ok(ask) => Outcome::Ask(Box::new(ask)),
            // Not 125: who checks a health knows 0 and 1.
            Err(errors) => complain(&errors, CANNOT_TELL),
        };
    }
    settle(line, environ, None)
}

/// What comes of a command line that was read, ours or that of a program we stand in for.
fn settle(line: line::Line, environ: &[(OsString, OsString)], stand_in: Option<&personality::Asked>) -> Outcome {
    let resolved = resolve::resolve(line, environ, stand_in);
    let mut errors = resolved.errors;
    if resolved.explain && errors.is_empty() {
        let findings = &resolved.findings;
        let code = u8::from(findings.contradiction.is_some() || findings.never_quiet.is_some());
        return Outcome::out(explain::page(&resolved.settings, &resolved.origins, &resolved.findings), code);
    }
    errors.extend(resolved.findings.refusal);
    if resolved.settings.command.is_empty() {
        errors.push("no command given: write it after the options, as in lameduck --delay 15s -- nginx".to_owned());
    }
    if errors.is_empty() { Outcome::Run(Box::new(resolved.settings)) } else { complain(&errors, USAGE) }
}

/// Whether this is a variable that lameduck reads: the server does not see those, so that of two
/// nested lameducks only the outer one delays.
#[must_use]
pub fn is_own_variable(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes()) && OPTIONS.iter().any(|option| option.is_variable(name))
}

/// `lameduck version 0.1.0 - git.HASH`. Docker's daemon reads that line of an init, in this form.
fn version() -> String {
    let hash = option_env!("LAMEDUCK_GIT_HASH").unwrap_or("unknown");
    format!("lameduck version {} - git.{hash}\n", env!("CARGO_PKG_VERSION"))
}

fn complain(errors: &[String], code: u8) -> Outcome {
    let mut text = String::new();
    for error in errors {
        let _ = writeln!(text, "lameduck: {error}");
    }
    text.push_str("lameduck: nothing was started; try --help\n");
    Outcome::Print(Printed { text, code, stream: Stream::Err })
}

// === impl Outcome ===

impl Outcome {
    fn out(text: String, code: u8) -> Self {
        Self::Print(Printed { text, code, stream: Stream::Out })
    }
}

// === impl LogFormat ===

impl LogFormat {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

// === impl LogLevel ===

impl LogLevel {
    const NAMES: [(&'static str, Self); 5] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}
