//! A socket to the kernel's socket diagnostics (`NETLINK_SOCK_DIAG`). It never blocks.
//!
//! nix has netlink sockets only behind a feature that brings far more than these three calls, and
//! takes no `NETLINK_SOCK_DIAG`.

use super::check;
use nix::libc;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr;

/// What came of asking for a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes of the kernel's.
    Bytes(usize),
    /// A datagram that was too long for the buffer, or came from another process: nothing to read.
    Useless,
    /// Nothing yet.
    NoneYet,
}

/// The socket.
#[derive(Debug)]
pub struct SockDiag(OwnedFd);

// === impl SockDiag ===

impl SockDiag {
    /// Opens one. No privilege is needed.
    ///
    /// # Errors
    /// A sandbox may not have it: EPERM, EAFNOSUPPORT, EPROTONOSUPPORT. No descriptor left: EMFILE.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes three numbers.
        let fd = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) })?;
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends a request to the kernel: a socket that is connected to nobody is connected to it.
    ///
    /// # Errors
    /// Those of `send`; EAGAIN too.
    pub fn send(&self, request: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a slice that lives through the call.
        let sent =
            unsafe { libc::send(self.0.as_raw_fd(), request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(super::last_error()) } else { Ok(()) }
    }

    /// Takes the next datagram of the kernel's answer.
    ///
    /// # Errors
    /// ENOBUFS: the kernel had to throw some of it away.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut sender = MaybeUninit::<libc::sockaddr_nl>::zeroed();
        let mut length = libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or_default();
        // SAFETY: the buffer and its length are those of a slice of ours, the sender and its length
        // those of a struct of ours; all live through the call.
        let received = unsafe {
            libc::recvfrom(
                self.0.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                // The true length comes back, though it were longer than the buffer.
                libc::MSG_TRUNC,
                sender.as_mut_ptr().cast(),
                ptr::from_mut(&mut length),
            )
        };
        let Ok(received) = usize::try_from(received) else {
            let error = super::last_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Received::NoneYet),
                _ => Err(error),
            };
        };
        // SAFETY: zeroed is valid for this plain struct, and the kernel has filled it in.
        let from_kernel = unsafe { sender.assume_init() }.nl_pid == 0;
        Ok(if from_kernel && received <= buffer.len() { Received::Bytes(received) } else { Received::Useless })
    }
}
