//! Calls into the kernel: the only module with `unsafe` in it.
//!
//! One small function per system call, named after what it does for us. nix is used where it fits;
//! where it does not, the reason stands beside the call: nix's `waitpid` loses a child that a
//! real-time signal ended, its `Signal` has no real-time signals at all, and it has no pidfds.
//! Nothing here decides anything, waits longer than it is told to, or prints.

pub mod accept_queue;
pub mod args;
pub mod kill;
pub mod netlink;
pub mod output;
pub mod process;
pub mod signalfd;
pub mod signals;
pub mod spawn;
pub mod terminal;
pub mod wait;

use std::io;

/// The error of the system call that has just failed, from `errno`.
fn last_error() -> io::Error {
    io::Error::last_os_error()
}

/// The result of a system call that returns -1 when it fails.
fn check(result: nix::libc::c_int) -> io::Result<nix::libc::c_int> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}
