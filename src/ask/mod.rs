//! Asking a lameduck that runs: `--healthcheck` and `--status`.
//!
//! A process of its own beside the server, started by a container engine every few seconds in an
//! image that may hold nothing else: blocking calls, no runtime, and done within a second. `source`
//! knows where a lameduck tells of its server, `client` asks over the network.

mod client;
mod source;

#[cfg(test)]
mod corpus;

use crate::cli::{Ask, Printed, Probe, Question, Stream};
use crate::http::{Status, Target};
use crate::run::clock::Clock;
use client::Deadline;
use source::Source;
use std::fmt;
use std::time::Duration;

/// All of it takes no longer, be there nobody to answer: Kubernetes' own limit for an exec probe.
const LIMIT: Duration = Duration::from_secs(1);

/// What came of asking, and what was said.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Ready(String),
    NotReady(String),
    CannotTell(String),
}

/// Asks, and puts what is to be printed into one line; the status is 0 for yes, 1 for everything else.
#[must_use]
pub fn ask(ask: &Ask) -> Printed {
    let deadline = Deadline::in_time(Clock::start(), LIMIT);
    match &ask.question {
        Question::Ready => print(&source::all(ask).ready(&deadline)),
        Question::Well(Probe::File(path)) => print(&Source::ReadyFile(path.clone()).ready(&deadline)),
        Question::Well(Probe::Target(target)) => print(&well(target, &deadline)),
        Question::Status => match source::all(ask).status(&deadline) {
            Ok(state) => Printed { text: format!("{}\n", state.trim_end()), code: 0, stream: Stream::Out },
            // Whoever reads JSON does not want to read this.
            Err(why) => Printed { text: format!("lameduck: cannot tell: {why}\n"), code: 1, stream: Stream::Err },
        },
    }
}

fn print(verdict: &Verdict) -> Printed {
    Printed { text: format!("{verdict}\n"), code: u8::from(!matches!(verdict, Verdict::Ready(_))), stream: Stream::Out }
}

fn well(target: &Target, deadline: &Deadline) -> Verdict {
    let answer = match target {
        Target::Tcp(place) => client::connect(&place.addresses, deadline).map(|_| "is open".to_owned()),
        Target::Http(place, path) => match client::get(place, path, deadline) {
            Ok(answer) if !Status::is_well(answer.code) => {
                return Verdict::NotReady(format!("{target} answers {}", answer.code));
            }
            Ok(answer) => Ok(format!("answers {}", answer.code)),
            Err(error) => Err(error),
        },
    };
    match answer {
        Ok(how) => Verdict::Ready(format!("{target} {how}")),
        Err(error) => Verdict::NotReady(format!("{target}: {error}")),
    }
}

// === impl Verdict ===

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(why) => write!(f, "ready: {why}"),
            Self::NotReady(why) => write!(f, "not ready: {why}"),
            Self::CannotTell(why) => write!(f, "cannot tell: {why}"),
        }
    }
}
