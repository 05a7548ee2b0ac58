//! What can happen to the machine, and the moment at which it did.

use super::action::Hook;
use super::{Pid, Signal, Snapshot, WaitStatus};
use std::time::Duration;

/// A moment: the time since lameduck started, on a clock that never goes back.
pub type Tick = Duration;

/// Who sent a signal, as far as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A process of our own PID namespace, by `kill` or `sigqueue`.
    Process {
        /// Its process id.
        pid: Pid,
        /// Its real user id.
        uid: u32,
    },
    /// A process that our PID namespace does not show: the container engine, `docker stop`,
    /// the kubelet. The kernel gives its pid as 0.
    Outside {
        /// Its user id, as our user namespace sees it.
        uid: u32,
    },
    /// The kernel: a key on the terminal, a hang-up, a timer.
    Kernel,
}

/// Something that happened. Every event is legal in every phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The main process was started.
    Started(Pid),
    /// The main process could not be started; lameduck leaves with this exit status.
    NotStarted(u8),
    /// A signal arrived that is not about a child's end.
    Signal(Signal, Sender),
    /// A child of ours ended and was reaped.
    Died(Pid, WaitStatus),
    /// The reaper took all it could for now.
    Reaped {
        /// Whether a child of ours, alive, remains.
        children_left: bool,
    },
    /// The answer to a look at the processes ([`super::Action::Look`]).
    Seen(Snapshot),
    /// A hook ended, was killed at its time limit, or could not be started.
    HookEnded(Hook),
    /// The traffic of the delay is over, says the watch.
    Quiet,
    /// So many answers are still owed to clients, says the watch; `None` when it cannot tell.
    Owed(Option<u32>),
    /// Nothing but time passed.
    Time,
}
