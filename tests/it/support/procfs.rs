//! A look at processes from outside.

use std::fs;
use std::time::Duration;

/// The fields of `/proc/PID/stat` from the state on.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(") ")?;
    Some(after.split_ascii_whitespace().map(str::to_owned).collect())
}

/// `R`, `S`, `T`, `Z`…; `None` when there is no such process.
pub(crate) fn state(pid: i32) -> Option<char> {
    stat(pid)?.first()?.chars().next()
}

/// The processor time that it has had: told in hundredths of a second.
pub(crate) fn busy(pid: i32) -> Option<Duration> {
    let stat = stat(pid)?;
    let field = |at: usize| stat.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (field(11)? + field(12)?)))
}

/// The process group that has the terminal of `pid`, and its own.
pub(crate) fn foreground_and_own_group(pid: i32) -> Option<(i32, i32)> {
    let stat = stat(pid)?;
    Some((stat.get(5)?.parse().ok()?, stat.get(2)?.parse().ok()?))
}

/// Where a process stands among groups and sessions.
pub(crate) struct Place {
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// The group that has its terminal; -1 without one.
    pub(crate) foreground: i32,
}

pub(crate) fn place(pid: i32) -> Option<Place> {
    let stat = stat(pid)?;
    let field = |at: usize| stat.get(at)?.parse().ok();
    Some(Place { group: field(2)?, session: field(3)?, foreground: field(5)? })
}

/// The children of a process that are still to be reaped or alive.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// All processes below one.
pub(crate) fn descendants(pid: i32) -> Vec<i32> {
    let children = children(pid);
    let below: Vec<i32> = children.iter().flat_map(|child| descendants(*child)).collect();
    children.into_iter().chain(below).collect()
}

/// What the kernel calls it.
pub(crate) fn comm(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// One line of `/proc/PID/status`.
pub(crate) fn status(pid: i32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).map(|value| value.trim().to_owned())
}

/// Whether a set of signals in `/proc/PID/status` holds one.
pub(crate) fn holds(pid: i32, field: &str, signal: i32) -> bool {
    status(pid, field)
        .and_then(|bits| u64::from_str_radix(&bits, 16).ok())
        .is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}
