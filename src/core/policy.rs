//! What was asked for, resolved: everything the machine needs to know, with no origin attached.

use super::{Phase, Signal, SignalSet};
use std::time::Duration;

/// Within this time of the first stop signal a further one is its duplicate, not a second wish:
/// platforms and terminals that signal a whole group deliver one stop twice.
pub const DUPLICATE: Duration = Duration::from_millis(200);

/// How long after SIGKILL the main process may take to be reaped. A process in uninterruptible
/// sleep can take longer; lameduck then leaves without it and says so.
pub const KILLING: Duration = Duration::from_secs(2);

/// How long a shell may take, once the processes behind it have ended, to end or to go on to what
/// it runs next.
pub const SHELL_GOES_ON: Duration = Duration::from_millis(500);

/// How often a shell's children are looked at during a drain: they are not our children, so no
/// signal tells of their end.
pub const SHELL_POLL: Duration = Duration::from_millis(100);

/// The linger when none was asked for: so much after a stop, nothing when the main process ended
/// by itself.
pub const DEFAULT_LINGER: Duration = Duration::from_secs(5);

/// The drain time-out when none was asked for: the stop time-out of ECS and Kubernetes.
pub const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

/// The most a stop is held for answers still owed when the drain has no time-out.
pub const HOLD_WITHOUT_DEADLINE: Duration = Duration::from_secs(10);

/// Everything that decides how a stop goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct Policy {
    /// How long the server serves on after the stop signal.
    pub delay: Duration,
    /// How long the drain may take before SIGKILL; `None` = for ever.
    pub drain: Option<Duration>,
    /// Which signal the server is stopped with.
    pub stop_signal: StopSignal,
    /// Which signals start a stop.
    pub stop_on: StopOn,
    /// Whether a second stop signal during the delay ends it.
    pub hurry: bool,
    /// Signals that are passed on as others, or (`None`) not at all.
    pub rewrite: Vec<(Signal, Option<Signal>)>,
    /// Whether signals go to the main process's whole group.
    pub group: bool,
    /// How long what the main process left behind may take to end; `None` = [`DEFAULT_LINGER`]
    /// after a stop, nothing otherwise.
    pub linger: Option<Duration>,
    /// Exit statuses that are reported as others.
    pub map_exit: Vec<(u8, u8)>,
    /// When there is a hook for the beginning of the stop: its time limit.
    pub on_stop: Option<Duration>,
    /// When there is a hook for the end: its time limit.
    pub on_exit: Option<Duration>,
    /// Whether the traffic of the delay is watched.
    pub watch: bool,
    /// Whether the graceful signal is held until no answer is owed.
    pub hold: Hold,
    /// When readiness is withdrawn.
    pub unready: Unready,
}

/// When readiness is withdrawn. It never comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unready {
    /// At the stop signal: for balancers that only know what health checks tell them.
    Start,
    /// When draining begins: where the platform has told the balancers by itself, and kills at once
    /// what turns unhealthy.
    End,
    /// Only when the server has gone.
    Never,
}

/// When the graceful signal is held back until the answers in flight have gone out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// When there is a delay and the program is not known to drain by itself.
    Auto,
    /// At every stop.
    Always,
    /// Never.
    Never,
}

/// Which signal the server is stopped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopSignal {
    /// By what runs: the table of programs, else the signal as received if the server handles it,
    /// else TERM.
    Auto,
    /// The signal as received.
    Same,
    /// This one.
    This(Signal),
}

/// Which signals start a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopOn {
    /// TERM, QUIT, and the graceful signal of the program that runs when it comes from outside the
    /// container: images of httpd, haproxy and PostgreSQL are stopped with those.
    Auto,
    /// These.
    These(SignalSet),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            drain: Some(DEFAULT_DRAIN),
            stop_signal: StopSignal::Auto,
            stop_on: StopOn::Auto,
            hurry: true,
            rewrite: Vec::new(),
            group: false,
            linger: None,
            map_exit: Vec::new(),
            on_stop: None,
            on_exit: None,
            watch: false,
            hold: Hold::Never,
            unready: Unready::Start,
        }
    }
}

impl Policy {
    /// What `signal` becomes when it is passed on; `None` when it is dropped.
    #[must_use]
    pub fn rewritten(&self, signal: Signal) -> Option<Signal> {
        self.rewrite.iter().rev().find(|(from, _)| *from == signal).map_or(Some(signal), |(_, to)| *to)
    }

    /// The exit status reported for `code`.
    #[must_use]
    pub fn mapped(&self, code: u8) -> u8 {
        self.map_exit.iter().rev().find(|(from, _)| *from == code).map_or(code, |(_, to)| *to)
    }

    /// Whether the world is to take the server for ready in this phase.
    #[must_use]
    pub fn is_ready_in(&self, phase: Phase) -> bool {
        let withdrawn_from = match self.unready {
            Unready::Start => Phase::LameDuck,
            Unready::End => Phase::Draining,
            Unready::Never => Phase::Sweeping,
        };
        Phase::Serving <= phase && phase < withdrawn_from
    }

    /// How long leftovers may take after a stop.
    #[must_use]
    pub fn linger_after_stop(&self) -> Duration {
        self.linger.unwrap_or(DEFAULT_LINGER)
    }

    /// The most the graceful signal is held for answers owed: half the drain.
    #[must_use]
    pub fn longest_hold(&self) -> Duration {
        self.drain.map_or(HOLD_WITHOUT_DEADLINE, |drain| drain / 2)
    }
}
