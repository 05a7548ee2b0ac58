//! Writing to standard error without ever waiting.
//!
//! Whoever reads our log may be slow or dead, and the log of PID 1 must not stop PID 1. The obvious
//! way, `O_NONBLOCK` by `F_SETFL`, would change the descriptor for the server too: the two share one
//! open file. So each kind of file has its own way of asking not to wait.

use super::last_error;
use nix::libc;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// What standard error is, and how it is written to.
pub struct Stderr {
    kind: Kind,
    /// A second open file on the same terminal (or, on old kernels, pipe), which may be non-blocking.
    reopened: Option<OwnedFd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Socket,
    Pipe,
    Regular,
    Other,
}

const STDERR: i32 = libc::STDERR_FILENO;

// === impl Stderr ===

impl Stderr {
    /// Looks at what standard error is; `None` when it is closed.
    #[must_use]
    pub fn open() -> Option<Self> {
        let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: `stat` is ours and lives through the call.
        if unsafe { libc::fstat(STDERR, stat.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: filled in by the successful call.
        let mode = unsafe { stat.assume_init() }.st_mode;
        let kind = match mode & libc::S_IFMT {
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFIFO => Kind::Pipe,
            libc::S_IFREG => Kind::Regular,
            _ => Kind::Other,
        };
        // SAFETY: isatty only looks at the descriptor.
        let terminal = kind == Kind::Other && unsafe { libc::isatty(STDERR) } == 1;
        let reopened = if terminal { reopen() } else { None };
        Some(Self { kind, reopened })
    }

    /// Writes what it can of `bytes` and returns how much that was.
    ///
    /// # Errors
    /// `WouldBlock` when nothing can be written without waiting; others when there is no reader any
    /// more. A broken pipe makes a SIGPIPE, which is blocked and sent by ourselves, so that the
    /// signal loop knows it.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(fd) = &self.reopened {
            return write(fd.as_raw_fd(), bytes);
        }
        match self.kind {
            Kind::Socket => {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                // SAFETY: the pointer and the length are those of a live slice.
                length(unsafe { libc::send(STDERR, bytes.as_ptr().cast(), bytes.len(), flags) })
            }
            Kind::Pipe => match write_nowait(bytes) {
                Err(error) if is_unsupported(&error) => {
                    // Before Linux 5.17 (pipes) there is no such flag, and a sandbox may refuse the
                    // call. A second open file is refused where the pipe belongs to another user;
                    // what remains then is to ask first.
                    self.reopened = reopen();
                    if self.reopened.is_none() {
                        self.kind = Kind::Other;
                    }
                    self.write(bytes)
                }
                result => result,
            },
            Kind::Regular => write(STDERR, bytes),
            Kind::Other if is_writable() => write(STDERR, bytes.get(..libc::PIPE_BUF).unwrap_or(bytes)),
            Kind::Other => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// Opens what standard error is a second time, so that the new open file can be non-blocking.
fn reopen() -> Option<OwnedFd> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    OpenOptions::new().write(true).custom_flags(flags).open("/proc/self/fd/2").ok().map(OwnedFd::from)
}

fn write(fd: i32, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the descriptor stays open through the call: it is ours, or standard error, which
    // nobody in this process closes.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    nix::unistd::write(fd, bytes).map_err(io::Error::from)
}

/// `pwritev2` with `RWF_NOWAIT`, at the current position.
fn write_nowait(bytes: &[u8]) -> io::Result<usize> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: one vector over a live slice, which is only read.
    length(unsafe { libc::pwritev2(STDERR, &raw const part, 1, -1, libc::RWF_NOWAIT) })
}

fn is_writable() -> bool {
    let mut ask = libc::pollfd { fd: STDERR, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, ours, and no waiting.
    unsafe { libc::poll(&raw mut ask, 1, 0) == 1 }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::EPERM))
}

fn length(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| last_error())
}

/// Writes a page to standard output. Nothing runs yet at that time, so this may wait for a reader.
pub fn to_stdout(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match write(libc::STDOUT_FILENO, bytes) {
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
