//! Our own process: its id, its place among others, its end.

use super::check;
use crate::core::{Pid, Signal};
use nix::libc;
use std::io;

/// Our process id; 1 when we are the init of a PID namespace.
#[must_use]
pub fn own_pid() -> Pid {
    nix::unistd::getpid().as_raw()
}

/// Makes orphans of our descendants our children, as they are of PID 1 anyway.
///
/// # Errors
/// Some sandboxes forbid it.
pub fn become_subreaper() -> io::Result<()> {
    nix::sys::prctl::set_child_subreaper(true).map_err(io::Error::from)
}

/// Has the kernel send us `signal` when our parent ends.
///
/// # Errors
/// Those of `prctl(PR_SET_PDEATHSIG)`.
pub fn set_parent_death_signal(signal: Signal) -> io::Result<()> {
    // nix takes its own `Signal` here, which has no real-time signals.
    // SAFETY: a plain system call on our own process; no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal.number()) }).map(drop)
}

/// Whether our standard input is a terminal of ours and we are in its foreground: then the child is
/// to be, too.
#[must_use]
pub fn owns_the_terminal() -> bool {
    nix::unistd::tcgetpgrp(std::io::stdin()).is_ok_and(|foreground| foreground == nix::unistd::getpgrp())
}

/// So many descriptors this process may have open at most.
#[must_use]
pub fn most_descriptors() -> usize {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills a struct of ours. It cannot fail for this resource; if it did, that is none.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) };
    usize::try_from(limits.rlim_cur).unwrap_or(usize::MAX)
}

/// Ends this process at once: no destructors, no exit handlers, nothing that could block.
pub fn exit(code: u8) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(i32::from(code)) }
}
