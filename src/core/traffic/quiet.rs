//! Whether the traffic is over, so that the rest of the delay can be left out.
//!
//! Silence proves something only where there was noise: it must last as long as was asked for, and so
//! long that, at the rate of before, at least five requests are missing. The rate is that of the whole
//! time since the stop signal, so it falls while the silence lasts: a handful of requests never
//! suffices. No traffic at all proves nothing, and the delay is waited out.

use super::Traffic;
use crate::core::Tick;
use std::time::Duration;

/// How many requests must be missing before a silence is no chance any more. With requests that come
/// independently of each other a gap of five is chance once in 150 times, and then only at the rate
/// that was seen.
const MISSING: u64 = 5;

/// Traffic that lasted no longer than this is a burst, from which no rate follows.
const LONGEST_BURST: Duration = Duration::from_millis(500);

/// Silence must be seen in so many samples running, whatever the clock says: a container may have been
/// frozen in between.
const LEAST_SILENT_SAMPLES: u32 = 2;

/// When a delay may end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quiet {
    /// The silence asked for.
    pub silence: Duration,
    /// The delay is never shorter than this.
    pub min_delay: Duration,
}

// === impl Quiet ===

impl Quiet {
    /// The earliest end of a delay.
    #[must_use]
    pub fn earliest(&self) -> Duration {
        self.min_delay.max(self.silence)
    }
}

// === impl Traffic ===

impl Traffic {
    /// Whether the delay that began at `delay_began` may end, by the sample just taken at `now`.
    #[must_use]
    pub fn is_quiet(&self, now: Tick, delay_began: Tick, quiet: &Quiet) -> bool {
        // Without the counters some traffic cannot be seen.
        let sees_requests = self.source == super::Source::SockDiag;
        let Some(last) = self.last_activity.filter(|_| sees_requests) else { return false };
        now.saturating_sub(delay_began) >= quiet.min_delay
            && self.first_activity.is_some_and(|first| last.saturating_sub(first) > LONGEST_BURST)
            && self.silent_samples >= LEAST_SILENT_SAMPLES
            && now.saturating_sub(last) >= quiet.silence
            && is_no_chance(now.saturating_sub(last), now.saturating_sub(self.began), self.requests)
    }
}

/// Whether a silence is too long to be chance, when so many requests came in the time that ends with
/// it.
pub(super) fn is_no_chance(silence: Duration, whole: Duration, requests: u64) -> bool {
    silence.as_nanos() * u128::from(requests) >= whole.as_nanos() * u128::from(MISSING)
}
