//! Signals in: all of them are blocked before anything else happens, and taken one by one.
//!
//! A blocked signal is never lost, whatever its disposition: it waits until it is asked for. So
//! there are no handlers, nothing runs at a moment of the kernel's choosing, and a stop signal that
//! comes before the server is started is still there afterwards.

use crate::core::{Pid, Sender, Signal, SignalSet};
use nix::libc;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// What came of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A signal.
    Signal(Signal, Sender),
    /// Nothing, for as long as was asked, or the wait was interrupted.
    Nothing,
}

/// The signal mask we were started with, for the child to be started with.
#[derive(Clone, Copy)]
pub struct Mask(pub(super) libc::sigset_t);

/// The signals that are waited for: all of them.
#[derive(Clone, Copy)]
pub struct All(libc::sigset_t);

/// Blocks every signal that can be blocked, and returns the mask as it was.
#[must_use]
pub fn block_all() -> Mask {
    let mut before = MaybeUninit::zeroed();
    let all = everything();
    // SAFETY: both point to signal sets of ours that live through the call. The call can only fail
    // for a wrong first argument.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const all, before.as_mut_ptr()) };
    // SAFETY: zeroed is a valid (empty) set, had the call not filled it.
    Mask(unsafe { before.assume_init() })
}

/// The next signal that waits already and is none of `others`.
#[must_use]
pub fn waiting_but(others: SignalSet) -> Arrival {
    let mut set = everything();
    for signal in others.iter() {
        // SAFETY: the set is ours and initialised.
        unsafe { libc::sigdelset(&raw mut set, signal.number()) };
    }
    take(&set, Some(Duration::ZERO))
}

fn take(set: &libc::sigset_t, limit: Option<Duration>) -> Arrival {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let limit = limit.map(timespec);
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the set, the info and the time-out (or null, which is no time-out) live through the
    // call.
    let number = unsafe { libc::sigtimedwait(ptr::from_ref(set), info.as_mut_ptr(), limit) };
    let Some(signal) = Signal::new(number) else { return Arrival::Nothing };
    // SAFETY: zeroed is valid for this plain struct, and the kernel has filled it in.
    let info = unsafe { info.assume_init() };
    // SAFETY: for signals sent by a process the kernel fills these two in; for others they are some
    // other part of the same plain union, and are not used.
    let (pid, uid) = unsafe { (info.si_pid(), info.si_uid()) };
    Arrival::Signal(signal, sender(info.si_code, pid, uid))
}

/// Gives CHLD its default disposition, and returns whether it was ignored.
///
/// While it is ignored the kernel reaps our children itself, and their status is lost.
#[must_use]
pub fn unignore_chld() -> bool {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    let default = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both structs are ours and live through the call; zeroed is SIG_DFL without flags. No
    // handler is installed, so none can be called at a bad moment.
    let result = unsafe { libc::sigaction(libc::SIGCHLD, default.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: zeroed is valid for this plain struct.
    result == 0 && unsafe { before.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// All 64, the C library's own two left out: it refuses those.
pub(super) fn everything() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the pointer is to a set of ours; the call fills it.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// The sender, from what the kernel says of a signal: how it was sent, and by whom if by a process.
pub(super) fn sender(code: libc::c_int, pid: Pid, uid: u32) -> Sender {
    match code {
        // Sent by kill, sigqueue or tgkill. The pid is 0 when our PID namespace does not show it.
        libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL if pid == 0 => Sender::Outside { uid },
        libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => Sender::Process { pid, uid },
        _ => Sender::Kernel,
    }
}

#[allow(clippy::cast_possible_wrap, reason = "seconds of at most a few years, nanoseconds below a billion")]
pub(super) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec { tv_sec: duration.as_secs() as libc::time_t, tv_nsec: duration.subsec_nanos().into() }
}

// === impl All ===

impl All {
    /// All that can be blocked.
    #[must_use]
    pub fn new() -> Self {
        Self(everything())
    }

    /// Waits for the next one, at most for `limit`.
    #[must_use]
    pub fn next(&self, limit: Option<Duration>) -> Arrival {
        take(&self.0, limit)
    }
}

impl Default for All {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Mask ===

impl Mask {
    /// Nothing blocked.
    #[must_use]
    pub fn none() -> Self {
        let mut set = MaybeUninit::zeroed();
        // SAFETY: the pointer is to a set of ours; the call fills it.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// The signals in it.
    #[must_use]
    pub fn signals(&self) -> SignalSet {
        // SAFETY: the set is initialised.
        (1..=64)
            .filter_map(Signal::new)
            .filter(|s| unsafe { libc::sigismember(&raw const self.0, s.number()) } == 1)
            .collect()
    }
}
