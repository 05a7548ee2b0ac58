//! The programs that the tests run under lameduck: small, in Python, without its start-up modules.

use std::ffi::OsString;

/// Says `ready`, then `got N` for every signal it gets; leaves with C on signal N for each argument
/// `N=C`.
pub(crate) const RECORDER: &str = include_str!("../fixtures/recorder.py");

/// Works to its end, and listens only once it is told to. See the file.
pub(crate) const SLOW: &str = include_str!("../fixtures/slow.py");

/// A web server that drains. See the file.
pub(crate) const SERVER: &str = include_str!("../fixtures/server.py");

/// A web server that has no handler. See the file.
pub(crate) const THINKING: &str = include_str!("../fixtures/thinking.py");

/// [`SERVER`] as a command in a line for a shell, where `$S` is the script.
pub(crate) const SERVER_IN_SHELL: &str = r#"python3 -I -S -c "$S""#;

/// Leaves many orphans at once to process 1.
pub(crate) const ORPHANS: &str = include_str!("../fixtures/orphans.py");

/// Never ends by itself, and has a helper that does not either.
pub(crate) const STUBBORN: &str = include_str!("../fixtures/stubborn.py");

/// Runs a program in which some system calls fail: `NAME=ERRNO … -- PROGRAM`.
pub(crate) const REFUSING: &str = include_str!("../fixtures/refusing.py");

/// A main process, a helper in its group, a stranger in another session: each says what it hears.
pub(crate) const FAMILY: &str = include_str!("../fixtures/family.py");

/// Ends and leaves a helper, which says whether it is told to end.
pub(crate) const LEAVES_HELPER: &str = include_str!("../fixtures/leaves_helper.py");

/// The parent of an init, which ends when it is told to.
pub(crate) const ORPHANED: &str = include_str!("../fixtures/orphaned.py");

/// Makes an orphan that says who adopted it.
pub(crate) const ADOPTED: &str = include_str!("../fixtures/adopted.py");

/// Process 1 in the tests in which lameduck is not.
pub(super) const HOLDER: &str = include_str!("../fixtures/holder.py");

/// A server that says `ready` and does nothing but what its handlers do, which these lines set.
pub(crate) fn handling(set: &str) -> String {
    format!("import os, signal\n{set}\n{}", include_str!("../fixtures/handling.py"))
}

/// The words that run a script.
pub(crate) fn python(script: &str, args: &[&str]) -> Vec<OsString> {
    ["/usr/bin/python3", "-I", "-S", "-c", script].iter().chain(args).map(Into::into).collect()
}
