//! The balancer: sends requests at a steady pace, whatever becomes of those before, and never twice.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many requests it sends in a second.
pub(crate) const PER_SECOND: u32 = 40;

/// One request in so many is a slow one.
const SLOW_ONE_IN: u32 = 10;

/// A request and what became of it.
pub(crate) struct Request {
    /// When it was sent.
    pub(crate) sent: Instant,
    /// When its answer had come; `None` when it was lost.
    pub(crate) answered: Option<Instant>,
}

/// Sends until told to end, then waits for the answers that are still out.
pub(crate) fn send_until(ended: &Receiver<()>, port: u16) -> Vec<Request> {
    let first = Instant::now();
    let mut out = Vec::new();
    for number in 0.. {
        let due = first + Duration::from_secs(1) / PER_SECOND * number;
        // The next request does not wait for the last one: users do not queue up either.
        match ended.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let path = if number % SLOW_ONE_IN == SLOW_ONE_IN - 1 { "/slow" } else { "/" };
        out.push(thread::spawn(move || {
            let sent = Instant::now();
            Request { sent, answered: ask(port, path).ok().map(|()| Instant::now()) }
        }));
    }
    out.into_iter().filter_map(|request| request.join().ok()).collect()
}

fn ask(port: u16, path: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok\n") {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
