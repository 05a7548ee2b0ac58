//! Signals out.
//!
//! By number: nix's `kill` takes a `Signal` that has no real-time signals.

use super::{check, last_error};
use crate::core::{Pid, Signal};
use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Signals one process.
///
/// # Errors
/// ESRCH when there is none, EPERM when it is not ours to signal.
pub fn process(pid: Pid, signal: Signal) -> io::Result<()> {
    send(pid, signal)
}

/// Signals a whole process group.
///
/// # Errors
/// ESRCH when there is none, EPERM when none of it is ours to signal.
pub fn group(leader: Pid, signal: Signal) -> io::Result<()> {
    send(-leader, signal)
}

/// SIGKILL to every process of our PID namespace but ourselves. Only for PID 1.
///
/// # Errors
/// ESRCH when there is none.
pub fn everyone() -> io::Result<()> {
    send(-1, Signal::KILL)
}

/// A handle on a process that stays with it: when its pid is reused, signals through the handle
/// reach nobody.
pub struct Handle(OwnedFd);

// === impl Handle ===

impl Handle {
    /// A handle on the process that has `pid` now.
    ///
    /// # Errors
    /// ESRCH when there is none; ENOSYS before Linux 5.3; EMFILE when no descriptor is left.
    pub fn open(pid: Pid) -> io::Result<Self> {
        // SAFETY: a plain system call without pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        match i32::try_from(fd) {
            // SAFETY: the descriptor is new (close-on-exec, as pidfds always are) and ours alone.
            Ok(fd) if fd >= 0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(last_error()),
        }
    }

    /// Signals the process.
    ///
    /// # Errors
    /// ESRCH when it has ended, EPERM when it is not ours to signal.
    pub fn send(&self, signal: Signal) -> io::Result<()> {
        let info = ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is a pidfd of ours; a null info stands for that of `kill`.
        let result =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal.number(), info, 0) };
        if result < 0 { Err(last_error()) } else { Ok(()) }
    }
}

fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    // SAFETY: a plain system call without pointers.
    check(unsafe { libc::kill(pid, signal.number()) }).map(drop)
}
