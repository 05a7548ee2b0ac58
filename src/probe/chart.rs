//! The run as a picture in a terminal: what was lost, over what happened meanwhile. Pure, plain ASCII.

use super::measured::{Measured, distinct};
use super::tally::Bucket;
use crate::core::Phase;
use std::fmt::Write as _;
use std::time::Duration;

/// Columns of time, and those to the left of them.
const WIDTH: usize = 66;
const LEFT: usize = 11;

/// Rows of the bars.
const HEIGHT: u64 = 6;

/// Distances between the marks of the axis, in seconds.
const STEPS: [u64; 14] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600];

/// The most marks the axis has room for.
const MOST_MARKS: u64 = 9;

/// A stretch of a lane.
struct Span {
    from: Duration,
    fill: char,
    label: String,
}

/// From moments to columns.
struct Scale {
    length: Duration,
}

/// Draws it.
#[must_use]
pub fn draw(measured: &Measured) -> String {
    let tally = &measured.tally;
    let buckets = u32::try_from(tally.buckets.len()).unwrap_or(u32::MAX);
    let length = (tally.width * buckets).max(measured.length);
    if length.is_zero() {
        return String::new();
    }
    let scale = Scale { length };
    let mut text = String::from("\n");
    if tally.all().lost() > 0 {
        scale.bars(&mut text, measured);
    }
    scale.axis(&mut text, measured);
    if let Some(deploy) = &measured.deploy {
        let lane = [
            Span { from: measured.zero, fill: '=', label: "deploy".to_owned() },
            Span { from: measured.zero + deploy.took, fill: ' ', label: String::new() },
        ];
        scale.lane(&mut text, "deploy", &lane);
    }
    let sources = measured.sources();
    for (number, source) in sources.iter().enumerate() {
        let own = measured.phases.iter().filter(|(url, ..)| url == source);
        let spans: Vec<Span> = own.map(|(_, at, phase)| phase_span(*at, *phase)).collect();
        scale.lane(&mut text, &lane_name("phase", number, sources.len()), &spans);
    }
    let pages = distinct(measured.readiness.iter().map(|(url, ..)| url.as_str()));
    for (number, url) in pages.iter().enumerate() {
        let own = measured.readiness.iter().filter(|(known, ..)| known == url);
        let spans: Vec<Span> = own.map(|(_, at, status)| readiness_span(*at, *status)).collect();
        scale.lane(
            &mut text,
            &lane_name(if pages.len() < 2 { "readiness" } else { "ready" }, number, pages.len()),
            &spans,
        );
    }
    text
}

/// What a lane shows; with its number where there are several.
fn lane_name(what: &str, number: usize, several: usize) -> String {
    if several < 2 { what.to_owned() } else { format!("{what} {}", number + 1) }
}

fn phase_span(from: Duration, phase: Option<Phase>) -> Span {
    let fill = match phase {
        None | Some(Phase::Gone) => ' ',
        Some(Phase::Starting | Phase::Serving) => '_',
        Some(Phase::LameDuck) => '=',
        Some(Phase::Draining) => '-',
        Some(Phase::Killing) => 'x',
        Some(Phase::Sweeping) => '.',
    };
    Span { from, fill, label: phase.map_or("no answer", |phase| phase.name()).to_owned() }
}

fn readiness_span(from: Duration, status: Option<u16>) -> Span {
    let fill = match status {
        None => ' ',
        Some(200..=399) => '_',
        Some(_) => '=',
    };
    Span { from, fill, label: status.map_or_else(|| "no answer".to_owned(), |status| status.to_string()) }
}

// === impl Scale ===

impl Scale {
    fn column(&self, at: Duration) -> usize {
        let column = at.as_nanos() * WIDTH as u128 / self.length.as_nanos();
        usize::try_from(column).unwrap_or(WIDTH).min(WIDTH)
    }

    /// Lost requests as bars, each column with those of the time around it.
    #[allow(clippy::cast_precision_loss, reason = "few buckets")]
    fn bars(&self, text: &mut String, measured: &Measured) {
        // As many whole buckets as a column is wide: of parts, one column would get one and the next two.
        let width = measured.tally.width;
        let column = self.length.as_nanos() / WIDTH as u128;
        let together = usize::try_from(column.div_ceil(width.as_nanos())).unwrap_or(usize::MAX).max(1);
        let sum = |some: &[Bucket]| some.iter().map(|bucket| u64::from(bucket.lost())).sum();
        let sums: Vec<u64> = measured.tally.buckets.chunks(together).map(sum).collect();
        let per = width.as_nanos() * together as u128;
        let at = |place: usize| usize::try_from((column * place as u128 + column / 2) / per).unwrap_or(usize::MAX);
        let lost: Vec<u64> = (0..WIDTH).map(|place| sums.get(at(place)).copied().unwrap_or(0)).collect();
        let most = sums.into_iter().max().unwrap_or(0).max(1);
        let _ = writeln!(text, "lost per {} s", together as f64 * width.as_secs_f64());
        for row in (1..=HEIGHT).rev() {
            let label = if row == HEIGHT { most.to_string() } else { String::new() };
            // A single lost request is a bar too.
            let bar = |count: &u64| if *count > 0 && count * HEIGHT > (row - 1) * most { '#' } else { ' ' };
            let bars: String = lost.iter().map(bar).collect();
            let _ = writeln!(text, "{}", format!("{label:>9} |{bars}").trim_end());
        }
    }

    /// The axis and its labels; 0 is where moments are counted from.
    fn axis(&self, text: &mut String, measured: &Measured) {
        let seconds = self.length.as_secs();
        let step = STEPS.into_iter().find(|step| seconds / step < MOST_MARKS).unwrap_or(seconds.max(1));
        let mut line = vec!['-'; WIDTH];
        let mut labels = vec![' '; LEFT + WIDTH + 8];
        for mark in 0..=seconds / step {
            let at = measured.zero + Duration::from_secs(mark * step);
            if at >= self.length {
                break;
            }
            let column = self.column(at).min(WIDTH - 1);
            line[column] = '+';
            for (place, letter) in labels.iter_mut().skip(LEFT + column).zip(format!("{}s", mark * step).chars()) {
                *place = letter;
            }
        }
        let line: String = line.into_iter().collect();
        let labels: String = labels.into_iter().collect();
        let _ = writeln!(text, "{:LEFT$}{line}\n{}", "", labels.trim_end());
    }

    /// Stretches one after the other, each with its label where there is room for it.
    fn lane(&self, text: &mut String, name: &str, spans: &[Span]) {
        let mut lane = vec![' '; WIDTH];
        for (number, span) in spans.iter().enumerate() {
            let from = self.column(span.from).min(WIDTH - 1);
            let to = spans.get(number + 1).map_or(WIDTH, |next| self.column(next.from)).max(from + 1).min(WIDTH);
            let Some(cells) = lane.get_mut(from..to) else { continue };
            cells.fill(span.fill);
            if let Some(first) = cells.first_mut().filter(|_| number > 0 || span.fill == '=') {
                *first = '|';
            }
            if span.label.len() + 2 <= cells.len() {
                for (cell, letter) in cells.iter_mut().skip(1).zip(span.label.chars()) {
                    *cell = letter;
                }
            }
        }
        let lane: String = lane.into_iter().collect();
        let _ = writeln!(text, "{}", format!("{name:<LEFT$}{lane}").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::sample;

    #[test]
    fn losses_stand_over_what_happened_meanwhile() {
        let drawn = draw(&sample());
        assert!(drawn.is_ascii() && drawn.lines().all(|line| line.len() <= 80 && line == line.trim_end()), "{drawn}");
        for line in [
            "lost per 0.25 s\n        3 |                                 ##\n",
            "deploy                  |deploy====",
            "phase      _serving____",
            "readiness  _200",
        ] {
            assert!(drawn.contains(line), "{line}: {drawn}");
        }
    }

    #[test]
    fn a_short_run_has_no_gaps_between_its_buckets() {
        let mut sample = sample();
        let (kind, reused) = (crate::probe::schedule::Kind { target: 0, kept_alive: false, slow: false }, false);
        sample.tally = crate::probe::tally::Tally::new(1);
        sample.length = Duration::from_secs(2);
        for number in 0..100 {
            let due = Duration::from_millis(20) * number;
            let verdict = crate::probe::outcome::Verdict::Sent(crate::probe::outcome::Class::Reset, "reset".to_owned());
            sample.tally.count(&crate::probe::tally::Done { kind, due, sent: due, ended: due, reused, verdict });
        }
        let bottom = format!("|{}\n", "#".repeat(WIDTH));
        let drawn = draw(&sample);
        assert!(drawn.contains("lost per 0.125 s") && drawn.contains(&bottom), "{drawn}");
    }

    #[test]
    fn lanes_of_several_pages_are_told_apart_and_silence_is_told() {
        let mut sample = sample();
        sample.readiness.push(("http://other/readyz".to_owned(), Duration::ZERO, None));
        let drawn = draw(&sample);
        assert!(drawn.contains("ready 1    _200") && drawn.contains("ready 2     no answer"), "{drawn}");
    }

    #[test]
    fn nothing_lost_is_no_bars() {
        let mut sample = sample();
        sample.tally = crate::probe::tally::Tally::new(1);
        assert!(!draw(&sample).contains('#'));
        sample.length = Duration::ZERO;
        assert_eq!(draw(&sample), "");
    }
}
