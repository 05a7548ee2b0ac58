//! What is to be seen while it runs: one status line on a terminal, plain lines now and then elsewhere.
//! All of it goes to standard error; the result has standard output for itself.

use super::measured::Measured;
use super::outcome::{Class, Verdict};
use super::tally::Done;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

/// Between two plain lines.
const EVERY: Duration = Duration::from_secs(10);

/// Around the status line: no wrapping at the right edge, however narrow the terminal is, as a line that
/// is broken in two cannot be taken away again.
const CLIPPED: [&str; 2] = ["\r\x1b[?7l\x1b[K", "\x1b[?7h"];

/// The status line.
pub(super) struct Live {
    terminal: bool,
    /// Whether it is on the screen now.
    shown: bool,
    /// When the last plain line was written.
    last: Duration,
    /// The latest loss: when, and how.
    latest: Option<(Duration, String)>,
    /// What each readiness page last said.
    ready: BTreeMap<String, Option<u16>>,
    /// Whether the first loss was told.
    told: bool,
}

// === impl Live ===

impl Live {
    pub(super) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { terminal, shown: false, last: Duration::ZERO, latest: None, ready: BTreeMap::new(), told: false }
    }

    /// Shows where it stands.
    pub(super) fn look(&mut self, measured: &Measured, now: Duration) {
        if self.terminal {
            let [begin, end] = CLIPPED;
            write(&format!("{begin}{}{end}", self.status(measured, now)));
            self.shown = true;
        } else if now >= self.last + EVERY {
            self.last = now;
            self.line(&self.status(measured, now));
        }
    }

    /// Takes note of a loss.
    pub(super) fn done(&mut self, measured: &Measured, done: &Done) {
        let Verdict::Sent(class, words) = &done.verdict else { return };
        if *class == Class::Ok {
            return;
        }
        self.latest = Some((done.ended, format!("{}: {words}", class.name())));
        if !self.told && !self.terminal {
            self.told = true;
            self.line(&format!("{} first loss: {}: {words}", time(measured, done.ended), class.name()));
        }
    }

    /// Takes note of a change of readiness.
    pub(super) fn ready(&mut self, measured: &Measured, url: &str, at: Duration, status: Option<u16>) {
        if !self.terminal {
            self.line(&format!("{} readiness of {url}: {}", time(measured, at), answered(status)));
        }
        self.ready.insert(url.to_owned(), status);
    }

    /// Passes on a line of the deploy command.
    pub(super) fn said(&mut self, line: &str) {
        self.line(&format!("| {line}"));
    }

    /// Says something of our own.
    pub(super) fn note(&mut self, what: &str) {
        self.line(&format!("lameduckctl probe: {what}"));
    }

    /// Takes the status line away.
    pub(super) fn end(&mut self) {
        if self.shown {
            write("\r\x1b[K");
            self.shown = false;
        }
    }

    fn line(&mut self, line: &str) {
        self.end();
        write(&format!("{line}\n"));
    }

    fn status(&self, measured: &Measured, now: Duration) -> String {
        let all = measured.tally.all();
        let mut text = format!("{} {}/s  sent {}  lost {}", time(measured, now), measured.rate, all.sent(), all.lost());
        let mut pages = self.ready.values();
        match (pages.next(), pages.len()) {
            (None, _) => {}
            (Some(status), 0) => {
                let _ = write!(text, "  readiness {}", answered(*status));
            }
            (Some(_), more) => {
                let ready = self.ready.values().filter(|status| matches!(status, Some(200..=399))).count();
                let _ = write!(text, "  ready {ready} of {}", more + 1);
            }
        }
        // The longest comes last, where a narrow terminal cuts it.
        if let Some((at, words)) = &self.latest {
            let _ = write!(text, "  latest {:.0} s ago, {words}", now.saturating_sub(*at).as_secs_f64());
        }
        text
    }
}

fn answered(status: Option<u16>) -> String {
    status.map_or_else(|| "no answer".to_owned(), |status| status.to_string())
}

/// A moment as reports count it.
fn time(measured: &Measured, at: Duration) -> String {
    format!("{:6.1}s", measured.seconds(at))
}

fn write(text: &str) {
    // A reader that has gone away is no reason to stop measuring.
    let _ = io::Write::write_all(&mut io::stderr().lock(), text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::{sample, secs};
    use crate::probe::schedule::Kind;

    #[test]
    fn the_status_tells_the_rate_the_lost_the_readiness_and_the_latest_loss() {
        let sample = sample();
        let mut live = Live { terminal: true, ..Live::new() };
        assert_eq!(live.status(&sample, secs(1.0)), "  -1.0s 10/s  sent 100  lost 3");
        live.ready(&sample, "http://a/readyz", secs(2.0), Some(503));
        let kind = Kind { target: 0, kept_alive: false, slow: false };
        for (at, class, words) in [(5.2, Class::Refused, "Connection refused"), (6.0, Class::Ok, "")] {
            let verdict = Verdict::Sent(class, words.to_owned());
            let (due, ended) = (secs(at), secs(at));
            live.done(&sample, &Done { kind, due, sent: due, ended, reused: false, verdict });
        }
        let told = "   8.0s 10/s  sent 100  lost 3  readiness 503  latest 5 s ago, refused: Connection refused";
        assert_eq!(live.status(&sample, secs(10.0)), told);
        live.ready(&sample, "http://b/readyz", secs(2.0), Some(200));
        assert!(live.status(&sample, secs(10.0)).contains("  ready 1 of 2  "));
        live.ready(&sample, "http://b/readyz", secs(2.0), None);
        assert!(live.status(&sample, secs(10.0)).contains("  ready 0 of 2  "));
    }
}
