//! As little of a client as it takes to see whether a server still answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A request that was sent, and whose answer is still to come.
pub(crate) struct Request(TcpStream);

/// Sends a request.
pub(crate) fn send(port: u32, path: &str) -> std::io::Result<Request> {
    let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap()))?;
    stream.set_read_timeout(Some(super::scaled(super::LIMIT)))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes())?;
    Ok(Request(stream))
}

/// Whether a request is answered with 200.
pub(crate) fn answers(port: u32, path: &str) -> bool {
    send(port, path).is_ok_and(Request::answered)
}

/// An answer, read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Fetches a page as a probe does.
pub(crate) fn get(port: u16, path: &str) -> std::io::Result<Answer> {
    ask(("127.0.0.1", port), &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

/// Sends `request` as it is, and reads the answer.
pub(crate) fn ask(to: impl std::net::ToSocketAddrs, request: &str) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(super::scaled(super::LIMIT)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) =
        text.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other(format!("no head: {text:?}")))?;
    let code = head.get(9..12).and_then(|code| code.parse().ok());
    let code = code.ok_or_else(|| std::io::Error::other(format!("no status: {head:?}")))?;
    Ok(Answer { code, head: head.to_owned(), body: body.to_owned() })
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
