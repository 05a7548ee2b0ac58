//! The exit statuses that are lameduck's own. All others are the server's.

use nix::errno::Errno;
use std::io;

/// Asked for something wrong, or lameduck itself could not start what it needs.
pub const OWN_ERROR: u8 = 125;
/// The command was found and may not be run, as a shell would say it.
pub const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// The status for a command that could not be started.
#[must_use]
pub fn for_start_error(error: &io::Error) -> u8 {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENOTDIR) => NOT_FOUND,
        // No process could be made: nothing is known of the command.
        Some(Errno::EAGAIN | Errno::ENOMEM) | None => OWN_ERROR,
        Some(_) => NOT_EXECUTABLE,
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
            assert_eq!(for_start_error(&errno.into()), code, "{errno}");
        }
    }
}
