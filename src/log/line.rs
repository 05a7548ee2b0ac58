//! One line of the log, as text for people or as JSON for machines.
//!
//! The text is a sentence, with the phase in front and the two times behind it; everything else that
//! JSON carries as keys is in the sentence already.

use crate::json;
use std::fmt::Write as _;
use std::time::Duration;
use tracing::Level;

/// A line that is being put together.
pub(super) struct Line {
    level: Level,
    message: String,
    fields: Vec<(&'static str, Field)>,
}

/// The value of a key.
pub(super) enum Field {
    Text(String),
    Number(i64),
    Bool(bool),
    /// Seconds, told to the millisecond.
    Seconds(f64),
}

// === impl Line ===

impl Line {
    pub(super) fn new(level: Level) -> Self {
        Self { level, message: String::new(), fields: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &'static str, value: Field) {
        match value {
            Field::Text(text) if name == "message" => self.message = text,
            value => self.fields.push((name, value)),
        }
    }

    /// `lameduck: draining: SIGQUIT to nginx[7] … (elapsed 15.002s, remaining 30s)`.
    pub(super) fn text(&self) -> String {
        let mut line = String::from("lameduck: ");
        match self.level {
            Level::ERROR => line.push_str("error: "),
            Level::WARN => line.push_str("warning: "),
            _ => {}
        }
        if let Some(Field::Text(phase)) = self.get("phase") {
            let _ = write!(line, "{phase}: ");
        }
        // One event is one line, whatever a process calls itself.
        line.extend(self.message.chars().map(|c| if c.is_control() { '?' } else { c }));
        match (self.get("elapsed_s"), self.get("remaining_s")) {
            (Some(Field::Seconds(elapsed)), Some(Field::Seconds(remaining))) => {
                let _ = write!(line, " (elapsed {elapsed:.3}s, remaining {remaining:.3}s)");
            }
            (Some(Field::Seconds(elapsed)), _) => {
                let _ = write!(line, " (elapsed {elapsed:.3}s)");
            }
            _ => {}
        }
        line.push('\n');
        line
    }

    /// One JSON object; `now` is the time since 1970.
    pub(super) fn json(&self, now: Duration) -> String {
        let mut line = String::from("{\"time\":\"");
        push_time(&mut line, now);
        let level = match self.level {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            _ => "trace",
        };
        let _ = write!(line, "\",\"level\":\"{level}\"");
        for (name, value) in &self.fields {
            let _ = write!(line, ",\"{name}\":");
            match value {
                Field::Text(text) => {
                    let _ = json::write_text(&mut line, text);
                }
                Field::Number(number) => {
                    let _ = write!(line, "{number}");
                }
                Field::Bool(yes) => {
                    let _ = write!(line, "{yes}");
                }
                Field::Seconds(seconds) => {
                    let _ = write!(line, "{seconds:.3}");
                }
            }
        }
        line.push_str(",\"message\":");
        let _ = json::write_text(&mut line, &self.message);
        line.push_str("}\n");
        line
    }

    fn get(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// A time since 1970 in words.
pub(super) fn time(since_1970: Duration) -> String {
    let mut text = String::new();
    push_time(&mut text, since_1970);
    text
}

/// `2026-01-31T23:59:59.123Z`.
fn push_time(out: &mut String, since_1970: Duration) {
    let (days, second) = (since_1970.as_secs() / 86_400, since_1970.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second, millis) = (second / 3_600, second / 60 % 60, second % 60, since_1970.subsec_millis());
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z");
}

/// The date that many days after 1970-01-01, by the Gregorian calendar: years are counted from a
/// March, so that the leap day is a year's last, and in spans of 400, which all have as many days.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    // 1970-01-01 is 719,468 days after 0000-03-01.
    let days = days + 719_468;
    let (spans, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let year = 400 * spans + year;
    if month < 10 { (year, month + 3, day_of_month) } else { (year + 1, month - 9, day_of_month) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        let mut line = Line::new(Level::INFO);
        line.add("phase", Field::Text("draining".into()));
        line.add("message", Field::Text("a \"b\"\nc".into()));
        line.add("elapsed_s", Field::Seconds(1.5));
        line.add("remaining_s", Field::Seconds(2.0));
        line.add("pid", Field::Number(7));
        line
    }

    #[test]
    fn text_is_one_sentence_with_its_phase_and_times() {
        assert_eq!(line().text(), "lameduck: draining: a \"b\"?c (elapsed 1.500s, remaining 2.000s)\n");
        let mut warning = Line::new(Level::WARN);
        warning.add("message", Field::Text("mind".into()));
        assert_eq!(warning.text(), "lameduck: warning: mind\n");
    }

    #[test]
    fn json_is_escaped_and_carries_every_field() {
        assert_eq!(
            line().json(Duration::from_millis(1_709_251_199_987)),
            "{\"time\":\"2024-02-29T23:59:59.987Z\",\"level\":\"info\",\"phase\":\"draining\",\
             \"elapsed_s\":1.500,\"remaining_s\":2.000,\"pid\":7,\"message\":\"a \\\"b\\\"\\nc\"}\n"
        );
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (10_956, (1999, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
