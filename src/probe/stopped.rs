//! What a lameduck wrote about its stop with `--report`: its phases, without having been asked during it.
//!
//! The file tells when it was written and how long each phase took, so the stop is placed by the clocks
//! of both machines: where these differ, so do the moments.

use crate::core::Phase;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The phases with the times of day when they began; none marks the end.
pub(super) type Phases = Vec<(SystemTime, Option<Phase>)>;

/// Reads a report.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str) -> Result<Phases, String> {
    let report: Value = serde_json::from_str(text).map_err(|why| format!("not a report of lameduck: {why}"))?;
    let written = report.get("time").and_then(Value::as_str).and_then(time_of_day);
    let written = written.ok_or("not a report of lameduck: it has no \"time\"")?;
    let spans = report.get("phases").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut phases = Vec::new();
    let mut end = Duration::ZERO;
    for span in spans {
        let name = span.get("phase").and_then(Value::as_str).unwrap_or_default();
        let phase = Phase::ALL.into_iter().find(|phase| phase.name() == name).ok_or("a phase that is not known")?;
        let [at, took] = ["at_s", "seconds"].map(|key| seconds(span.get(key)));
        let (at, took) = at.zip(took).ok_or_else(|| format!("{name}: at_s and seconds have to be numbers"))?;
        phases.push((at, phase));
        end = end.max(at.saturating_add(took));
    }
    let stop = written.checked_sub(end).ok_or("its phases are longer than time itself")?;
    let mut phases: Phases = phases.into_iter().map(|(at, phase)| (stop + at, Some(phase))).collect();
    phases.push((written, None));
    Ok(phases)
}

fn seconds(value: Option<&Value>) -> Option<Duration> {
    value?.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Reads `2026-01-31T23:59:59.123Z`.
fn time_of_day(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers =
        |text: &str, separator| text.split(separator).map(|part| part.parse::<u64>().ok()).collect::<Option<Vec<_>>>();
    let [year, month, day] = numbers(date, '-')?.try_into().ok()?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(whole, ':')?.try_into().ok()?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 {
        return None;
    }
    // Years begin in March here, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + Duration::try_from_secs_f64(fraction).ok()?)
}

/// Days from the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: u64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:00.5Z", 951_825_600.5),
            ("2026-01-31T23:59:59.125Z", 1_769_903_999.125),
            ("2100-03-01T00:00:00.000Z", 4_107_542_400.0),
        ] {
            assert_eq!(time_of_day(text), Some(UNIX_EPOCH + Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in
            ["", "2026-01-31", "2026-01-31T23:59:59", "2026-13-01T00:00:00Z", "x-01-01T00:00:00Z", "2026-01-31T1:2Z"]
        {
            assert_eq!(time_of_day(text), None, "{text}");
        }
    }

    #[test]
    fn the_stop_is_placed_by_its_end() {
        let text = r#"{"schema":1,"time":"2026-01-31T00:00:20.000Z","phases":[
            {"phase":"lame-duck","at_s":0.000,"seconds":5.000},{"phase":"draining","at_s":5.000,"seconds":1.500},
            {"phase":"gone","at_s":6.500,"seconds":0.000}]}"#;
        let end = time_of_day("2026-01-31T00:00:20Z").unwrap();
        let at = |seconds| end - Duration::from_secs_f64(seconds);
        let expected =
            [(at(6.5), Some(Phase::LameDuck)), (at(1.5), Some(Phase::Draining)), (end, Some(Phase::Gone)), (end, None)];
        assert_eq!(read(text).unwrap(), expected);
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"time":"2026-01-31T00:00:20Z","phases":[{"phase":"asleep"}]}"#,
            r#"{"time":"2026-01-31T00:00:20Z","phases":[{"phase":"gone","at_s":-1,"seconds":0}]}"#,
            r#"{"time":"1970-01-01T00:00:20Z","phases":[{"phase":"gone","at_s":1e19,"seconds":1}]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
