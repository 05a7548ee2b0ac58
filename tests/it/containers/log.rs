//! What lameduck said, read back from its JSON.

use std::time::{Duration, SystemTime};

/// The lines of a log.
pub(super) struct Log {
    /// All that was on standard error, for the message of a test that failed.
    pub(super) text: String,
}

/// One line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a>(&'a str);

const DAY: u64 = 86_400_000;

// === impl Log ===

impl Log {
    /// The log in a container's standard error, which the server writes to as well.
    pub(super) fn read(stderr: &str) -> Self {
        Self { text: stderr.to_owned() }
    }

    /// The first line of a phase.
    pub(super) fn phase(&self, phase: &str) -> Line<'_> {
        let wanted = format!("\"phase\":\"{phase}\"");
        let line = self.text.lines().find(|line| line.starts_with("{\"time\":") && line.contains(&wanted));
        Line(line.unwrap_or_else(|| panic!("no line of phase {phase} in:\n{}", self.text)))
    }
}

// === impl Line ===

impl<'a> Line<'a> {
    /// The value of a key, without the quotes of a text.
    pub(super) fn get(self, key: &str) -> &'a str {
        let from = format!("\"{key}\":");
        let rest = self.0.split_once(&from).unwrap_or_else(|| panic!("no {key} in {}", self.0)).1;
        match rest.strip_prefix('"') {
            Some(text) => text.split('"').next().unwrap(),
            None => rest.split([',', '}']).next().unwrap(),
        }
    }

    /// How long after the stop signal this was.
    pub(super) fn elapsed(self) -> Duration {
        Duration::from_secs_f64(self.get("elapsed_s").parse().expect("a number"))
    }

    /// When it was written, since 1970. The line tells the time of day; the day is today, or yesterday
    /// when midnight has passed since.
    pub(super) fn time(self) -> Duration {
        let clock = self.get("time").split('T').nth(1).expect("a time of day").trim_end_matches('Z');
        let (whole, millis) = clock.split_once('.').expect("milliseconds");
        let seconds = whole.split(':').fold(0, |sum, part| sum * 60 + part.parse::<u64>().expect("a number"));
        let of_day = seconds * 1_000 + millis.parse::<u64>().expect("a number");
        let now = u64::try_from(now().as_millis()).unwrap();
        let today = now - now % DAY + of_day;
        Duration::from_millis(if today > now { today - DAY } else { today })
    }
}

/// The time since 1970.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is set")
}
