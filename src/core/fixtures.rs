//! Processes and policies for the tests of the core, each in a word or two.

use super::{Pid, Policy, Process, Signal, SignalSet, Snapshot};
use std::time::Duration;

/// What most servers catch.
const USUAL: [Signal; 7] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2, Signal::TERM, Signal::WINCH];

/// The main process of the tests.
pub(super) const MAIN: Pid = 7;

/// A program that catches the usual signals: a child of ours in the main process's group.
pub(super) fn program(comm: &str, pid: Pid) -> Process {
    Process {
        pid,
        parent: 1,
        group: MAIN,
        comm: comm.to_owned(),
        shell: false,
        caught: Some(USUAL.into_iter().collect()),
        blocked: Some(SignalSet::EMPTY),
        stdin_pipe: None,
        stdout_pipe: None,
        listens: false,
    }
}

/// nginx, which drains on QUIT.
pub(super) fn nginx(pid: Pid) -> Process {
    program("nginx: master p", pid)
}

/// A program the table does not know.
pub(super) fn app(pid: Pid) -> Process {
    program("app", pid)
}

/// A program that handles no signal at all.
pub(super) fn sleep(pid: Pid) -> Process {
    program("sleep", pid).catches(&[])
}

/// A shell without a trap.
pub(super) fn shell(pid: Pid) -> Process {
    Process { shell: true, ..program("sh", pid).catches(&[]) }
}

/// What a look found.
pub(super) fn seen<const N: usize>(processes: [Process; N]) -> Snapshot {
    Snapshot { processes: processes.into(), blind: false }
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A delay of 15 s, and for the rest the defaults.
pub(super) fn delayed() -> Policy {
    Policy { delay: secs(15), ..Policy::default() }
}

impl Process {
    pub(super) fn under(self, parent: Pid) -> Self {
        Self { parent, ..self }
    }

    pub(super) fn catches(self, signals: &[Signal]) -> Self {
        Self { caught: Some(signals.iter().copied().collect()), ..self }
    }

    pub(super) fn blocks(self, signals: &[Signal]) -> Self {
        Self { blocked: Some(signals.iter().copied().collect()), ..self }
    }

    pub(super) fn reads(self, pipe: u64) -> Self {
        Self { stdin_pipe: Some(pipe), ..self }
    }

    pub(super) fn writes(self, pipe: u64) -> Self {
        Self { stdout_pipe: Some(pipe), ..self }
    }

    pub(super) fn listening(self) -> Self {
        Self { listens: true, ..self }
    }

    pub(super) fn in_group(self, group: Pid) -> Self {
        Self { group, ..self }
    }
}
