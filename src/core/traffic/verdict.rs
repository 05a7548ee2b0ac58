//! What the evidence says about the delay, in words.

use super::quiet::is_no_chance;
use super::{Evidence, Source, Unattributed};
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
            (_, None) => self.without_requests(f)?,
            (Ended::Delay, Some(_)) if in_last_second > 0 => {
                return write!(
                    f,
                    "requests were still arriving when the delay ended ({in_last_second} in the last second): \
                     raise --delay"
                );
            }
            (Ended::Delay, Some(last)) => {
                self.last_request(f, last)?;
                let Some(margin) = self.evidence.margin else {
                    return f.write_str(": the delay cannot be judged");
                };
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
        write!(f, "last request {} after {}", Seconds(last), self.signal)?;
        self.unattributed(f, "more ")
    }

    /// No request was seen, or none can be.
    fn without_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only_connections = self.evidence.source == Source::Proc;
        match self.evidence.last_connection {
            Some(last) => write!(f, "last connection {} after {}", Seconds(last), self.signal)?,
            None if only_connections => f.write_str("no new connection seen")?,
            None if self.evidence.unattributed.is_some() || self.evidence.closed > 0 => {
                f.write_str("no request seen")?;
            }
            None => f.write_str("no traffic seen")?,
        }
        if only_connections {
            f.write_str(", and requests cannot be seen here")?;
        } else if self.evidence.last_connection.is_some() {
            f.write_str(", without a request")?;
        } else if self.evidence.closed > 0 {
            let closed = self.evidence.closed;
            let (s, each) = if closed == 1 { ("", "") } else { ("s", "each ") };
            write!(f, ", but {closed} connection{s} closed, perhaps {each}after a last one")?;
        }
        self.unattributed(f, "")
    }

    /// What may have been the server's.
    fn unattributed(&self, f: &mut fmt::Formatter<'_>, more: &str) -> fmt::Result {
        if self.evidence.uncounted {
            return f.write_str(", but connections that come and go unseen cannot be counted here");
        }
        let Some(Unattributed { connections, last }) = self.evidence.unattributed else { return Ok(()) };
        let (s, the_last, they_were) =
            if connections == 1 { ("", "", "it was") } else { ("s", "the last ", "they were") };
        write!(
            f,
            ", but {connections} {more}connection{s} came to this network namespace, {the_last}{} after {}, \
             and whose {they_were} cannot be told",
            Seconds(last),
            self.signal
        )
    }
}

// === impl Seconds ===

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} s", self.0.as_secs(), self.0.subsec_millis() / 100)
    }
}
