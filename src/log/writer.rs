//! A bounded buffer in front of standard error.
//!
//! What cannot be written at once waits for the next line, up to a limit; what is beyond it is
//! dropped and counted, and the count is told as soon as there is room. Nothing here ever waits: a
//! reader that stalls costs log lines, not the stop.

use crate::sys::output::Stderr;

/// The most that waits for a slow reader, in bytes: as much as a pipe holds.
const MOST: usize = 64 * 1024;

/// Standard error with what could not be written yet.
pub(super) struct Writer {
    stderr: State,
    waiting: Vec<u8>,
    dropped: u64,
}

enum State {
    NotLookedAt,
    Open(Stderr),
    Closed,
}

// === impl Writer ===

impl Writer {
    pub(super) const fn new() -> Self {
        Self { stderr: State::NotLookedAt, waiting: Vec::new(), dropped: 0 }
    }

    /// Writes whole lines, or keeps them, or drops them.
    pub(super) fn write(&mut self, lines: &[u8]) {
        self.flush();
        if self.dropped > 0 && self.waiting.len() < MOST / 2 {
            let told = format!("lameduck: warning: {} log lines were dropped: nobody read them\n", self.dropped);
            self.waiting.extend_from_slice(told.as_bytes());
            self.dropped = 0;
        }
        if self.waiting.len() + lines.len() > MOST {
            self.dropped += 1;
            return;
        }
        if self.waiting.is_empty() {
            let written = self.pass_on(lines);
            self.waiting.extend_from_slice(lines.get(written..).unwrap_or_default());
        } else {
            self.waiting.extend_from_slice(lines);
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            let written = self.pass_on(&waiting);
            self.waiting = waiting;
            self.waiting.drain(..written);
        }
    }

    /// Writes what can be written now, and returns how much that was. What nobody will ever read
    /// counts as written.
    fn pass_on(&mut self, bytes: &[u8]) -> usize {
        if let State::NotLookedAt = self.stderr {
            self.stderr = Stderr::open().map_or(State::Closed, State::Open);
        }
        let State::Open(stderr) = &mut self.stderr else { return bytes.len() };
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match stderr.write(rest) {
                Ok(length) => written += length,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return written,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return bytes.len(),
            }
        }
        written
    }
}
