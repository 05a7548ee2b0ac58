//! One connection from sample to sample: how many requests it brought, and whether an answer is owed.

use crate::core::Tick;
use std::time::Duration;

/// A connection on which an answer has been owed since before the stop, and no byte went either way
/// for so long, waits for nothing that is about to come: a WebSocket whose client spoke last.
const FORSAKEN: Duration = Duration::from_secs(5);

/// How coarse the kernel's times are: a tick, of which there are 100 to 1000 in a second.
const GRAIN: Duration = Duration::from_millis(20);

/// What the kernel counts for one connection, as of the moment it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes received from the client.
    pub received: u64,
    /// Bytes sent to it.
    pub sent: u64,
    /// Segments with data received; 0 where the kernel does not count them (before 4.6).
    pub segments_in: u32,
    /// Segments with data sent.
    pub segments_out: u32,
    /// How long ago the last byte was received; meaningless while none was.
    pub since_received: Duration,
    /// How long ago the last byte was sent; meaningless while none was.
    pub since_sent: Duration,
}

/// What is remembered of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The first and the last sample that showed it.
    pub(super) samples: (u32, u32),
    received: u64,
    /// The segments when nothing was owed last.
    segments_in: u32,
    segments_out: u32,
    /// Requests counted since.
    counted: u32,
}

// === impl Counters ===

impl Counters {
    /// When the last byte was received, if any was.
    pub(super) fn received_at(&self, now: Tick) -> Option<Tick> {
        (self.received > 0).then(|| now.saturating_sub(self.since_received))
    }

    /// Something was received, and nothing was sent since.
    fn waits(&self) -> bool {
        self.received > 0 && (self.sent == 0 || self.since_received < self.since_sent)
    }

    /// Whether an answer is owed that is worth waiting for.
    pub(super) fn owes_an_answer(&self, now: Tick, stop: Tick) -> bool {
        let forsaken =
            self.since_received >= FORSAKEN && self.received_at(now).is_some_and(|received| received <= stop + GRAIN);
        self.waits() && !forsaken
    }
}

// === impl Known ===

impl Known {
    /// A connection as it is: what came before does not count.
    pub(super) fn at(counters: &Counters) -> Self {
        let mut known = Self { received: counters.received, ..Self::fresh() };
        known.settle(counters);
        // The request that waits is one of before.
        known.counted = u32::from(counters.waits());
        known
    }

    /// A connection that was just opened.
    pub(super) fn fresh() -> Self {
        Self { samples: (0, 0), received: 0, segments_in: 0, segments_out: 0, counted: 0 }
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How many requests came since it was looked at last.
    ///
    /// A request takes at least one segment, and so does its answer, and with one request at a time
    /// the smaller number of the two is that of the requests: a large upload has many segments in and
    /// one out, a large download the other way round. One that still waits has none out.
    pub(super) fn requests(&mut self, counters: &Counters) -> u32 {
        let segments_in = counters.segments_in.saturating_sub(self.segments_in);
        let segments_out = counters.segments_out.saturating_sub(self.segments_out);
        let waits = counters.waits();
        let grew = counters.received != self.received;
        let so_far = (segments_in.min(segments_out) + u32::from(waits)).max(u32::from(grew));
        let new = if grew { so_far.saturating_sub(self.counted) } else { 0 };
        self.received = counters.received;
        self.counted += new;
        if !waits {
            self.settle(counters);
        }
        new
    }

    /// Whether it was opened since the stop, seen once, before it had said anything, and is gone from
    /// `sample`, the next one: then it may have brought a request as well as one that nobody saw at all.
    pub(super) fn passed_by(&mut self, sample: u32) -> bool {
        let (first, last) = self.samples;
        let passed_by = first > 0 && first == last && last + 1 == sample && self.received == 0;
        self.counted += u32::from(passed_by);
        passed_by
    }

    fn settle(&mut self, counters: &Counters) {
        self.segments_in = counters.segments_in;
        self.segments_out = counters.segments_out;
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many bytes and segments in and out; the last in `since.0` ms ago, the last out `since.1`.
    fn counters(bytes: (u64, u64), segments: (u32, u32), since: (u64, u64)) -> Counters {
        Counters {
            received: bytes.0,
            sent: bytes.1,
            segments_in: segments.0,
            segments_out: segments.1,
            since_received: Duration::from_millis(since.0),
            since_sent: Duration::from_millis(since.1),
        }
    }

    const NOW: Tick = Duration::from_secs(100);
    const STOP: Tick = Duration::from_secs(90);

    /// The states of a connection as they were measured on live servers.
    #[test]
    fn an_answer_is_owed_when_the_client_spoke_last() {
        for (what, counters, owed) in [
            ("kept-alive, busy", counters((108, 716), (4, 4), (604, 604)), false),
            ("kept-alive, idle", counters((27, 179), (1, 1), (3_604, 3_604)), false),
            ("slow, on a reused connection", counters((58, 175), (2, 1), (612, 2_808)), true),
            ("slow, on a fresh connection", counters((31, 0), (1, 0), (612, 612)), true),
            ("opened, nothing sent", counters((0, 0), (0, 0), (612, 612)), false),
            ("a body being streamed", counters((31, 90_000), (1, 60), (1_400, 4)), false),
        ] {
            assert_eq!(counters.owes_an_answer(NOW, STOP), owed, "{what}");
        }
    }

    #[test]
    fn what_was_owed_before_the_stop_counts_for_five_seconds() {
        let owed = |since| counters((31, 0), (1, 0), (since, since)).owes_an_answer(NOW, STOP);
        // Asked after the stop: however long ago that is.
        assert!(owed(9_979));
        // A moment later for all that the kernel's clock can tell.
        assert!(!owed(9_980) && !owed(10_000));
        let early = |since| counters((31, 0), (1, 0), (since, since)).owes_an_answer(NOW, Duration::from_secs(99));
        assert!(early(4_999) && !early(5_000));
    }

    /// The requests counted over these looks at a connection known since before.
    fn counted(looks: &[Counters]) -> Vec<u32> {
        let mut known = Known::at(&looks[0]);
        looks[1..].iter().map(|look| known.requests(look)).collect()
    }

    #[test]
    fn requests_are_told_apart_by_segments() {
        let idle = counters((27, 179), (1, 1), (900, 900));
        // Three small ones between two looks.
        assert_eq!(counted(&[idle, counters((108, 716), (4, 4), (10, 10))]), [3]);
        // An upload in 40 segments, over three looks, then its answer.
        let upload = [
            idle,
            counters((20_000, 179), (14, 1), (1, 900)),
            counters((60_000, 179), (41, 1), (1, 900)),
            counters((60_000, 358), (41, 2), (40, 10)),
        ];
        assert_eq!(counted(&upload), [1, 0, 0]);
        // A download in 60 segments, and one more small request while it goes out.
        let download = [
            idle,
            counters((54, 50_000), (2, 30), (100, 1)),
            counters((54, 90_000), (2, 60), (350, 1)),
            counters((81, 90_500), (3, 61), (5, 4)),
        ];
        assert_eq!(counted(&download), [1, 0, 1]);
    }

    #[test]
    fn a_request_that_waits_counts_once_and_when_it_comes() {
        let idle = counters((27, 179), (1, 1), (900, 900));
        let waits = counters((58, 179), (2, 1), (100, 1_000));
        let still = counters((58, 179), (2, 1), (350, 1_250));
        let answered = counters((58, 400), (2, 2), (600, 10));
        let next = counters((90, 600), (3, 3), (20, 10));
        assert_eq!(counted(&[idle, waits, still, answered, next]), [1, 0, 0, 1]);
        // It waited already when the stop came.
        assert_eq!(counted(&[waits, still, answered, next]), [0, 0, 1]);
        // One answered and one that waits.
        assert_eq!(counted(&[idle, counters((90, 400), (3, 2), (10, 50))]), [2]);
    }

    #[test]
    fn without_segments_there_is_at_most_one_request_a_look() {
        let idle = counters((27, 179), (0, 0), (900, 900));
        let busy = counters((108, 716), (0, 0), (10, 10));
        let waits = counters((150, 716), (0, 0), (10, 260));
        assert_eq!(counted(&[idle, busy, busy, waits, waits]), [1, 0, 1, 0]);
    }

    #[test]
    fn counters_that_go_back_are_no_requests() {
        let many = counters((5_000, 5_000), (50, 50), (10, 10));
        assert_eq!(counted(&[many, counters((10, 10), (1, 1), (10, 10))]), [1]);
    }
}
