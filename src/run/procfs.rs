//! Reading `/proc`: one file a function, nothing decided.
//!
//! Any of it may be missing: `/proc` may not be mounted, or show another PID namespace; the process may
//! end between two reads, and another user's descriptors are not shown. Each of these is a `None`.

use crate::core::{Pid, SignalSet};
use crate::sys::process::{is_passed_on, own_pid};
use std::collections::HashSet;
use std::fs::{self, DirEntry, ReadDir};
use std::iter::{Flatten, Peekable};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// In what `/proc/PID/stat` counts time, in milliseconds: `USER_HZ` is 100 on everything that we run on.
const TICK: u64 = 10;

/// What `/proc/PID/stat` says.
pub(super) struct Stat {
    pub(super) comm: String,
    /// `T` for stopped, `Z` for ended and not reaped.
    pub(super) state: char,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    /// Those that were not yet waited for.
    pub(super) threads: u32,
    /// The processor time that all its threads have used.
    pub(super) used: Duration,
    /// When it was started, counted from that of the machine.
    pub(super) started: Duration,
}

// === impl Stat ===

impl Stat {
    /// Whether it has ended and only waits to be reaped. So it looks as well when its first thread has
    /// ended before the others (`pthread_exit` at the end of `main`): it runs on in those.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

/// Whether `/proc` shows the PID namespace that we are in. After an `unshare --pid` alone it shows the
/// outer one, where our ids are those of strangers.
///
/// Asked once: it is mounted before us or not at all, and a storm of signals must not cost a look each
/// where there is nothing to be seen.
pub(super) fn is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    *OURS.get_or_init(|| fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&own_pid().to_string())))
}

/// Where `/proc` has something of a process.
pub(super) fn path(pid: Pid, what: &str) -> Option<PathBuf> {
    is_ours().then(|| format!("/proc/{pid}/{what}").into())
}

/// A file of a process.
fn text(pid: Pid, file: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(path(pid, file)?).ok()?).into_owned())
}

/// The ids of all processes there are.
pub(super) fn pids() -> Vec<Pid> {
    if !is_ours() {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The first fields of `/proc/PID/stat`. Its state is that of the first thread.
pub(super) fn stat(pid: Pid) -> Option<Stat> {
    stat_of(&text(pid, "stat")?)
}

/// The same of each thread of a process.
pub(super) fn threads(pid: Pid) -> impl Iterator<Item = Stat> {
    let entries = path(pid, "task").and_then(|path| fs::read_dir(path).ok()).into_iter().flatten().flatten();
    entries.filter_map(|entry| stat_of(&String::from_utf8_lossy(&fs::read(entry.path().join("stat")).ok()?)))
}

fn stat_of(text: &str) -> Option<Stat> {
    // The name may hold blanks and brackets itself; it ends at the last bracket.
    let (before, after) = text.rsplit_once(')')?;
    let (_, comm) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    let ticks = |field: &str| Some(Duration::from_millis(field.parse::<u64>().ok()?.saturating_mul(TICK)));
    Some(Stat {
        comm: comm.to_owned(),
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        // In user mode and in the kernel: the 14th and 15th field of all, the 20th is the number of threads,
        // the 22nd is the start.
        used: ticks(fields.nth(8)?)?.saturating_add(ticks(fields.next()?)?),
        threads: fields.nth(4)?.parse().ok()?,
        started: ticks(fields.nth(1)?)?,
    })
}

/// The signals that a process catches and those that it blocks; nothing when that cannot be known.
pub(super) fn caught_and_blocked(pid: Pid) -> (Option<SignalSet>, Option<SignalSet>) {
    let Some(text) = text(pid, "status") else { return (None, None) };
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim(), 16).ok().map(SignalSet::from_bits)
    };
    let (caught, blocked) = (field("SigCgt:"), field("SigBlk:"));
    // While a process waits for signals in sigwait, the kernel takes those off its mask, and nothing
    // shows which they are.
    if waits_for_signals(pid) { (None, None) } else { (caught, blocked) }
}

/// Whether a process sleeps in `sigwait` or one of its kin.
fn waits_for_signals(pid: Pid) -> bool {
    text(pid, "wchan").is_some_and(|function| function.contains("sigtimedwait"))
}

/// The first two words of the command line.
pub(super) fn command_line(pid: Pid) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes = fs::read(path(pid, "cmdline")?).ok()?;
    let mut words = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    Some((words.next()?, words.next().unwrap_or_default()))
}

/// The pipe behind a descriptor, by inode.
pub(super) fn pipe(pid: Pid, fd: u32) -> Option<u64> {
    inode(&fs::read_link(path(pid, &format!("fd/{fd}"))?).ok()?.to_string_lossy(), "pipe")
}

/// The sockets that a process has open, by inode.
pub(super) fn sockets(pid: Pid) -> HashSet<u64> {
    descriptors(pid).into_iter().flatten().filter_map(|entry| socket(&entry.path())).collect()
}

/// The sockets that we opened ourselves, by inode. Those that were given to us are for the server.
pub(super) fn sockets_of_our_own(own_pid: Pid) -> HashSet<u64> {
    let passed_on =
        |entry: &DirEntry| entry.file_name().to_str().and_then(|fd| fd.parse().ok()).is_some_and(is_passed_on);
    let own = descriptors(own_pid).into_iter().flatten().filter(|entry| !passed_on(entry));
    own.filter_map(|entry| socket(&entry.path())).collect()
}

/// The entries of `/proc/PID/fd`; nothing when they are not shown. When the first thread of a process
/// has ended before the others, theirs are shown in its place.
pub(super) fn descriptors(pid: Pid) -> Option<Peekable<Flatten<ReadDir>>> {
    let list = |what: &str| Some(fs::read_dir(path(pid, what)?).ok()?.flatten().peekable());
    let mut shown = list("fd")?;
    if shown.peek().is_some() {
        return Some(shown);
    }
    let thread = list("task")?.last()?.file_name();
    list(&format!("task/{}/fd", thread.to_str()?))
}

/// The socket behind an entry of `/proc/PID/fd`, by inode.
pub(super) fn socket(entry: &Path) -> Option<u64> {
    inode(&fs::read_link(entry).ok()?.to_string_lossy(), "socket")
}

/// The real user of a process.
pub(super) fn uid(pid: Pid) -> Option<u32> {
    text(pid, "status")?
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The TCP sockets of our network namespace that listen, by inode.
pub(super) fn listening_sockets() -> HashSet<u64> {
    const LISTEN: &str = "0A";
    let mut found = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(text) = fs::read_to_string(table) else { continue };
        found.extend(text.lines().skip(1).filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(3);
            let state = fields.next()?;
            let inode = fields.nth(5)?;
            if state == LISTEN { inode.parse::<u64>().ok() } else { None }
        }));
    }
    found
}

/// `kind:[123]` as `/proc/PID/fd` names what has no path.
fn inode(link: &str, kind: &str) -> Option<u64> {
    link.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}
