//! Facts about a stop for whoever reads the log. The machine states them; the shell words them.

use super::action::Hook;
use super::{Phase, Pid, Sender, Signal, Tick, WaitStatus};
use std::time::Duration;

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A phase begins.
    Entered(Phase),
    /// A stop begins, and the server serves on for the delay.
    LameDuck {
        /// By this signal.
        signal: Signal,
        /// From there.
        sender: Sender,
        /// The plan: what will be sent to whom when the delay is over.
        plan: Vec<Told>,
        /// How long the on-stop hook may take, when there is one.
        hook: Option<Duration>,
        /// How long, counted from now, or from the end of the on-stop hook when there is one.
        delay: Duration,
        /// How long the drain may take then.
        drain: Option<Duration>,
    },
    /// The delay is over, or there was none; the graceful signal comes next, unless it is held.
    DelayOver(Why),
    /// The graceful signal is held until the answers in flight have gone out. Said once per stop, at
    /// the first sample that owes any.
    Holding {
        /// How many answers are owed.
        owed: Option<u32>,
        /// At most so much longer.
        longest: Duration,
    },
    /// The server was sent its graceful signal.
    Draining {
        /// The signal that asked for the stop, when there was no delay in which to say so.
        cause: Option<(Signal, Sender)>,
        /// Why now.
        why: Why,
        /// Who was told.
        told: Vec<Told>,
        /// How long they have: what a hold has left of the drain.
        left: Option<Duration>,
        /// Answers still owed when a hold had taken as long as it may: they are likely to be cut.
        cut: Option<u32>,
        /// A child that a shell with a trap waits for: the trap runs only after it.
        waits_for: Option<(Pid, String)>,
    },
    /// Those behind the shell are gone and it lives on: what it went on to was told too, or the
    /// helpers that it waits for still.
    WentOn {
        /// Who was told.
        told: Vec<Told>,
    },
    /// A further stop signal, and what was made of it.
    Again {
        /// The signal.
        signal: Signal,
        /// From there.
        sender: Sender,
        /// What was made of it.
        made: Made,
    },
    /// The drain deadline is over; everything is being killed.
    Killing {
        /// How long the drain was allowed to take.
        drain: Duration,
    },
    /// The main process has ended and left others behind, which get time to end.
    Sweeping {
        /// At most so much.
        budget: Option<Duration>,
        /// Who was told to end.
        told: Vec<Told>,
    },
    /// What was left behind took too long and is being killed.
    LeftBehind,
    /// A hook took too long.
    HookTimedOut(Hook),
    /// It is over.
    Ended(Ended),
}

/// A process and the signal it was or will be sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// Its pid.
    pub pid: Pid,
    /// What it is called.
    pub name: String,
    /// Whether all of its process group is sent the signal.
    pub with_group: bool,
    /// The signal.
    pub signal: Signal,
}

/// Why the drain begins now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// There is no delay.
    NoDelay,
    /// The delay is over.
    DelayOver,
    /// The traffic is over.
    Quiet,
    /// A second stop signal.
    Hurried(Signal, Sender),
}

/// What was made of a further stop signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The delay ends now.
    Hurried,
    /// Nothing: it is one and the same stop, delivered twice.
    Duplicate,
    /// Nothing: repeated stop signals are ignored.
    Ignored,
    /// It was passed on as it is.
    PassedOn,
    /// Nothing: the server has its graceful signal already.
    AlreadyDraining,
    /// What was left behind is not waited for any longer.
    SweepCut,
    /// The on-exit hook is not waited for any longer.
    HookCut,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How the main process ended; `None` when it never started, or could not be reaped.
    pub status: Option<WaitStatus>,
    /// In which phase it ended.
    pub phase: Phase,
    /// Whether it was killed by us.
    pub killed: bool,
    /// The exit status that lameduck leaves with.
    pub code: u8,
    /// How long the whole stop took; `None` when none was asked for.
    pub stop_took: Option<Tick>,
    /// Whether something of ours is still there.
    pub left_behind: bool,
}
