//! Whose ports are watched: those that the server listens on, found at the stop signal.

use super::sock_diag::FAMILIES;
use super::table::Listener;
use crate::core::Pid;
use crate::run::{look, procfs};
use std::collections::HashSet;
use std::fs;

/// The ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) ports: Vec<u16>,
    /// The families in which they are listened on, and so those of their connections.
    pub(super) families: Vec<u8>,
    /// Nobody listens in this network namespace on any other, but for ourselves and Docker.
    pub(super) alone: bool,
    /// The descriptors of some descendant are not shown to us.
    pub(super) hidden: bool,
    /// So many ports more than are watched.
    pub(super) left_out: usize,
}

/// More ports are not watched: each connection of the namespace is compared with all of them.
pub(super) const MOST: usize = 32;

/// Picks the ports to watch out of all that is listened on: those `given`, or else those of our
/// descendants; never our own.
pub(super) fn choose(mut listeners: Vec<Listener>, given: &[u16], own_pid: Pid) -> Found {
    let ours = procfs::sockets_of_our_own(own_pid);
    listeners.retain(|listener| !ours.contains(&u64::from(listener.inode)));
    let (mut ports, hidden) =
        if given.is_empty() { of_descendants(&listeners, own_pid) } else { (given.to_vec(), false) };
    let mut once = HashSet::new();
    ports.retain(|port| once.insert(*port));
    let left_out = ports.len().saturating_sub(MOST);
    ports.truncate(MOST);
    let alone = listeners.iter().all(|listener| listener.resolver || ports.contains(&listener.port));
    // Of a port that nobody listens on (yet) it is not known.
    let listened_on = |family: u8, port: &u16| listeners.iter().any(|l| l.port == *port && l.family == family);
    let unknown = ports.iter().any(|port| !FAMILIES.into_iter().any(|family| listened_on(family, port)));
    let wanted = |family: &u8| unknown || ports.iter().any(|port| listened_on(*family, port));
    let families = FAMILIES.into_iter().filter(wanted).collect();
    Found { ports, families, alone, hidden, left_out }
}

/// Whether the server listens on any of the ports `given`, or else on any at all.
pub(super) fn are_open(listeners: Vec<Listener>, given: &[u16], own_pid: Pid) -> bool {
    let open: Vec<u16> = listeners.iter().map(|listener| listener.port).collect();
    choose(listeners, given, own_pid).ports.iter().any(|port| open.contains(port))
}

/// Also whether some had to be found by their user alone.
fn of_descendants(listeners: &[Listener], own_pid: Pid) -> (Vec<u16>, bool) {
    // Of what nobody has there is no owner to be found among all the processes.
    if listeners.is_empty() {
        return (Vec::new(), false);
    }
    let mut undecided: Vec<Listener> = listeners.to_vec();
    let mut ports = Vec::new();
    let mut closed = HashSet::new();
    for (pid, _) in look::names_of_descendants(own_pid) {
        let Some(inodes) = sockets(pid) else {
            closed.extend(procfs::uid(pid));
            continue;
        };
        for inode in inodes {
            if undecided.is_empty() {
                return (ports, !closed.is_empty());
            }
            undecided.retain(|listener| {
                let owned = u64::from(listener.inode) == inode;
                if owned {
                    ports.push(listener.port);
                }
                !owned
            });
        }
    }
    // The descriptors of another user's processes are not shown, but whose their sockets are is.
    ports.extend(undecided.iter().filter(|listener| closed.contains(&listener.uid)).map(|listener| listener.port));
    (ports, !closed.is_empty())
}

/// The sockets a process has open; `None` when that is not shown.
fn sockets(pid: Pid) -> Option<impl Iterator<Item = u64>> {
    let mut entries = procfs::descriptors(pid)?;
    // The directory may be shown and what is in it not.
    let first = entries.peek().map(fs::DirEntry::path);
    if first.is_some_and(|first| fs::read_link(first).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied))
    {
        return None;
    }
    Some(entries.filter_map(|entry| procfs::socket(&entry.path())))
}
