//! The phases of a stop: one vocabulary for code, logs, JSON and documentation.

use std::fmt;

/// Where the life of the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The server is not running yet.
    Starting,
    /// The server runs and nobody asked for a stop.
    Serving,
    /// A stop was asked for; the server knows nothing of it and serves on, so that balancers can
    /// notice: the propagation delay.
    LameDuck,
    /// The server was sent its graceful signal (or is about to be) and finishes what is in flight.
    Draining,
    /// The drain deadline is over and everything was sent SIGKILL.
    Killing,
    /// The main process has ended; what it left behind is given time to end too.
    Sweeping,
    /// Nothing is left to do but to exit.
    Gone,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 7] =
        [Self::Starting, Self::Serving, Self::LameDuck, Self::Draining, Self::Killing, Self::Sweeping, Self::Gone];

    /// Its name in logs, JSON and documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::LameDuck => "lame-duck",
            Self::Draining => "draining",
            Self::Killing => "killing",
            Self::Sweeping => "sweeping",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
