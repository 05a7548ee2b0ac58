//! Signals through a descriptor, for a wait that is for other things as well.
//!
//! The same signals as in [`super::signals`], blocked all the time and taken one by one: what one of
//! the two has taken the other does not see, and neither loses any.

use super::signals::{self, Arrival};
use super::{check, last_error};
use crate::core::Signal;
use nix::libc;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor from which every signal can be read.
pub struct SignalFd(OwnedFd);

// === impl SignalFd ===

impl SignalFd {
    /// Opens one. It is closed on exec.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM, ENODEV; or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        let all = signals::everything();
        // SAFETY: the set lives through the call.
        let fd = check(unsafe { libc::signalfd(-1, &raw const all, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) })?;
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has come; nothing when there is none now.
    ///
    /// # Errors
    /// None that the kernel's documentation knows. They are told so that nobody waits on a descriptor
    /// that says nothing any more.
    pub fn next(&self) -> io::Result<Arrival> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the info is ours, of that size, and lives through the call.
        let read = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read < 0 {
            let error = last_error();
            let none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if none { Ok(Arrival::Nothing) } else { Err(error) };
        }
        // SAFETY: zeroed is valid for this plain struct, and the kernel writes whole ones only.
        let info = unsafe { info.assume_init() };
        let number = i32::try_from(info.ssi_signo).unwrap_or_default();
        let Some(signal) = Signal::new(number) else { return Ok(Arrival::Nothing) };
        let pid = i32::try_from(info.ssi_pid).unwrap_or_default();
        Ok(Arrival::Signal(signal, signals::sender(info.ssi_code, pid, info.ssi_uid)))
    }

    /// Has the runtime that is running wait for it.
    ///
    /// # Errors
    /// Those of `epoll_ctl`.
    pub fn watched(self) -> io::Result<AsyncFd<Self>> {
        // SAFETY: the descriptor is open, is always the same, and is closed only when `self` is
        // dropped, which the `AsyncFd` does after it has let go of it.
        unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }.map_err(io::Error::from)
    }
}

impl AsRawFd for SignalFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
