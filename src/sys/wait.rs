//! Reaping: the one place that waits for children.
//!
//! Through `libc::waitpid`, because nix's returns an error for a child that a real-time signal
//! ended, after having reaped it.

use crate::core::{Pid, WaitStatus};
use nix::libc;
use std::mem::MaybeUninit;
use std::ptr;

/// What the reaper found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// A child ended and is reaped.
    Child(Pid, WaitStatus),
    /// Children are there, and none has ended.
    NoneYet,
    /// There is no child at all.
    NoChildren,
}

/// Reaps one child that has ended, if one has. Does not wait.
#[must_use]
pub fn reap() -> Reaped {
    loop {
        let mut raw = 0;
        // SAFETY: `raw` is ours and lives through the call. `__WALL` takes in children that were
        // made by a clone with another exit signal than CHLD.
        let pid = unsafe { libc::waitpid(-1, &raw mut raw, libc::WNOHANG | libc::__WALL) };
        match pid {
            0 => return Reaped::NoneYet,
            // Any error but ECHILD would be a mistake in the arguments.
            ..0 => return Reaped::NoChildren,
            _ if libc::WIFSTOPPED(raw) => let_go(pid, libc::WSTOPSIG(raw)),
            _ => return Reaped::Child(pid, WaitStatus::from_raw(raw)),
        }
    }
}

/// Whether a child of ours is stopped, by Ctrl-Z or SIGSTOP. Takes nothing away from the reaper.
#[must_use]
pub fn is_stopped(child: Pid) -> bool {
    let Ok(id) = libc::id_t::try_from(child) else { return false };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is ours and lives through the call.
    let result = unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), options) };
    // SAFETY: zeroed is valid for this plain struct; a pid of 0 says that nothing was found.
    result == 0 && unsafe { info.assume_init().si_pid() } == child
}

/// A child that asked to be traced by its parent stops at every signal. Nobody traces it here, so it
/// goes on with that signal, untraced.
fn let_go(pid: Pid, signal: i32) {
    let signal = if signal == libc::SIGTRAP && tells_of_an_exec(pid) { 0 } else { signal };
    // SAFETY: acts on another process only; the address is not used.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, ptr::null_mut::<libc::c_void>(), signal) };
}

/// Whether the TRAP at which a child has stopped is the one by which a tracer learns of its exec. It is
/// sent in the child's own name, and would end the program that has just been started.
fn tells_of_an_exec(pid: Pid) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is ours and lives through the call; the address is not used.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, pid, ptr::null_mut::<libc::c_void>(), info.as_mut_ptr()) };
    // SAFETY: zeroed is valid for this plain struct; what a process sent has a pid.
    let (code, sender) = unsafe { (info.assume_init().si_code, info.assume_init().si_pid()) };
    result == 0 && code == libc::SI_USER && sender == pid
}
