//! How a process ended, kept raw as `waitpid` gave it, and the exit status that is made of it.

use super::Signal;
use std::fmt;

/// A raw wait status. No enumeration of known signals stands in between, so none can be missing
/// from it (nix's own conversion loses a child that died of a real-time signal).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitStatus(i32);

// === impl WaitStatus ===

impl WaitStatus {
    /// The status `waitpid` wrote.
    #[must_use]
    pub const fn from_raw(raw: i32) -> Self {
        Self(raw)
    }

    /// The status of a process that exited with `code`.
    #[must_use]
    pub const fn exited(code: u8) -> Self {
        Self((code as i32) << 8)
    }

    /// The status of a process that `signal` ended.
    #[must_use]
    pub const fn killed(signal: Signal) -> Self {
        Self(signal.number())
    }

    /// The signal that ended the process, if one did.
    #[must_use]
    pub const fn signal(self) -> Option<Signal> {
        Signal::new(self.0 & 0x7f)
    }

    /// Whether a core was dumped, or would have been had a limit not forbidden it.
    #[must_use]
    pub const fn core_dumped(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// The exit status a shell would report: the process's own, or 128 + the signal.
    #[must_use]
    pub const fn code(self) -> u8 {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "masked to a byte; signals end at 64"
        )]
        match self.signal() {
            Some(signal) => 128 + signal.number() as u8,
            None => (self.0 >> 8 & 0xff) as u8,
        }
    }
}

impl fmt::Display for WaitStatus {
    /// `exited with status 3`, `was ended by SIGSEGV (core dumped)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal() {
            None => write!(f, "exited with status {}", self.code()),
            Some(signal) if self.core_dumped() => write!(f, "was ended by {signal} (core dumped)"),
            Some(signal) => write!(f, "was ended by {signal}"),
        }
    }
}

impl fmt::Debug for WaitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn every_raw_status_reads_as_the_standard_library_reads_it() {
        for code in 0..=255 {
            let status = WaitStatus::from_raw(code << 8);
            assert_eq!((status.code(), status.signal()), (u8::try_from(code).unwrap(), None));
            assert_eq!(status, WaitStatus::exited(u8::try_from(code).unwrap()));
        }
        for number in 1..=64 {
            for core in [0, 0x80] {
                let status = WaitStatus::from_raw(number | core);
                let theirs = ExitStatus::from_raw(number | core);
                assert_eq!(status.signal().map(Signal::number), theirs.signal());
                assert_eq!(status.core_dumped(), theirs.core_dumped());
                assert_eq!(i32::from(status.code()), 128 + number);
            }
        }
    }

    #[test]
    fn how_it_ended_is_said_in_words() {
        for (raw, words) in [
            (0x300, "exited with status 3"),
            (0x0b, "was ended by SIGSEGV"),
            (0x8b, "was ended by SIGSEGV (core dumped)"),
        ] {
            assert_eq!(WaitStatus::from_raw(raw).to_string(), words);
        }
    }
}
