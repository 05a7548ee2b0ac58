//! The terminal on standard input: giving it up for good, and taking it back from a group that is gone.

use super::check;
use crate::core::Pid;
use nix::libc;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// Gives up our controlling terminal, if standard input is it, so that a child can take it into a
/// session of its own.
///
/// When a session's leader does that, the kernel tells the foreground group, to which we belong, by
/// HUP and CONT. Those two are of our own making and are taken here; one that was waiting already is
/// left waiting.
pub fn give_up() {
    let waiting = pending();
    // SAFETY: takes no pointer, and fails when this is not our controlling terminal.
    let given_up = check(unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCNOTTY) }).is_ok();
    if given_up {
        for signal in [libc::SIGHUP, libc::SIGCONT] {
            take(signal, &waiting);
        }
    }
}

/// Takes the foreground back into our own group when the group that `leader` led has it still. Nobody
/// else does: a script that goes on after us would read an error where it expects the terminal.
///
/// All signals are to be blocked, TTOU too.
pub fn take_back(leader: Pid) {
    // SAFETY: plain system calls, which fail where that is no terminal of ours.
    unsafe {
        if libc::tcgetpgrp(libc::STDIN_FILENO) == leader {
            libc::tcsetpgrp(libc::STDIN_FILENO, libc::getpgrp());
        }
    }
}

/// The signals that wait to be taken.
fn pending() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the set is ours, and zeroed is a valid (empty) one.
    unsafe {
        libc::sigpending(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Takes a signal that waits, unless it is in `waiting`.
fn take(signal: libc::c_int, waiting: &libc::sigset_t) {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the sets are ours and initialised (the first by sigemptyset); a null takes no details,
    // and nothing is waited for.
    unsafe {
        if libc::sigismember(waiting, signal) == 1 {
            return;
        }
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &super::signals::timespec(Duration::ZERO));
    }
}
