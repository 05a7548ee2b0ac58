//! The result as text, as JSON and as a page: pure, from [`super::measured`] to a string.

pub mod html;
pub mod json;
mod story;
mod svg;
pub mod text;

use std::time::Duration;

/// Seconds for people: `0.03 s`.
fn seconds(seconds: f64) -> String {
    // Not "-0.00".
    format!("{:.2} s", if seconds.abs() < 0.005 { 0.0 } else { seconds })
}

/// Microseconds of a histogram for people: `1.2 ms`, `2.50 s`.
fn latency(micros: u64) -> String {
    let time = Duration::from_micros(micros);
    if time < Duration::from_secs(1) {
        format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
    } else {
        seconds(time.as_secs_f64())
    }
}

/// A number with commas: `1,234,567`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The verdict in one sentence; of a run that is a measure.
fn headline(measured: &super::measured::Measured) -> String {
    let all = measured.tally.all();
    let (sent, lost) = (all.sent(), all.lost());
    #[allow(clippy::cast_precision_loss, reason = "a share for people")]
    let share = if sent > 0 { lost as f64 * 100.0 / sent as f64 } else { 0.0 };
    match lost {
        0 => format!("None of {} requests was lost.", count(sent)),
        1 => format!("1 of {} requests was lost ({share:.2} %).", count(sent)),
        _ => format!("{} of {} requests were lost ({share:.2} %).", count(lost), count(sent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([950, 1_500, 2_500_000].map(latency), ["0.9 ms", "1.5 ms", "2.50 s"]);
        assert_eq!([0.034, -0.001, -1.5].map(seconds), ["0.03 s", "0.00 s", "-1.50 s"]);
    }
}
