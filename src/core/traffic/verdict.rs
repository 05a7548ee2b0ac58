//! What the evidence says about the delay, in words.

use super::quiet::is_no_chance;
use super::{Evidence, Source};
use crate::core::duration::Written;
use std::fmt;
use std::time::Duration;

/// How the delay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was over.
    Delay,
    /// The traffic was.
    Quiet,
    /// A second stop signal came.
    Hurried,
    /// The main process ended in it.
    Died,
}

/// The verdict of some evidence.
pub struct Verdict<'a> {
    /// The evidence.
    pub evidence: &'a Evidence,
    /// What the stop signal is called.
    pub signal: &'a str,
}

/// Seconds with one decimal.
struct Seconds(Duration);

// === impl Ended ===

impl Ended {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Quiet => "quiet",
            Self::Hurried => "hurried",
            Self::Died => "died",
        }
    }
}

// === impl Verdict ===

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence { ended, delay_over, delay, in_last_second, .. } = *self.evidence;
        let requests = self.evidence.requests.unwrap_or(0);
        match (ended, self.evidence.last_request) {
            _ if delay.is_zero() => return f.write_str("there was no delay"),
            (Ended::Died, _) => {
                return write!(
                    f,
                    "the server ended by itself {} after {}: the delay cannot be judged",
                    Seconds(delay_over),
                    self.signal
                );
            }
            (_, None) if self.evidence.source == Source::Proc => self.last_connection(f)?,
            (_, None) => match self.evidence.namespace_opens {
                Some(opens @ 1..) => write!(
                    f,
                    "no traffic seen, but {opens} connections in this network namespace, which others use too"
                )?,
                _ => f.write_str("no traffic seen")?,
            },
            (Ended::Delay, Some(_)) if in_last_second > 0 => {
                return write!(
                    f,
                    "requests were still arriving when the delay ended ({in_last_second} in the last second): \
                     raise --delay"
                );
            }
            (Ended::Delay, Some(last)) => {
                let margin = self.evidence.margin.unwrap_or_default();
                self.last_request(f, last)?;
                write!(f, "; delay {} left {} of margin", Written(delay), Seconds(margin))?;
                if !is_no_chance(margin, delay_over, requests) {
                    let s = if requests == 1 { "" } else { "s" };
                    write!(f, ", which may be chance with {requests} request{s} in all")?;
                }
                return Ok(());
            }
            (Ended::Quiet, Some(last)) => {
                self.last_request(f, last)?;
                return write!(
                    f,
                    "; quiet since, so that the delay ended after {} instead of {}",
                    Seconds(delay_over),
                    Written(delay)
                );
            }
            (Ended::Hurried, Some(last)) => {
                self.last_request(f, last)?;
                write!(f, "; hurried after {}", Seconds(delay_over))?;
            }
        }
        f.write_str(": the delay cannot be judged")
    }
}

impl Verdict<'_> {
    fn last_request(&self, f: &mut fmt::Formatter<'_>, last: Duration) -> fmt::Result {
        write!(f, "last request {} after {}", Seconds(last), self.signal)
    }

    /// Where only connections are seen.
    fn last_connection(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.evidence.last_connection {
            Some(last) => {
                write!(f, "last connection {} after {}, and requests cannot be seen here", Seconds(last), self.signal)
            }
            None => f.write_str("no new connection seen, and requests cannot be seen here"),
        }
    }
}

// === impl Seconds ===

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} s", self.0.as_secs(), self.0.subsec_millis() / 100)
    }
}
