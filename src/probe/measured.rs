//! All that a run has found: what every report is made of.

use super::outcome::Class;
use super::tally::Tally;
use crate::core::Phase;
use std::time::{Duration, SystemTime};

/// Our own lateness beyond which a run is no measure: the timeline is read to the tenth of a second.
pub const MOST_LATENESS: Duration = Duration::from_millis(100);

/// How many lines of a deploy command are kept.
pub const MOST_LINES: usize = 200;

/// A run. All moments are counted from the start of the load; [`Self::zero`] is where reports begin to
/// count.
#[derive(Debug)]
pub struct Measured {
    /// The URLs that were asked.
    pub urls: Vec<String>,
    /// Requests per second.
    pub rate: f64,
    /// How many lost requests are too few to fail.
    pub max_lost: u64,
    /// The time of day when the load began.
    pub began: SystemTime,
    /// The start of the deploy command, or of the load where there is none.
    pub zero: Duration,
    /// How long requests were sent.
    pub length: Duration,
    /// What became of them.
    pub tally: Tally,
    /// Each change of a readiness page: which URL, when, its status.
    pub readiness: Vec<(String, Duration, Option<u16>)>,
    /// Each change of a lameduck's phase: which URL, when, the phase. None when it does not answer.
    pub phases: Vec<(String, Duration, Option<Phase>)>,
    /// The deploy command, if there was one.
    pub deploy: Option<Deploy>,
    /// Whether it was ended from outside.
    pub interrupted: bool,
    /// Requests that were still on their way when their end was waited for no more: in no class.
    pub unfinished: u64,
}

/// A deploy command.
#[derive(Debug)]
pub struct Deploy {
    /// Its words.
    pub command: String,
    /// How it ended; none when it still ran at the end.
    pub code: Option<i32>,
    /// How long it ran.
    pub took: Duration,
    /// What it said, and when; at most [`MOST_LINES`].
    pub lines: Vec<(Duration, String)>,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Result {
    /// At most `--max-lost` were lost.
    Kept,
    /// More were lost.
    Lost,
    /// The run says nothing of the target, for these reasons.
    NoMeasure(Vec<String>),
}

// === impl Measured ===

impl Measured {
    /// What the run comes to. When it is no measure, the number of the lost is none either.
    #[must_use]
    pub fn result(&self) -> Result {
        let mut reasons = Vec::new();
        let late = Duration::from_micros(self.tally.lateness.value_at_quantile(0.99));
        if self.tally.all().sent() == 0 {
            let what = if self.unfinished > 0 { "no request had come to its end" } else { "no request was sent" };
            reasons.push(what.to_owned());
        } else if late > MOST_LATENESS {
            reasons.push(format!(
                "1 % of the requests went out {:.1} s or more too late: this machine is too busy for {} a second",
                late.as_secs_f64(),
                self.rate
            ));
        }
        if self.tally.not_sent > 0 {
            let why = self.tally.why_not_sent.as_deref().unwrap_or_default();
            reasons.push(format!("{} requests could not be sent from here: {why}", self.tally.not_sent));
        }
        if reasons.is_empty() && self.tally.all().lost() > self.max_lost {
            return Result::Lost;
        }
        match &self.deploy {
            Some(Deploy { code: Some(0), .. }) | None => {}
            Some(Deploy { code: Some(code), .. }) => {
                reasons.push(format!("the deploy command failed with status {code}"));
            }
            Some(Deploy { code: None, .. }) => {
                reasons.push("it was ended before the deploy command was done".to_owned());
            }
        }
        if reasons.is_empty() { Result::Kept } else { Result::NoMeasure(reasons) }
    }

    /// Seconds from where reports count; negative before the deploy began.
    #[must_use]
    pub fn seconds(&self, at: Duration) -> f64 {
        at.as_secs_f64() - self.zero.as_secs_f64()
    }

    /// The moment of the first stop signal that a lameduck told of.
    #[must_use]
    pub fn stop(&self) -> Option<Duration> {
        let lame = self.phases.iter().filter(|(_, _, phase)| phase.is_some_and(|phase| phase > Phase::Serving));
        lame.map(|(_, at, _)| *at).min()
    }

    /// The phases at a moment, of each lameduck that answered.
    #[must_use]
    pub fn phases_at(&self, at: Duration) -> Vec<&'static str> {
        let of = |source| {
            let mut latest = self.phases.iter().rev().filter(|(url, since, _)| url == source && *since <= at);
            latest.next().and_then(|(_, _, phase)| phase.map(Phase::name))
        };
        self.sources().into_iter().filter_map(of).collect()
    }

    /// The lameducks that were asked.
    #[must_use]
    pub fn sources(&self) -> Vec<&str> {
        distinct(self.phases.iter().map(|(url, ..)| url.as_str()))
    }

    /// The classes in which something was lost, and how many.
    #[must_use]
    pub fn lost(&self) -> Vec<(Class, u64)> {
        let all = self.tally.all();
        let lost = Class::ALL.into_iter().filter(|class| class.is_lost());
        lost.map(|class| (class, all.of(class))).filter(|(_, count)| *count > 0).collect()
    }
}

// === impl Result ===

impl Result {
    /// The exit status.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Kept => 0,
            Self::Lost => 1,
            Self::NoMeasure(_) => 2,
        }
    }
}

/// The different ones, in their order.
pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    all.fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::probe::outcome::Verdict;
    use crate::probe::schedule::Kind;
    use crate::probe::tally::Done;

    pub(in crate::probe) fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// Ten seconds with a deploy from 2 s to 8 s, a stop at 3 s, and three requests lost in its drain.
    pub(in crate::probe) fn sample() -> Measured {
        let mut tally = Tally::new(1);
        for number in 0..100_u32 {
            let due = secs(0.1) * number;
            let lost = (50..53).contains(&number);
            let class = if lost { Class::Refused } else { Class::Ok };
            let words = if lost { "Connection refused" } else { "" };
            let kind = Kind { target: 0, kept_alive: false, slow: false };
            let ended = due + secs(0.001);
            let verdict = Verdict::Sent(class, words.to_owned());
            tally.count(&Done { kind, due, sent: due, ended, reused: false, verdict });
        }
        let url = |path: &str| format!("http://h:8081/{path}");
        let phase = |at: f64, phase: Option<Phase>| (url("status"), secs(at), phase);
        Measured {
            urls: vec!["http://h/".to_owned()],
            rate: 10.0,
            max_lost: 0,
            began: SystemTime::UNIX_EPOCH,
            zero: secs(2.0),
            length: secs(10.0),
            tally,
            readiness: vec![(url("readyz"), secs(0.0), Some(200)), (url("readyz"), secs(3.1), Some(503))],
            phases: vec![
                phase(0.0, Some(Phase::Serving)),
                phase(3.0, Some(Phase::LameDuck)),
                phase(5.0, Some(Phase::Draining)),
                phase(7.0, None),
            ],
            deploy: Some(Deploy {
                command: "./deploy web".to_owned(),
                code: Some(0),
                took: secs(6.0),
                lines: vec![(secs(2.9), "stopping <web-1>".to_owned())],
            }),
            interrupted: false,
            unfinished: 0,
        }
    }

    #[test]
    fn the_status_is_0_1_or_2() {
        assert_eq!(sample().result().code(), 1);
        assert_eq!(Measured { max_lost: 2, ..sample() }.result().code(), 1);
        assert_eq!(Measured { max_lost: 3, ..sample() }.result().code(), 0);
        assert_eq!(Measured { tally: Tally::new(1), ..sample() }.result().code(), 2);
        let with_code = |code, max_lost| {
            let mut sample = Measured { max_lost, ..sample() };
            sample.deploy.as_mut().unwrap().code = code;
            sample.result().code()
        };
        // A lost request says more than a deploy that failed.
        assert_eq!([with_code(Some(1), 3), with_code(None, 3), with_code(Some(1), 0)], [2, 2, 1]);
        let mut short = Measured { max_lost: 3, ..sample() };
        short.tally.not_sent("no sockets");
        assert_eq!(
            short.result(),
            Result::NoMeasure(vec!["1 requests could not be sent from here: no sockets".to_owned()])
        );
    }

    #[test]
    fn own_lateness_of_more_than_a_tenth_of_a_second_is_no_measure() {
        for (late, code) in [(90_000, 0), (110_000, 2)] {
            let mut sample = Measured { max_lost: 3, ..sample() };
            for _ in 0..100 {
                sample.tally.lateness.record(late).unwrap();
            }
            assert_eq!(sample.result().code(), code, "{late} us");
        }
    }

    #[test]
    fn moments_are_told_from_the_deploy_the_stop_and_the_phase() {
        let sample = sample();
        let (first, last) = sample.tally.first_and_last.unwrap();
        let close = |value: f64, to: f64| (value - to).abs() < 0.01;
        assert!(close(sample.seconds(first), 3.0) && close(sample.seconds(last), 3.2));
        assert_eq!(sample.stop(), Some(secs(3.0)));
        assert_eq!(
            [1.0, 4.0, 6.0, 9.0].map(|at| sample.phases_at(secs(at)).concat()),
            ["serving", "lame-duck", "draining", ""]
        );
        assert_eq!(sample.lost(), [(Class::Refused, 3)]);
    }
}
