//! What reports of real stops say about the delay: when the last request came in each, how far they lie
//! apart, and how sure that makes the next one.
//!
//! Nothing is assumed of how such times are distributed. The one thing that follows without it: of `n + 1`
//! stops of the same kind the latest is equally likely each of them, so the next one is later than the `n`
//! seen with a chance of 1 in `n + 1`.

use crate::check::source::{self, Problem, Source, Sources};
use crate::check::tree::{self, Node};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// What was seen in all reports.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The stops.
    pub stops: Vec<Stop>,
}

/// One stop.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The file that tells of it.
    pub file: String,
    /// Its line there, from 1.
    pub line: usize,
    /// What it says about the delay, or why it says nothing.
    pub last: Result<Last, String>,
    /// How long the drain took, when there was one.
    pub drain: Option<Duration>,
    /// Whether it ended in SIGKILL.
    pub killed: bool,
}

/// When the last request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// After the stop signal.
    pub at: Duration,
    /// How long the delay was.
    pub delay: Duration,
    /// Whether requests were still arriving when it ended: the last one is not known then.
    pub cut: bool,
    /// Whether only connections were seen, no requests.
    pub connections_only: bool,
}

/// How sure a recommendation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// Not: the end was not seen.
    No,
    /// From fewer than 5 stops.
    Little,
    /// From fewer than 20.
    Fairly,
    /// From 20 and more.
    Well,
}

/// What is recommended because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// How many stops count.
    pub stops: usize,
    /// The earliest last request.
    pub earliest: Duration,
    /// The latest.
    pub latest: Duration,
    /// In so many the end was not seen.
    pub cut: usize,
    /// What is added to the latest.
    pub spare: Duration,
    /// The delay.
    pub delay: Duration,
    /// How sure that is.
    pub sure: Sure,
}

/// A last request so shortly before the end of the delay was hardly the last.
const STILL_ARRIVING: Duration = Duration::from_secs(1);

/// Reads reports; each file holds one, or one a line.
#[must_use]
pub fn read(files: &[PathBuf], problems: &mut Vec<Problem>) -> Seen {
    let mut seen = Seen::default();
    for path in files {
        match source::read(path) {
            Ok(source) => read_one(source, &mut seen, problems),
            Err(problem) => problems.push(problem),
        }
    }
    seen
}

fn read_one(source: Source, seen: &mut Seen, problems: &mut Vec<Problem>) {
    let mut sources = Sources::default();
    let file = sources.add(source);
    let source = sources.get(file);
    let lines: Vec<(usize, &str)> =
        source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
    let by_line = lines.len() > 1
        && lines.iter().all(|(_, line)| line.trim_start().starts_with('{') && line.trim_end().ends_with('}'));
    let texts = if by_line { lines } else { vec![(0, source.text.as_str())] };
    for (line, text) in texts {
        let problem = |at: usize, message: String| Problem { file: source.name.clone(), line: Some(at), message };
        match tree::parse(file, text) {
            Ok(documents) => {
                for document in documents {
                    match stop(&source.name, line + 1, &document) {
                        Ok(stop) => seen.stops.push(stop),
                        Err(why) => problems.push(problem(line + 1, why)),
                    }
                }
            }
            Err(wrong) => {
                let own = Source::new(source.name.clone(), text.to_owned());
                problems.push(problem(line + own.position(wrong.at).0, wrong.message));
            }
        }
    }
}

fn stop(file: &str, line: usize, report: &Rc<Node>) -> Result<Stop, String> {
    let Some(outcome) = report.get("outcome").and_then(|outcome| outcome.text()) else {
        return Err("not a report of lameduck: it has no outcome".to_owned());
    };
    match report.get("schema").map(|schema| schema.number()) {
        Some(Ok(1)) => {}
        Some(Ok(other)) => return Err(format!("a report of schema {other}: this reads schema 1")),
        _ => return Err("not a report of lameduck: it has no schema".to_owned()),
    }
    let phase = |name: &str| {
        let phases = report.get("phases")?;
        let phase =
            phases.items().iter().find(|phase| phase.get("phase").and_then(|name| name.text()) == Some(name))?;
        seconds(phase, "seconds")
    };
    Ok(Stop {
        file: file.to_owned(),
        line,
        last: last(outcome, report, phase("lame-duck")),
        drain: phase("draining").filter(|_| outcome == "exited"),
        killed: outcome == "killed",
    })
}

fn last(outcome: &str, report: &Rc<Node>, delay: Option<Duration>) -> Result<Last, String> {
    match outcome {
        "died-in-delay" => return Err("the server ended by itself during the delay".to_owned()),
        "not-started" => return Err("the server was never started".to_owned()),
        _ => {}
    }
    let text = |node: &Rc<Node>, key: &str| node.get(key).and_then(|value| value.text()).unwrap_or_default().to_owned();
    if report.get("signal").is_none_or(|signal| signal.is_null()) {
        return Err("the server ended by itself: there was no stop signal".to_owned());
    }
    let Some(traffic) = report.get("traffic").filter(|traffic| !traffic.is_null()) else {
        return Err("the traffic was not watched".to_owned());
    };
    match text(traffic, "ended").as_str() {
        "hurried" => return Err("a second stop signal ended the delay".to_owned()),
        "died" => return Err("the server ended by itself during the delay".to_owned()),
        _ => {}
    }
    let Some(delay) = delay.filter(|delay| !delay.is_zero()) else { return Err("there was no delay".to_owned()) };
    let (request, connection) = (seconds(traffic, "last_request_s"), seconds(traffic, "last_connection_s"));
    let connections_only = text(traffic, "source") == "proc";
    let at = if connections_only { connection } else { request.max(connection) };
    let planned = text(traffic, "ended") == "delay";
    let cut = at.is_some_and(|at| planned && delay.saturating_sub(at) < STILL_ARRIVING);
    // What was seen last is not what came last then, unless it is late already.
    if !cut && seconds(traffic, "margin_s").is_none() && (request.is_some() || is_shared(traffic)) {
        return Err("later requests may have come unseen".to_owned());
    }
    let at = at.ok_or_else(|| "no traffic was seen".to_owned())?;
    Ok(Last { at, delay, cut, connections_only })
}

/// Whether others shared the network namespace, and it accepted anything.
fn is_shared(traffic: &Rc<Node>) -> bool {
    traffic.get("namespace_opens").is_some_and(|opens| opens.number().is_ok_and(|opens| opens > 0))
}

fn seconds(node: &Rc<Node>, key: &str) -> Option<Duration> {
    let number: f64 = node.get(key)?.text()?.parse().ok()?;
    Duration::try_from_secs_f64(number).ok().filter(|seconds| *seconds <= crate::core::duration::MAX)
}

/// Up to whole seconds.
#[must_use]
pub fn whole(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs() + u64::from(duration.subsec_nanos() > 0))
}

// === impl Seen ===

impl Seen {
    /// What the stops come to; nothing when none of them says anything.
    #[must_use]
    pub fn judge(&self) -> Option<Judged> {
        let lasts: Vec<Last> = self.stops.iter().filter_map(|stop| stop.last.clone().ok()).collect();
        let earliest = lasts.iter().map(|last| last.at).min()?;
        let latest = lasts.iter().map(|last| last.at).max()?;
        let cut = lasts.iter().filter(|last| last.cut).count();
        // Half of what they differ by, but a few stops differ by chance.
        let least = Duration::from_secs(if lasts.len() < 5 { 5 } else { 2 });
        let spare = (latest.saturating_sub(earliest) / 2).max(least);
        let longest = lasts.iter().filter(|last| last.cut).map(|last| last.delay).max().unwrap_or_default();
        let sure = match lasts.len() {
            _ if cut > 0 => Sure::No,
            0..5 => Sure::Little,
            5..20 => Sure::Fairly,
            _ => Sure::Well,
        };
        let delay = whole((latest + spare).max(longest * 3 / 2));
        Some(Judged { stops: lasts.len(), earliest, latest, cut, spare, delay, sure })
    }

    /// The longest drain that ended by itself, and how many did.
    #[must_use]
    pub fn longest_drain(&self) -> Option<(Duration, usize)> {
        let drains = || self.stops.iter().filter_map(|stop| stop.drain);
        drains().max().map(|longest| (longest, drains().count()))
    }

    /// How many stops ended in SIGKILL.
    #[must_use]
    pub fn killed(&self) -> usize {
        self.stops.iter().filter(|stop| stop.killed).count()
    }
}

// === impl Judged ===

impl Judged {
    /// What was seen, and how sure it is, in words.
    #[must_use]
    pub fn told(&self) -> String {
        let seconds = |duration: Duration| format!("{:.1}", duration.as_secs_f64());
        let seen = match self.stops {
            1 => format!("in the one stop that was seen the last request came after {} s", seconds(self.latest)),
            stops => format!(
                "in {stops} stops the last request came after {} to {} s",
                seconds(self.earliest),
                seconds(self.latest)
            ),
        };
        match self.sure {
            Sure::No => format!(
                "{seen}, and in {} of them requests were still arriving when the delay ended: deploy with this and look again",
                self.cut
            ),
            _ => format!("{seen}; {} s more for those to come", seconds(self.spare)),
        }
    }

    /// How sure it is.
    #[must_use]
    pub fn how_sure(&self) -> String {
        match self.sure {
            Sure::No => "not at all: the end was not seen".to_owned(),
            Sure::Little => format!("little: from {} only; five are few, twenty are good", stops(self.stops)),
            Sure::Fairly => {
                format!("fairly: {}; the next is later than all of them once in {}", stops(self.stops), self.stops + 1)
            }
            Sure::Well => {
                format!("well: {}; the next is later than all of them once in {}", stops(self.stops), self.stops + 1)
            }
        }
    }
}

fn stops(count: usize) -> String {
    format!("{count} stop{}", if count == 1 { "" } else { "s" })
}

// === impl Sure ===

impl Sure {
    /// Its word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Little => "little",
            Self::Fairly => "fairly",
            Self::Well => "well",
        }
    }
}

#[cfg(test)]
#[path = "seen_tests.rs"]
mod tests;
