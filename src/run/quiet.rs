//! The quiet loop: sleeps in one system call until a signal comes or a deadline is due.
//!
//! It can run the whole stop. Whatever else is added to lameduck may fail or be absent; this does
//! not depend on it.

use super::Shell;
use crate::sys::signals::All;

/// Waits and reacts until there is an exit status.
pub(super) fn wait_to_the_end(shell: &mut Shell) -> u8 {
    let signals = All::new();
    loop {
        if let Some(code) = shell.exit {
            return code;
        }
        shell.take(signals.next(shell.wait_at_most()));
    }
}
