//! Our end of a stream of the init: what has come out of it so far.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A stream that is read as it comes.
#[derive(Default)]
pub(crate) struct Tap {
    file: Option<File>,
    bytes: Vec<u8>,
}

// === impl Tap ===

impl Tap {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { file: Some(File::from(fd)), bytes: Vec::new() }
    }

    /// The descriptor, until the stream has ended.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Takes in what is there; only to be called when there is something.
    pub(super) fn read(&mut self) {
        let mut chunk = [0; 16_384];
        let Some(file) = &mut self.file else { return };
        match file.read(&mut chunk) {
            Ok(0) => self.file = None,
            Ok(length) => self.bytes.extend(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A terminal that nobody has open any more gives EIO.
            Err(_) => self.file = None,
        }
    }

    /// Closes our end.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn count(&self, wanted: &str) -> usize {
        self.text().matches(wanted).count()
    }
}
