//! As little of a client as it takes to see whether a server still answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A request that was sent, and whose answer is still to come.
pub(crate) struct Request(TcpStream);

/// Sends a request.
pub(crate) fn send(port: u32, path: &str) -> std::io::Result<Request> {
    let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap()))?;
    stream.set_read_timeout(Some(super::scaled(Duration::from_secs(20))))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes())?;
    Ok(Request(stream))
}

/// Whether a request is answered with 200.
pub(crate) fn answers(port: u32, path: &str) -> bool {
    send(port, path).is_ok_and(Request::answered)
}

// === impl Request ===

impl Request {
    /// Waits for the whole answer; true if it is a 200.
    pub(crate) fn answered(mut self) -> bool {
        let mut answer = Vec::new();
        let whole = self.0.read_to_end(&mut answer).is_ok();
        whole && answer.starts_with(b"HTTP/1.") && answer.get(9..12) == Some(b"200")
    }
}
