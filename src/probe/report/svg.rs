//! The picture of a run, as SVG: lanes for what happened, bars for what was lost, and one line for each
//! lost request from when it was sent to when it was lost.

use super::super::measured::{Measured, distinct};
use super::super::outcome::Class;
use super::super::tally::Bucket;
use super::html::escaped;
use crate::core::Phase;
use std::fmt::Write as _;
use std::time::Duration;

/// The drawing, in its own units.
const WIDTH: f64 = 1_080.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 16.0;
const LANE: f64 = 24.0;
const GAP: f64 = 7.0;
const BARS: f64 = 170.0;
const STRIP_ROWS: usize = 14;
const STRIP_ROW: f64 = 6.0;

/// The most bars that can be told apart.
const MOST_BARS: usize = 240;

/// The fewest requests that a bar is for: of fewer, one more or less looks like a change of the rate.
const LEAST_A_BAR: f64 = 20.0;

/// The fewest bars, if a run is long enough for so many buckets.
const LEAST_BARS: usize = 16;

/// The most moments that are drawn as lines: more of them would hide what is behind.
const MOST_MOMENTS: usize = 60;

/// Distances between the marks of the axis, in seconds.
const STEPS: [f64; 16] =
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 86_400.0];

/// A stretch of a lane.
struct Span {
    from: Duration,
    colour: &'static str,
    label: String,
}

/// A drawing in the making.
struct Picture<'a> {
    measured: &'a Measured,
    length: f64,
    y: f64,
    out: String,
}

/// The colour of a class: to be seen on white and on black.
pub(super) const fn colour(class: Class) -> &'static str {
    match class {
        // Paler than the others, on white and on black.
        Class::Ok => "var(--sent)",
        Class::Refused => "#c0392b",
        Class::Reset => "#e67e22",
        Class::NoAnswer => "#9b59b6",
        Class::CutBody => "#d81b60",
        Class::Timeout => "#8d6e63",
        Class::ProxyError => "#f0504c",
        Class::AppError => "#b8860b",
        Class::Tls => "#00979f",
        Class::Dns => "#5f7d8c",
    }
}

/// Draws it.
pub(super) fn draw(measured: &Measured) -> String {
    let buckets = u32::try_from(measured.tally.buckets.len()).unwrap_or(u32::MAX);
    let length = (measured.tally.width * buckets).max(measured.length).as_secs_f64().max(0.001);
    let mut picture = Picture { measured, length, y: 4.0, out: String::new() };
    picture.lanes();
    picture.legend();
    let top = picture.y;
    picture.bars();
    if !measured.tally.losses.is_empty() {
        picture.strip();
    }
    picture.axis(top);
    let height = picture.y + 8.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         aria-label=\"requests sent and lost over time\">\n{}</svg>\n",
        picture.out
    )
}

/// A number of bars or rows, as a length.
fn units(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// What a lane shows; with its host where there are several.
fn lane_name(what: &str, url: &str, several: usize) -> String {
    let host = url.split('/').nth(2).unwrap_or(url);
    if several < 2 { what.to_owned() } else { host.to_owned() }
}

fn phase_span(from: Duration, phase: Option<Phase>) -> Span {
    let colour = match phase {
        None | Some(Phase::Gone) => "none",
        Some(Phase::Starting) => "#e3e7eb",
        Some(Phase::Serving) => "#cfe8d5",
        Some(Phase::LameDuck) => "#fde3a7",
        Some(Phase::Draining) => "#f8c291",
        Some(Phase::Killing) => "#e77f67",
        Some(Phase::Sweeping) => "#d6c5e0",
    };
    Span { from, colour, label: phase.map_or("no answer", |phase| phase.name()).to_owned() }
}

fn readiness_span(from: Duration, status: Option<u16>) -> Span {
    let (colour, label) = match status {
        None => ("#eceff1", "no answer".to_owned()),
        Some(status @ 200..=399) => ("#cfe8d5", format!("{status} ready")),
        Some(status) => ("#fde3a7", format!("{status} not ready")),
    };
    Span { from, colour, label }
}

// === impl Picture ===

impl Picture<'_> {
    fn x(&self, at: Duration) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (at.as_secs_f64() / self.length).min(1.0)
    }

    fn text(&mut self, x: f64, y: f64, more: &str, text: &str) {
        let _ = writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{more}>{}</text>", escaped(text));
    }

    fn lanes(&mut self) {
        let measured = self.measured;
        if let Some(deploy) = &measured.deploy {
            let end = measured.zero + deploy.took;
            let label = format!("deploy: {}", deploy.command);
            self.lane(
                "deploy",
                &[
                    Span { from: measured.zero, colour: "#bcd4f0", label },
                    Span { from: end, colour: "none", label: String::new() },
                ],
            );
            let bottom = self.y - GAP;
            for (at, line) in &deploy.lines {
                let x = self.x(*at);
                let _ = writeln!(
                    self.out,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"3\" height=\"5\" fill=\"#2f6db5\"><title>{}</title></rect>",
                    x - 1.5,
                    bottom - 5.0,
                    escaped(line)
                );
            }
        }
        for source in measured.sources() {
            let own = measured.phases.iter().filter(|(url, ..)| url == source);
            let spans: Vec<Span> = own.map(|(_, at, phase)| phase_span(*at, *phase)).collect();
            self.lane(&lane_name("phase", source, measured.sources().len()), &spans);
        }
        let pages = distinct(measured.readiness.iter().map(|(url, ..)| url.as_str()));
        for url in &pages {
            let own = measured.readiness.iter().filter(|(known, ..)| known == url);
            let spans: Vec<Span> = own.map(|(_, at, status)| readiness_span(*at, *status)).collect();
            self.lane(&lane_name("readiness", url, pages.len()), &spans);
        }
    }

    /// Stretches one after the other, each with its label where there is room for it.
    fn lane(&mut self, name: &str, spans: &[Span]) {
        let y = self.y;
        self.text(LEFT - 8.0, y + 16.0, " class=\"name\"", name);
        for (number, span) in spans.iter().enumerate() {
            let from = self.x(span.from);
            let to = spans.get(number + 1).map_or(WIDTH - RIGHT, |next| self.x(next.from));
            let width = (to - from).max(1.0);
            if span.colour == "none" {
                continue;
            }
            let _ = writeln!(
                self.out,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{LANE}\" fill=\"{}\" class=\"lane\">\
                 <title>{}</title></rect>",
                span.colour,
                escaped(&span.label)
            );
            // A letter is about 6.6 wide.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of letters")]
            let room = ((width - 10.0).max(0.0) / 6.6) as usize;
            if room >= 4 {
                let long = span.label.chars().count() > room;
                let mut label: String = span.label.chars().take(if long { room - 1 } else { room }).collect();
                if long {
                    label.push('…');
                }
                self.text(from + 5.0, y + 15.0, " class=\"in\"", &label);
            }
        }
        self.y += LANE + GAP;
    }

    /// What the colours say: those of the bars, and those of a stop's phases, which are often too short
    /// for their names.
    fn legend(&mut self) {
        let lost = self.measured.lost().into_iter();
        let lost = lost.map(|(class, count)| (colour(class), format!("lost: {} {count}", class.name())));
        let mut phases: Vec<Phase> = self.measured.phases.iter().filter_map(|(_, _, phase)| *phase).collect();
        phases.retain(|phase| *phase > Phase::Serving && *phase < Phase::Gone);
        phases.sort_unstable();
        phases.dedup();
        let phases = phases.into_iter().map(|phase| phase_span(Duration::ZERO, Some(phase)));
        let all = std::iter::once((colour(Class::Ok), "sent".to_owned())).chain(lost);
        let all: Vec<(&str, String)> = all.chain(phases.map(|span| (span.colour, span.label))).collect();
        let (mut x, y) = (LEFT, self.y + 6.0);
        for (colour, label) in all {
            let _ =
                writeln!(self.out, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"11\" height=\"11\" fill=\"{colour}\"/>");
            self.text(x + 16.0, y + 10.0, "", &label);
            x += 36.0 + 6.8 * f64::from(u32::try_from(label.len()).unwrap_or(0));
        }
        self.y = y + 16.0;
    }

    /// How many buckets a bar is for: enough requests, and as many in each, but never too few bars.
    fn buckets_a_bar(&self) -> usize {
        let tally = &self.measured.tally;
        let each = |buckets: usize| self.measured.rate * tally.width.as_secs_f64() * units(buckets);
        let room: Vec<usize> =
            (0..7).map(|power| 1 << power).filter(|some| some * LEAST_BARS <= tally.buckets.len()).collect();
        let enough = || room.iter().copied().filter(|some| each(*some) >= LEAST_A_BAR);
        let best = enough().find(|some| each(*some).fract() < 1e-6).or_else(|| enough().next());
        let fewest = tally.buckets.len().div_ceil(MOST_BARS);
        best.or(room.last().copied()).unwrap_or(1).max(fewest)
    }

    /// Requests per second: what was sent as a pale ground, what was lost before it.
    fn bars(&mut self) {
        let tally = &self.measured.tally;
        let together = self.buckets_a_bar();
        let bars: Vec<Bucket> = tally
            .buckets
            .chunks(together)
            .map(|some| some.iter().copied().fold(Bucket::default(), Bucket::with))
            .collect();
        let step = tally.width.as_secs_f64() * f64::from(u32::try_from(together).unwrap_or(u32::MAX));
        let most = bars.iter().map(|bar| bar.sent.max(bar.lost())).max().unwrap_or(0).max(1);
        let bottom = self.y + 14.0 + BARS;
        let height = |count: u32| BARS * f64::from(count) / f64::from(most);
        let asked = bottom - BARS * (self.measured.rate * step / f64::from(most)).min(1.0);
        self.text(LEFT - 8.0, asked + 4.0, " class=\"name\"", &format!("{} per second", self.measured.rate));
        self.text(LEFT - 8.0, bottom, " class=\"name\"", "0");
        let width = ((WIDTH - LEFT - RIGHT) * step / self.length).max(1.0);
        for (number, bar) in bars.iter().enumerate() {
            let from = step * units(number);
            let x = self.x(Duration::from_secs_f64(from));
            // The load ends within the last bar: that one is narrower, not lower.
            let part = ((self.measured.length.as_secs_f64() - from) / step).clamp(0.05, 1.0);
            let sent = (height(bar.sent) / part).min(BARS);
            let mut rects = format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{sent:.1}\" fill=\"{}\"/>",
                bottom - sent,
                (width * part).max(0.5) - 0.3,
                colour(Class::Ok)
            );
            let mut base = bottom;
            for class in Class::ALL.into_iter().filter(|class| bar.lost[class.index()] > 0) {
                // One lost request among thousands is still to be seen.
                let high = height(bar.lost[class.index()]).max(2.5);
                base -= high;
                let _ = write!(
                    rects,
                    "<rect x=\"{x:.1}\" y=\"{base:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{}\"><title>{} {}\
                     </title></rect>",
                    width.max(1.5) - 0.3,
                    colour(class),
                    bar.lost[class.index()],
                    class.name()
                );
            }
            let _ = writeln!(self.out, "{rects}");
        }
        self.y = bottom + GAP;
    }

    /// Each lost request: a line from when it was sent to when it was lost, with a dot there.
    fn strip(&mut self) {
        let top = self.y + 8.0;
        self.text(LEFT - 8.0, top + 12.0, " class=\"name\"", "each lost request:");
        self.text(LEFT - 8.0, top + 27.0, " class=\"name\"", "sent —● lost");
        for (number, loss) in self.measured.tally.losses.iter().enumerate() {
            let y = top + 4.0 + STRIP_ROW * units(number % STRIP_ROWS);
            let (from, to, colour) = (self.x(loss.due), self.x(loss.lost), colour(loss.class));
            let _ = writeln!(
                self.out,
                "<g><title>sent at {:.2} s, lost at {:.2} s: {}, {}</title><line x1=\"{from:.1}\" y1=\"{y:.1}\" \
                 x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\"/><circle cx=\"{to:.1}\" cy=\"{y:.1}\" r=\"2.2\" \
                 fill=\"{colour}\"/></g>",
                self.measured.seconds(loss.due),
                self.measured.seconds(loss.lost),
                loss.class.name(),
                escaped(&loss.words)
            );
        }
        self.y = top + STRIP_ROW * units(STRIP_ROWS) + GAP;
    }

    /// The axis below, and the moments that matter as lines through everything.
    fn axis(&mut self, top: f64) {
        let bottom = self.y + 2.0;
        let step = STEPS.into_iter().find(|step| self.length / step <= 16.0).unwrap_or(self.length);
        let _ = writeln!(
            self.out,
            "<line x1=\"{LEFT}\" y1=\"{bottom:.1}\" x2=\"{:.1}\" y2=\"{bottom:.1}\" class=\"axis\"/>",
            WIDTH - RIGHT
        );
        let zero = self.measured.zero.as_secs_f64();
        // Not "-0".
        let mut mark = 0.0 - (zero / step).floor() * step;
        while mark + zero <= self.length {
            let x = self.x(Duration::from_secs_f64((mark + zero).max(0.0)));
            let _ = writeln!(
                self.out,
                "<line x1=\"{x:.1}\" y1=\"{bottom:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" class=\"axis\"/>",
                bottom + 5.0
            );
            self.text(x, bottom + 18.0, " class=\"mark\"", &format!("{mark} s"));
            mark += step;
        }
        let mut moments: Vec<(Duration, &str)> = Vec::new();
        if let Some(deploy) = &self.measured.deploy {
            moments.extend([(self.measured.zero, "blue"), (self.measured.zero + deploy.took, "blue")]);
        }
        let changes =
            self.measured.phases.iter().filter(|(_, _, phase)| phase.is_none_or(|phase| phase > Phase::Serving));
        let changes: Vec<_> = changes.map(|(_, at, _)| (*at, "amber")).collect();
        if changes.len() <= MOST_MOMENTS {
            moments.extend(changes);
        }
        for (at, class) in moments {
            let x = self.x(at);
            let _ = writeln!(
                self.out,
                "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" class=\"moment {class}\"/>"
            );
        }
        let from = if self.measured.deploy.is_some() {
            "seconds since the deploy command began"
        } else {
            "seconds since the load began"
        };
        self.text(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 36.0, " class=\"mark\"", from);
        self.y = bottom + 40.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::sample;

    #[test]
    fn the_colours_of_the_phases_are_named_however_short_they_are() {
        let mut sample = sample();
        sample.phases.clear();
        assert!(!draw(&sample).contains("lame-duck"));
        let phases = [Phase::Serving, Phase::LameDuck, Phase::Draining];
        let at = |number: u64| Duration::from_millis(number);
        sample.phases =
            (0..).zip(phases).map(|(number, phase)| ("http://a/status".to_owned(), at(number), Some(phase))).collect();
        let picture = draw(&sample);
        for (colour, name) in [("#fde3a7", "lame-duck"), ("#f8c291", "draining")] {
            assert!(picture.contains(&format!("height=\"11\" fill=\"{colour}\"/>")), "{picture}");
            assert!(picture.contains(&format!(">{name}</text>")), "{picture}");
        }
    }

    #[test]
    fn lines_for_more_stops_than_can_be_told_apart_are_left_out() {
        let mut sample = sample();
        let stops = |many: u64| {
            (0..many).map(|at| ("http://a/status".to_owned(), Duration::from_secs(at), Some(Phase::LameDuck)))
        };
        sample.phases = stops(3).collect();
        assert_eq!(draw(&sample).matches("moment amber").count(), 3);
        sample.phases = stops(200).collect();
        assert_eq!(draw(&sample).matches("moment amber").count(), 0);
    }

    #[test]
    fn a_steady_rate_is_drawn_as_a_steady_rate() {
        for (rate, seconds, buckets) in [
            (50.0, 12, 4),
            (60.0, 12, 4),
            (300.0, 20, 2),
            (2_000.0, 60, 2),
            (50.0, 1, 1),
            (1.0, 60, 16),
            (50.0, 600, 20),
        ] {
            let mut sample = sample();
            sample.rate = rate;
            sample.tally.buckets = vec![Bucket::default(); seconds * 8];
            let picture = Picture { measured: &sample, length: 1.0, y: 0.0, out: String::new() };
            assert_eq!(picture.buckets_a_bar(), buckets, "{rate} a second for {seconds} s");
        }
    }
}
