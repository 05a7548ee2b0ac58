//! The clocks: the only place that reads them.

use crate::core::Tick;
use std::time::{Duration, Instant, SystemTime};

/// A clock that starts at nothing and never goes back: the kernel's monotonic one. To set the wall clock
/// moves no deadline. A machine that sleeps does not age by it; a container that is frozen does.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

// === impl Clock ===

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "this is the module in which time passes")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    #[allow(clippy::disallowed_methods, reason = "this is the module in which time passes")]
    pub(crate) fn now(&self) -> Tick {
        self.0.elapsed()
    }
}

/// The time since 1970, for log lines.
#[allow(clippy::disallowed_methods, reason = "this is the module in which time passes")]
pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
