//! Durations as people write them: `15s`, `1m30s`, `500ms`, `1.5s`, and bare seconds `15`, because
//! `stopTimeout` of ECS and `terminationGracePeriodSeconds` of Kubernetes are bare seconds.

use std::fmt;
use std::time::Duration;

/// Why a text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotADuration {
    /// Not of the form `15s`, `1m30s`, `500ms`, `1.5s` or `15`.
    Form,
    /// Negative.
    Negative,
    /// Longer than [`MAX`].
    TooLong,
}

/// The longest duration that is taken: a year. Whatever is longer is a slip of the keyboard, and
/// sums of a few of these are far from overflowing.
pub const MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A duration printed as [`parse`] reads it, to the millisecond: `1m30s`, `1.5s`, `500ms`, `0s`.
#[derive(Clone, Copy)]
pub struct Written(pub Duration);

/// Units from large to small, in milliseconds; each may stand once, in this order.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads a duration.
///
/// # Errors
/// [`NotADuration`] says what is wrong with the text.
pub fn parse(text: &str) -> Result<Duration, NotADuration> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        return Err(if parse(rest).is_ok() { NotADuration::Negative } else { NotADuration::Form });
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut smallest_so_far = u64::MAX;
    loop {
        let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_len);
        let unit_len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_len);
        let bare_seconds = unit.is_empty() && next.is_empty() && smallest_so_far == u64::MAX;
        let unit = if bare_seconds { "s" } else { unit };
        let (_, millis) = *UNITS.iter().find(|(name, _)| *name == unit).ok_or(NotADuration::Form)?;
        if millis >= smallest_so_far {
            return Err(NotADuration::Form);
        }
        smallest_so_far = millis;
        total = total.checked_add(quantity(number, millis)?).filter(|t| *t <= MAX).ok_or(NotADuration::TooLong)?;
        rest = next;
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

/// `1.5` of a unit of so many milliseconds. Digits beyond the nanosecond are dropped.
fn quantity(number: &str, unit_millis: u64) -> Result<Duration, NotADuration> {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(NotADuration::Form),
        None => (number, ""),
    };
    if whole.is_empty() || fraction.contains('.') {
        return Err(NotADuration::Form);
    }
    let whole: u64 = whole.parse().map_err(|_| NotADuration::TooLong)?;
    let mut total = Duration::from_millis(whole.checked_mul(unit_millis).ok_or(NotADuration::TooLong)?);
    // A unit is at most a day, 8.64e13 ns: ten of it fit, and each digit is worth a tenth of the last.
    let mut worth = u128::from(unit_millis) * 1_000_000;
    for digit in fraction.bytes() {
        worth /= 10;
        let nanos = u64::try_from(worth * u128::from(digit - b'0')).map_err(|_| NotADuration::TooLong)?;
        total = total.checked_add(Duration::from_nanos(nanos)).ok_or(NotADuration::TooLong)?;
    }
    Ok(total)
}

// === impl NotADuration ===

impl fmt::Display for NotADuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "not a duration: write 15s, 1m30s, 500ms, 1.5s, or bare seconds as in 15",
            Self::Negative => "a duration cannot be negative",
            Self::TooLong => "too long: the most is 365 days",
        })
    }
}

// === impl Written ===

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if millis < 1_000 && millis > 0 {
            return write!(f, "{millis}ms");
        }
        let mut seconds = millis / 1_000;
        let millis = millis % 1_000;
        let mut written = false;
        for (unit, worth) in [("d", 86_400), ("h", 3_600), ("m", 60)] {
            if seconds >= worth {
                write!(f, "{}{unit}", seconds / worth)?;
                seconds %= worth;
                written = true;
            }
        }
        if millis > 0 {
            let digits = format!("{millis:03}");
            write!(f, "{seconds}.{}s", digits.trim_end_matches('0'))
        } else if seconds > 0 || !written {
            write!(f, "{seconds}s")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_usual_forms_are_read() {
        for (text, millis) in [
            ("15s", 15_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5s", 1_500),
            ("15", 15_000),
            ("0", 0),
            ("0.25", 250),
            ("1h", 3_600_000),
            ("1d2h3m4s5ms", 93_784_005),
            (" 2s ", 2_000),
            ("1.5m", 90_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "", "s", "15x", "s15", "1s1m", "1s1s", "1 s", "1.s", ".5s", "1.2.3s", "1m30", "15S", "1e3", "∞", "0x1s",
            "--1", "-x",
        ] {
            assert_eq!(parse(text), Err(NotADuration::Form), "{text:?}");
        }
        assert_eq!(parse("-5s"), Err(NotADuration::Negative));
        assert_eq!(NotADuration::Negative.to_string(), "a duration cannot be negative");
    }

    #[test]
    fn overflow_is_refused_not_wrapped() {
        for text in ["366d", "99999999999999999999s", "18446744073709551615", "18446744073709551615d", "9000h"] {
            assert_eq!(parse(text), Err(NotADuration::TooLong), "{text}");
        }
        assert_eq!(parse("365d"), Ok(MAX));
        assert_eq!(NotADuration::TooLong.to_string(), "too long: the most is 365 days");
    }

    #[test]
    fn a_duration_is_written_as_short_as_can_be() {
        for (millis, text) in [
            (0, "0s"),
            (1, "1ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_050, "1.05s"),
            (60_000, "1m"),
            (61_500, "1m1.5s"),
            (90_000, "1m30s"),
            (60_001, "1m0.001s"),
            (3_600_000, "1h"),
            (93_784_005, "1d2h3m4.005s"),
            (172_800_000, "2d"),
        ] {
            assert_eq!(Written(Duration::from_millis(millis)).to_string(), text);
        }
    }

    #[test]
    fn digits_without_end_cost_nothing() {
        let text = format!("1.{}s", "9".repeat(100_000));
        assert!(parse(&text).is_ok_and(|d| d < Duration::from_secs(2)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in 0_u64..=31_536_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse(&Written(duration).to_string()), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse(&text);
        }
    }
}
