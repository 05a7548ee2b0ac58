//! Questions to the kernel's socket diagnostics, and their answers datagram by datagram.

use super::sock_diag::{self, Message, Socket};
use super::table::Step;
use crate::core::Tick;
use crate::sys::netlink::{Received, SockDiag};
use nix::errno::Errno;
use std::io;
use std::time::Duration;

/// An answer that takes longer is none: the kernel writes each piece of it at once when it is asked,
/// and 100,000 sockets in less than a fifth of a second.
pub(super) const TIME_OUT: Duration = Duration::from_secs(2);

/// Where questions are put.
pub(super) trait Kernel {
    fn send(&mut self, request: &[u8]) -> io::Result<()>;
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received>;
}

impl Kernel for SockDiag {
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        SockDiag::send(self, request)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        SockDiag::receive(self, buffer)
    }
}

/// Questions that are asked one after the other.
pub(super) struct Dump<K> {
    kernel: K,
    /// The number of the last request: an answer to another is none.
    sequence: u32,
    /// Family, states and port of each question that is still to be put.
    questions: Vec<(u8, u32, u16)>,
    /// When the one was put whose answer is coming in.
    asked: Option<Tick>,
    /// Whether any was answered.
    answered: bool,
}

// === impl Dump ===

impl<K: Kernel> Dump<K> {
    pub(super) fn new(kernel: K) -> Self {
        Self { kernel, sequence: 0, questions: Vec::new(), asked: None, answered: false }
    }

    /// Begins anew: which sockets in these states there are in each of these families, on one port or
    /// (0) on any.
    pub(super) fn begin(&mut self, families: &[u8], states: u32, port: u16) {
        self.questions.clear();
        self.questions.extend(families.iter().map(|family| (*family, states, port)));
        self.asked = None;
        self.answered = false;
    }

    /// Takes in one datagram at the most.
    ///
    /// # Errors
    /// What was seen so far is not all there is, and no more will come.
    pub(super) fn step(&mut self, now: Tick, buffer: &mut [u8], mut each: impl FnMut(Socket)) -> io::Result<Step> {
        let Some(asked) = self.asked else {
            let Some((family, states, port)) = self.questions.pop() else {
                // A kernel that knows neither family knows no TCP sockets, and that is no answer.
                return if self.answered { Ok(Step::Complete) } else { Err(Errno::ENOENT.into()) };
            };
            self.sequence = self.sequence.wrapping_add(1);
            self.kernel.send(&sock_diag::request(family, states, port, self.sequence))?;
            self.asked = Some(now);
            return Ok(Step::More);
        };
        match self.kernel.receive(buffer)? {
            Received::Bytes(length) => {
                for message in sock_diag::messages(buffer.get(..length).unwrap_or_default(), self.sequence) {
                    match message {
                        Message::Socket(socket) => each(socket),
                        Message::Done => {
                            self.answered = true;
                            self.asked = None;
                        }
                        // There is no such family here.
                        Message::Refused(errno) if errno == Errno::ENOENT as i32 => self.asked = None,
                        Message::Refused(errno) => return Err(io::Error::from_raw_os_error(errno)),
                        Message::Other => {}
                    }
                }
            }
            Received::NoneYet if now.saturating_sub(asked) < TIME_OUT => return Ok(Step::Waiting),
            Received::Useless | Received::NoneYet => {}
        }
        // However many datagrams say nothing.
        if self.asked.is_some() && now.saturating_sub(asked) >= TIME_OUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Step::More)
    }
}
