//! What is to be seen while it runs: one status line on a terminal, plain lines now and then elsewhere.
//! All of it goes to standard error; the result has standard output for itself.

use super::measured::Measured;
use super::outcome::{Class, Verdict};
use super::tally::Done;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

/// Between two plain lines.
const EVERY: Duration = Duration::from_secs(10);

/// What fits into any terminal: a line that is broken in two cannot be taken away again.
const COLUMNS: usize = 79;

/// The status line.
pub(super) struct Live {
    terminal: bool,
    /// Whether it is on the screen now.
    shown: bool,
    /// When the last plain line was written.
    last: Duration,
    /// The latest loss: when, and how.
    latest: Option<(Duration, String)>,
    /// What the readiness page last said.
    ready: Option<String>,
    /// Whether the first loss was told.
    told: bool,
}

// === impl Live ===

impl Live {
    pub(super) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { terminal, shown: false, last: Duration::ZERO, latest: None, ready: None, told: false }
    }

    /// Shows where it stands.
    pub(super) fn look(&mut self, measured: &Measured, now: Duration) {
        if self.terminal {
            let status: String = self.status(measured, now).chars().take(COLUMNS).collect();
            write(&format!("\r\x1b[K{status}"));
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
        let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        if !self.terminal {
            self.line(&format!("{} readiness of {url}: {status}", time(measured, at)));
        }
        self.ready = Some(status);
    }

    /// Passes on a line of the deploy command.
    pub(super) fn said(&mut self, line: &str) {
        self.line(&format!("| {line}"));
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
        if let Some((at, words)) = &self.latest {
            let _ = write!(text, " (latest {:.0} s ago, {words})", now.saturating_sub(*at).as_secs_f64());
        }
        if let Some(ready) = &self.ready {
            let _ = write!(text, "  readiness {ready}");
        }
        text
    }
}

/// A moment as reports count it.
fn time(measured: &Measured, at: Duration) -> String {
    format!("{:6.1}s", measured.seconds(at))
}

fn write(text: &str) {
    // A reader that has gone away is no reason to stop measuring.
    let _ = io::Write::write_all(&mut io::stderr().lock(), text.as_bytes());
}
