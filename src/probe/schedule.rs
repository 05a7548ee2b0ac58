//! When each request goes out, and which one it is: pure, and the same in every run.
//!
//! Open loop: the moments depend on the rate alone, never on the answers. A client that waits for one
//! answer before it sends the next request sends least while the most is lost, and so hides the loss.

use std::time::Duration;

/// The most requests a second that may be asked for: beyond it a moment is shorter than timers tell.
pub const MAX_RATE: f64 = 100_000.0;

/// How the requests are spread over time and over kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Requests per second.
    pub rate: f64,
    /// The share on kept-alive connections, 0 to 1.
    pub kept_alive: f64,
    /// The share that goes to the slow path, 0 to 1.
    pub slow: f64,
    /// How many targets take turns.
    pub targets: usize,
}

/// What one request is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The target's place in the list.
    pub target: usize,
    /// On a connection that was used before, if there is one, and that is kept.
    pub kept_alive: bool,
    /// To the slow path.
    pub slow: bool,
}

/// Steps of two sequences that fill the unit interval evenly and have nothing to do with each other:
/// the fractions of the golden ratio and of the square root of two, as parts of 2^64.
const STEPS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0x6A09_E667_F3BC_C909];

// === impl Schedule ===

impl Schedule {
    /// When request `number` is due, counted from the start. The first is due at once.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "exact for centuries of requests")]
    pub fn due(&self, number: u64) -> Duration {
        Duration::from_secs_f64(number as f64 / self.rate)
    }

    /// What request `number` is like. Neighbours differ, so that every kind is there at every moment.
    #[must_use]
    pub fn kind(&self, number: u64) -> Kind {
        let [keep, slow] = STEPS.map(|step| number.wrapping_mul(step));
        let target = number % u64::try_from(self.targets.max(1)).unwrap_or(1);
        Kind {
            target: usize::try_from(target).unwrap_or(0),
            kept_alive: below(keep, self.kept_alive),
            slow: below(slow, self.slow),
        }
    }
}

/// Whether a part of 2^64 is below a share.
#[allow(clippy::cast_precision_loss, reason = "53 bits of it are plenty")]
fn below(part: u64, share: f64) -> bool {
    (part as f64) < share * 18_446_744_073_709_551_616.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: Schedule = Schedule { rate: 50.0, kept_alive: 0.5, slow: 0.1, targets: 2 };

    #[test]
    fn requests_are_due_at_a_steady_rate_from_the_first_moment_on() {
        assert_eq!(SCHEDULE.due(0), Duration::ZERO);
        assert_eq!(SCHEDULE.due(1), Duration::from_millis(20));
        assert_eq!(SCHEDULE.due(50 * 3_600 * 24), Duration::from_secs(3_600 * 24));
        assert_eq!(Schedule { rate: 0.5, ..SCHEDULE }.due(3), Duration::from_secs(6));
    }

    #[test]
    fn every_share_is_kept_in_every_second_and_for_every_target() {
        for second in 0..200 {
            let kinds: Vec<Kind> = (second * 50..(second + 1) * 50).map(|n| SCHEDULE.kind(n)).collect();
            for target in [0, 1] {
                let own: Vec<&Kind> = kinds.iter().filter(|kind| kind.target == target).collect();
                assert_eq!(own.len(), 25);
                assert!((10..=15).contains(&own.iter().filter(|kind| kind.kept_alive).count()), "second {second}");
                assert!((1..=4).contains(&own.iter().filter(|kind| kind.slow).count()), "second {second}");
            }
        }
    }

    #[test]
    fn the_shares_do_not_depend_on_each_other() {
        let both = (0..10_000).map(|n| SCHEDULE.kind(n)).filter(|kind| kind.slow && kind.kept_alive).count();
        assert!((400..=600).contains(&both), "{both} of 10000, where 5 % were to be expected");
    }

    #[test]
    fn none_and_all_are_shares_too() {
        let none = Schedule { kept_alive: 0.0, slow: 0.0, ..SCHEDULE };
        let all = Schedule { kept_alive: 1.0, slow: 1.0, ..SCHEDULE };
        assert!((0..10_000).map(|n| none.kind(n)).all(|kind| !kind.slow && !kind.kept_alive));
        assert!((0..10_000).map(|n| all.kind(n)).all(|kind| kind.slow && kind.kept_alive));
    }
}
