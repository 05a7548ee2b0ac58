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

/// Lets go of the working directory and of every descriptor but the three streams: the server has
/// its own copies, and ours would keep a file system busy, or a pipe open that the server has closed.
///
/// To be called before anything is opened that is to stay open.
pub fn let_go_of_what_was_given() {
    // SAFETY: plain system calls; we hold no object that owns one of these descriptors. Before Linux
    // 5.9 there is no close_range: then they stay open, as in every other init.
    unsafe {
        libc::syscall(libc::SYS_close_range, libc::STDERR_FILENO + 1, libc::c_uint::MAX, 0);
        libc::chdir(c"/".as_ptr());
    }
}

/// Ends this process at once: no destructors, no exit handlers, nothing that could block.
pub fn exit(code: u8) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(i32::from(code)) }
}
