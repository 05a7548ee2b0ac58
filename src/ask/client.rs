//! Asking over the network: a request, an answer, and a limit on all of it together.

use crate::http::{self, Place, Status};
use crate::run::clock::Clock;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest answer that is read, in bytes.
const MOST_READ: usize = 64 * 1024;

/// The moment at which asking is given up.
pub(super) struct Deadline {
    clock: Clock,
    at: Duration,
}

/// An answer.
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) body: String,
}

/// Connects to the first of the addresses that lets us.
///
/// # Errors
/// Those of the last one.
pub(super) fn connect(addresses: &[SocketAddr], deadline: &Deadline) -> io::Result<TcpStream> {
    let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
    for (address, rest) in addresses.iter().zip((1..=addresses.len()).rev()) {
        // One that says nothing leaves the next some time.
        let share = deadline.left()? / u32::try_from(rest).unwrap_or(1);
        result = TcpStream::connect_timeout(address, share);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Fetches a page.
///
/// # Errors
/// Those of the network, in words of our own where the system's are about something else.
pub(super) fn get(place: &Place, path: &str, deadline: &Deadline) -> io::Result<Answer> {
    let mut stream = connect(&place.addresses, deadline)?;
    stream.set_write_timeout(Some(deadline.left()?))?;
    stream.write_all(http::get(place, path).as_bytes()).map_err(in_words)?;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while bytes.len() < MOST_READ {
        stream.set_read_timeout(Some(deadline.left()?))?;
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend(chunk.iter().take(length)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What came first is the answer; a server that keeps the connection open has said it all.
            Err(_) if matches!(Status::parse(&bytes), Status::Code(_)) => break,
            Err(error) => return Err(in_words(error)),
        }
    }
    let Status::Code(code) = Status::parse(&bytes) else {
        let what = if bytes.is_empty() { "closes without an answer" } else { "answers, but not in HTTP" };
        return Err(io::Error::other(what));
    };
    let text = String::from_utf8_lossy(&bytes);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    Ok(Answer { code, body })
}

/// A time-out of a socket is told as "Resource temporarily unavailable".
fn in_words(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { too_late() } else { error }
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer within 1 s")
}

// === impl Deadline ===

impl Deadline {
    pub(super) fn in_time(clock: Clock, limit: Duration) -> Self {
        Self { at: clock.now() + limit, clock }
    }

    /// The time that is left: never none.
    fn left(&self) -> io::Result<Duration> {
        let left = self.at.saturating_sub(self.clock.now());
        if left.is_zero() { Err(too_late()) } else { Ok(left) }
    }
}
