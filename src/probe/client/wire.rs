//! A connection that remembers what the HTTP layer above it does not tell: how many bytes came, whether
//! it was closed, and with which errno it failed.

use hyper::rt::{Read, ReadBufCursor, Write};
use nix::errno::Errno;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The most that is read at once. Answers are looked at and dropped, so more would not be faster.
const PART: usize = 8_192;

/// A connection.
pub(super) struct Wire {
    stream: Stream,
    trace: Arc<Trace>,
}

/// With or without TLS.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// What has happened on a connection so far.
#[derive(Debug, Default)]
pub(super) struct Trace {
    received: AtomicU64,
    closed: AtomicBool,
    errno: AtomicI32,
}

/// What had happened when this was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traced {
    /// Bytes that came in.
    pub(super) received: u64,
    /// Whether the other side closed it.
    pub(super) closed: bool,
    /// With which errno it failed, if it did.
    pub(super) errno: Option<i32>,
}

/// The errno of an error, if it comes from the kernel; the nearest one if it does not.
pub(super) fn errno_of(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or(match error.kind() {
        ErrorKind::ConnectionReset => Some(Errno::ECONNRESET as i32),
        ErrorKind::BrokenPipe => Some(Errno::EPIPE as i32),
        ErrorKind::TimedOut => Some(Errno::ETIMEDOUT as i32),
        _ => None,
    })
}

// === impl Trace ===

impl Trace {
    pub(super) fn now(&self) -> Traced {
        let errno = self.errno.load(Ordering::Relaxed);
        Traced {
            received: self.received.load(Ordering::Relaxed),
            closed: self.closed.load(Ordering::Relaxed),
            errno: (errno != 0).then_some(errno),
        }
    }

    fn note(&self, error: &io::Error) {
        match errno_of(error) {
            Some(errno) => self.errno.store(errno, Ordering::Relaxed),
            // TLS that is closed without saying so first.
            None if error.kind() == ErrorKind::UnexpectedEof => self.closed.store(true, Ordering::Relaxed),
            None => self.errno.store(Errno::EPROTO as i32, Ordering::Relaxed),
        }
    }
}

// === impl Wire ===

impl Wire {
    pub(super) fn new(stream: Stream) -> (Self, Arc<Trace>) {
        let trace = Arc::new(Trace::default());
        (Self { stream, trace: Arc::clone(&trace) }, trace)
    }

    fn noted<T>(&self, result: io::Result<T>) -> Poll<io::Result<T>> {
        if let Err(error) = &result {
            self.trace.note(error);
        }
        Poll::Ready(result)
    }
}

impl Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut part = [0; PART];
        let room = buf.remaining().min(PART);
        let mut read = ReadBuf::new(part.get_mut(..room).unwrap_or_default());
        let result = ready!(match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, &mut read),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, &mut read),
        });
        let filled = read.filled();
        if result.is_ok() && filled.is_empty() && room > 0 {
            self.trace.closed.store(true, Ordering::Relaxed);
        }
        self.trace.received.fetch_add(filled.len().try_into().unwrap_or(0), Ordering::Relaxed);
        buf.put_slice(filled);
        self.noted(result)
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = ready!(match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        });
        self.noted(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        });
        self.noted(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing of it is noted: by then the request has its answer.
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
