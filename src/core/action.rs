//! What the machine wants done. No action returns a value; its outcome comes back as an event.

use super::{Note, Pid, Signal};

/// Something to be done by the shell, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pass a signal on.
    Send(Delivery),
    /// SIGKILL to everything that is ours.
    KillAll,
    /// Stop ourselves, as a job that the terminal stops. Process 1 cannot be stopped.
    Suspend,
    /// Look at the processes and answer with [`super::Event::Seen`].
    Look(Look),
    /// Readiness changed: tell the world.
    Ready(bool),
    /// Start a hook; answer with [`super::Event::HookEnded`] when it is over.
    StartHook(Hook),
    /// Kill a hook that still runs, with its children. It is not waited for.
    KillHook(Hook),
    /// Begin (or end) to watch the traffic.
    Watch(bool),
    /// A fact for the log.
    Note(Note),
    /// Leave with this exit status. Always the last action of all.
    Exit(u8),
}

/// One signal to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Whom to signal.
    pub to: Target,
    /// The signal.
    pub signal: Signal,
    /// Whether a target that is stopped (Ctrl-Z, SIGSTOP) must be continued to hear it.
    pub wake: bool,
}

/// Whom a signal goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A child of ours. Only our own reaper can free its pid, so it is signalled by pid.
    Child(Pid),
    /// The process group that this child of ours leads; the child alone when there is no such group
    /// (yet).
    Group(Pid),
    /// What is left of the process group that this child of ours led until it ended: never the child,
    /// whose pid may be another's by now.
    Remains(Pid),
    /// A deeper descendant. Its pid may be reused at any time, so it is signalled through a pidfd
    /// after its parent was checked again.
    Descendant {
        /// The process.
        pid: Pid,
        /// Its parent when it was chosen.
        parent: Pid,
    },
}

/// How much of the process tree to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// The main process; its descendants too when it is a shell.
    Main(Pid),
    /// A shell and one of those behind it, as long as both are there; otherwise as [`Look::Main`].
    Told {
        /// The shell.
        main: Pid,
        /// One that it waits for.
        told: Pid,
    },
    /// Our own direct children.
    Children,
}

/// A command of the user's that runs at a point of the stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// At the stop signal, before the delay.
    OnStop,
    /// After the server has gone, before lameduck leaves.
    OnExit,
}

// === impl Hook ===

impl Hook {
    /// Its name in logs, JSON and documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnStop => "on-stop",
            Self::OnExit => "on-exit",
        }
    }
}

// === impl Target ===

impl Target {
    /// The process it is, or the one that leads the group.
    #[must_use]
    pub const fn pid(self) -> Pid {
        match self {
            Self::Child(pid) | Self::Group(pid) | Self::Remains(pid) | Self::Descendant { pid, .. } => pid,
        }
    }
}
