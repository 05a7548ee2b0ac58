//! The exit statuses that are lameduck's own. All others are the server's.

use nix::errno::Errno;
use std::io;

/// Asked for something wrong, or lameduck itself could not start what it needs.
pub const OWN_ERROR: u8 = 125;
/// The command was found and may not be run, as a shell would say it.
pub const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// The statuses by which it is told that the command could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartErrors {
    /// No process could be made: nothing is known of the command.
    pub own: u8,
    /// The command was not found.
    pub not_found: u8,
    /// It was found and may not be run.
    pub not_executable: u8,
}

impl StartErrors {
    /// Lameduck's own: those of shells.
    pub const OURS: Self = Self { own: OWN_ERROR, not_found: NOT_FOUND, not_executable: NOT_EXECUTABLE };

    /// The status for a command that could not be started.
    #[must_use]
    pub fn status(self, error: &io::Error) -> u8 {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ENOTDIR) => self.not_found,
            Some(Errno::EAGAIN | Errno::ENOMEM) | None => self.own,
            Some(_) => self.not_executable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_errors_are_told_apart_as_shells_do() {
        for (errno, code) in [
            (Errno::ENOENT, 127),
            (Errno::ENOTDIR, 127),
            (Errno::EACCES, 126),
            (Errno::ENOEXEC, 126),
            (Errno::ELOOP, 126),
            (Errno::ENAMETOOLONG, 126),
            (Errno::E2BIG, 126),
            (Errno::EAGAIN, 125),
            (Errno::ENOMEM, 125),
        ] {
            assert_eq!(StartErrors::OURS.status(&errno.into()), code, "{errno}");
        }
    }
}
