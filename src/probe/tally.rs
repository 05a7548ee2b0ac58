//! Counts what became of the requests: pure, and of the same size however long it goes on.

use super::outcome::{Class, Verdict};
use super::schedule::Kind;
use hdrhistogram::Histogram;
use std::time::Duration;

/// How many lost requests are told one by one. More than that nobody reads; all of them are counted.
pub const MOST_LOSSES: usize = 1_000;

/// How many buckets a timeline has before two of them are made one.
const MOST_BUCKETS: usize = 8_192;

/// The width of a bucket at first. A power of two, so that buckets go on filling whole seconds.
const FIRST_WIDTH: Duration = Duration::from_millis(125);

/// The longest latency that is told apart from longer ones, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;

/// One request that has ended. All moments are counted from the start of the load.
#[derive(Clone, Debug)]
pub struct Done {
    /// What it was.
    pub kind: Kind,
    /// When it was due. Its latency counts from here, whenever it really went out.
    pub due: Duration,
    /// When it really went out.
    pub sent: Duration,
    /// When the client knew.
    pub ended: Duration,
    /// On a connection that had been used before.
    pub reused: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// A request that was lost.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The target's place in the list.
    pub target: usize,
    /// Whether it went to the slow path.
    pub slow: bool,
    /// On a connection that had been used before.
    pub reused: bool,
    /// When it was due.
    pub due: Duration,
    /// When it was lost: when the client knew, except for a timeout, which is only where our patience
    /// ends. That one is lost when it is sent.
    pub lost: Duration,
    /// How.
    pub class: Class,
    /// In words.
    pub words: String,
}

/// What happened within a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Requests that were due in it.
    pub sent: u32,
    /// Requests that were lost in it, by class, whenever they were due.
    pub lost: [u32; Class::ALL.len()],
}

/// The counts of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By class.
    pub classes: [u64; Class::ALL.len()],
}

/// All counts of a run.
#[derive(Debug)]
pub struct Tally {
    /// By target, in their order.
    pub targets: Vec<Counts>,
    /// Requests that were never sent, for a reason of our own.
    pub not_sent: u64,
    /// Why the first of them was not.
    pub why_not_sent: Option<String>,
    /// Lost requests on connections that had been used before.
    pub lost_reused: u64,
    /// Buckets of `width` each, from the start of the load on.
    pub buckets: Vec<Bucket>,
    /// The width of a bucket.
    pub width: Duration,
    /// Latencies of the answered requests that did not go to the slow path, in microseconds.
    pub latency: Histogram<u64>,
    /// Those of the slow path.
    pub slow_latency: Histogram<u64>,
    /// How late the requests went out: our own fault, in microseconds.
    pub lateness: Histogram<u64>,
    /// The first lost requests, at most [`MOST_LOSSES`], in the order in which they ended.
    pub losses: Vec<Loss>,
    /// When the first and the last request was lost.
    pub first_and_last: Option<(Duration, Duration)>,
}

// === impl Tally ===

impl Tally {
    /// Nothing yet, for so many targets.
    #[must_use]
    pub fn new(targets: usize) -> Self {
        Self {
            targets: vec![Counts::default(); targets],
            not_sent: 0,
            why_not_sent: None,
            lost_reused: 0,
            buckets: Vec::new(),
            width: FIRST_WIDTH,
            latency: histogram(),
            slow_latency: histogram(),
            lateness: histogram(),
            losses: Vec::new(),
            first_and_last: None,
        }
    }

    /// Counts a request.
    pub fn count(&mut self, done: &Done) {
        record(&mut self.lateness, done.sent.saturating_sub(done.due));
        let (class, words) = match &done.verdict {
            Verdict::NotSent(why) => return self.not_sent(why),
            Verdict::Sent(class, words) => (*class, words),
        };
        if let Some(counts) = self.targets.get_mut(done.kind.target) {
            counts.classes[class.index()] += 1;
        }
        self.bucket(done.due).sent += 1;
        if class.is_lost() {
            self.lose(done, class, words);
        } else {
            let histogram = if done.kind.slow { &mut self.slow_latency } else { &mut self.latency };
            record(histogram, done.ended.saturating_sub(done.due));
        }
    }

    /// Counts a request that could not even be begun.
    pub fn not_sent(&mut self, why: &str) {
        self.not_sent += 1;
        self.why_not_sent.get_or_insert_with(|| why.to_owned());
    }

    /// The counts of all targets together.
    #[must_use]
    pub fn all(&self) -> Counts {
        let mut all = Counts::default();
        for counts in &self.targets {
            for (sum, count) in all.classes.iter_mut().zip(counts.classes) {
                *sum += count;
            }
        }
        all
    }

    fn lose(&mut self, done: &Done, class: Class, words: &str) {
        let lost = if class == Class::Timeout { done.sent } else { done.ended };
        self.bucket(lost).lost[class.index()] += 1;
        self.lost_reused += u64::from(done.reused);
        let (from, to) = self.first_and_last.unwrap_or((lost, lost));
        self.first_and_last = Some((from.min(lost), to.max(lost)));
        if self.losses.len() < MOST_LOSSES {
            let Kind { target, slow, .. } = done.kind;
            let words = words.to_owned();
            self.losses.push(Loss { target, slow, reused: done.reused, due: done.due, lost, class, words });
        }
    }

    fn bucket(&mut self, at: Duration) -> &mut Bucket {
        let mut place = self.place(at);
        while place >= MOST_BUCKETS {
            self.halve();
            place = self.place(at);
        }
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, Bucket::default());
        }
        &mut self.buckets[place]
    }

    fn place(&self, at: Duration) -> usize {
        usize::try_from(at.as_nanos() / self.width.as_nanos()).unwrap_or(usize::MAX)
    }

    /// Makes one bucket of two.
    fn halve(&mut self) {
        self.width *= 2;
        let pairs = self.buckets.chunks(2).map(|pair| pair.iter().copied().fold(Bucket::default(), Bucket::with));
        self.buckets = pairs.collect();
    }
}

// === impl Bucket ===

impl Bucket {
    /// All that was lost in it.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.lost.iter().sum()
    }

    /// Both together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.sent += other.sent;
        for (sum, count) in self.lost.iter_mut().zip(other.lost) {
            *sum += count;
        }
        self
    }
}

// === impl Counts ===

impl Counts {
    /// Of this class.
    #[must_use]
    pub fn of(&self, class: Class) -> u64 {
        self.classes[class.index()]
    }

    /// All that were sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// All that were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sent() - self.of(Class::Ok)
    }
}

/// Three digits are right, from a microsecond to an hour, in 190 KB.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST, 3).unwrap_or_else(|_| unreachable!("these bounds are allowed"))
}

fn record(histogram: &mut Histogram<u64>, time: Duration) {
    histogram.saturating_record(u64::try_from(time.as_micros()).unwrap_or(LONGEST));
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { target: 0, kept_alive: false, slow: false };

    fn done(due: u64, ended: u64, class: Class) -> Done {
        let (due, ended) = (Duration::from_millis(due), Duration::from_millis(ended));
        let verdict = Verdict::Sent(class, "words".to_owned());
        Done { kind: KIND, due, sent: due, ended, reused: false, verdict }
    }

    #[test]
    fn every_request_is_counted_once() {
        let mut tally = Tally::new(2);
        for class in Class::ALL {
            tally.count(&done(0, 10, class));
            tally.count(&Done { kind: Kind { target: 1, ..KIND }, reused: true, ..done(0, 10, class) });
        }
        tally.count(&Done { verdict: Verdict::NotSent("no sockets".to_owned()), ..done(0, 10, Class::Ok) });
        assert!(Class::ALL.iter().all(|class| tally.all().of(*class) == 2));
        assert_eq!((tally.all().sent(), tally.all().lost(), tally.targets[0].lost()), (20, 18, 9));
        assert_eq!((tally.not_sent, tally.lost_reused), (1, 9));
        assert_eq!(tally.why_not_sent.as_deref(), Some("no sockets"));
        let timeline: u32 = tally.buckets.iter().map(|bucket| bucket.sent).sum();
        assert_eq!((timeline, tally.buckets.iter().map(Bucket::lost).sum::<u32>()), (20, 18));
    }

    #[test]
    fn a_request_is_lost_when_the_client_knows_and_a_timeout_when_it_was_sent() {
        let mut tally = Tally::new(1);
        tally.count(&done(1_000, 3_030, Class::CutBody));
        tally.count(&done(2_000, 12_000, Class::Timeout));
        let seconds = |millis| Duration::from_millis(millis);
        assert_eq!(tally.first_and_last, Some((seconds(2_000), seconds(3_030))));
        assert_eq!(tally.buckets.iter().position(|bucket| bucket.lost() > 0), Some(16));
        assert_eq!(tally.buckets.iter().rposition(|bucket| bucket.lost() > 0), Some(24));
    }

    #[test]
    fn latency_counts_from_when_the_request_was_due() {
        let mut tally = Tally::new(1);
        tally.count(&Done { sent: Duration::from_millis(400), ..done(0, 500, Class::Ok) });
        tally.count(&Done { kind: Kind { slow: true, ..KIND }, ..done(0, 2_500, Class::Ok) });
        tally.count(&done(0, 60_000, Class::Refused));
        let close = |value: u64, to: u64| value.abs_diff(to) <= to / 500;
        assert!(close(tally.latency.max(), 500_000) && close(tally.slow_latency.max(), 2_500_000));
        assert!(close(tally.lateness.max(), 400_000));
    }

    #[test]
    fn a_long_run_takes_no_more_room_than_a_short_one() {
        let mut tally = Tally::new(1);
        let minutes = 3 * 24 * 60;
        for minute in 0..minutes {
            tally.count(&done(minute * 60_000, minute * 60_000 + 5, Class::Refused));
        }
        assert!(tally.buckets.len() <= MOST_BUCKETS && tally.losses.len() == MOST_LOSSES);
        let lost: u32 = tally.buckets.iter().map(Bucket::lost).sum();
        assert_eq!((u64::from(lost), tally.all().lost()), (minutes, minutes));
        assert_eq!(tally.width, Duration::from_secs(32));
    }
}
