//! Delivering signals.

use super::{look, procfs};
use crate::core::{Delivery, Pid, Signal, Target};
use crate::sys::{kill, wait};
use nix::errno::Errno;
use std::collections::HashSet;
use std::io;

/// The most rounds in which descendants are killed. In each, new ones can only come from parents
/// that were not yet killed in the one before.
const ROUNDS: usize = 20;

/// Passes a signal on. `main` is the main process, while it runs.
///
/// # Errors
/// EPERM, when the target is not ours to signal. A target that has ended is no error.
pub(super) fn send(delivery: Delivery, main: Option<Pid>) -> io::Result<()> {
    let Delivery { to, signal, wake } = delivery;
    let result = match to {
        Target::Child(pid) => kill::process(pid, signal),
        Target::Group(leader) => match kill::group(leader, signal) {
            // The child has left its group, or has not made it yet.
            Err(error) if is(&error, Errno::ESRCH) => kill::process(leader, signal),
            result => result,
        },
        Target::Remains(leader) => kill::group(leader, signal),
        Target::Descendant { pid, parent } => send_to_descendant(pid, parent, signal, wake),
    };
    if wake && result.is_ok() {
        match to {
            Target::Child(pid) if wait::is_stopped(pid) => kill::process(pid, Signal::CONT)?,
            Target::Group(leader) if wait::is_stopped(leader) => kill::group(leader, Signal::CONT)?,
            // A shell that is stopped itself would never see the end of what it waits for.
            Target::Descendant { .. } => match main {
                Some(shell) if wait::is_stopped(shell) => kill::process(shell, Signal::CONT)?,
                _ => {}
            },
            _ => {}
        }
    }
    result.or_else(|error| if is(&error, Errno::ESRCH) { Ok(()) } else { Err(error) })
}

/// A process that is not our child may end at any time and its pid be given to another: it is held
/// by a handle, and only then looked at again.
fn send_to_descendant(pid: Pid, parent: Pid, signal: Signal, wake: bool) -> io::Result<()> {
    let handle = match kill::Handle::open(pid) {
        Ok(handle) => Some(handle),
        Err(error) if is(&error, Errno::ESRCH) => return Err(error),
        // An old kernel, a sandbox, no descriptor left: better a signal that is all but safe than
        // none.
        Err(_) => None,
    };
    let (handle, stat) = match procfs::stat(pid) {
        // The handle may have taken the last descriptor there was.
        None if handle.is_some() => {
            drop(handle);
            (None, procfs::stat(pid))
        }
        stat => (handle, stat),
    };
    let Some(stat) = stat.filter(|stat| stat.parent == parent) else { return Ok(()) };
    let send = |signal| match &handle {
        Some(handle) => match handle.send(signal) {
            // A sandbox may know the one call and not the other.
            Err(error) if !is(&error, Errno::ESRCH) => kill::process(pid, signal),
            result => result,
        },
        None => kill::process(pid, signal),
    };
    send(signal)?;
    if wake && stat.state == 'T' { send(Signal::CONT) } else { Ok(()) }
}

/// Stops ourselves until somebody sends CONT. The kernel spares process 1.
pub(super) fn suspend(own_pid: Pid) {
    // We may signal ourselves, and we are there.
    let _ = kill::process(own_pid, Signal::STOP);
}

/// SIGKILL to everything that is ours. Returns what that was, by id and name, as far as `/proc` tells.
pub(super) fn kill_all(own_pid: Pid, main: Option<Pid>) -> Vec<(Pid, String)> {
    if own_pid == 1 {
        let killed = look::names_of_descendants(own_pid);
        // Fails when there is nobody, or nobody that is ours to kill: then our own end kills them.
        let _ = kill::everyone();
        return killed;
    }
    // Before anything is killed: what has ended is not seen any more.
    let mut found = look::names_of_descendants(own_pid);
    if let Some(main) = main {
        // For when there is no /proc: at least the main process and its group. Both fail only when
        // there is no such process any more, or it is not ours to kill.
        let _ = kill::group(main, Signal::KILL);
        let _ = kill::process(main, Signal::KILL);
    }
    let mut killed: Vec<(Pid, String)> = Vec::new();
    let mut seen = HashSet::new();
    for _ in 0..ROUNDS {
        found.retain(|(pid, _)| seen.insert(*pid));
        if found.is_empty() {
            break;
        }
        for (pid, _) in &found {
            let _ = kill::process(*pid, Signal::KILL);
        }
        killed.append(&mut found);
        found = look::names_of_descendants(own_pid);
    }
    killed
}

/// SIGKILL to a child of ours, its group and its descendants. Returns who that was, the child first.
pub(super) fn kill_family(child: Pid) -> Vec<Pid> {
    let mut family = vec![child];
    // Before anything is killed: orphans would be found under us, with no trace of where they came from.
    family.extend(look::names_of_descendants(child).into_iter().map(|(pid, _)| pid));
    // Each fails only when there is no such process any more.
    let _ = kill::group(child, Signal::KILL);
    for pid in &family {
        let _ = kill::process(*pid, Signal::KILL);
    }
    family
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::own_pid;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    #[test]
    fn a_descendant_that_has_another_parent_by_now_is_another_process_and_left_alone() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::try_from(child.id()).unwrap();
        let to = |parent| Target::Descendant { pid, parent };
        send(Delivery { to: to(1), signal: Signal::KILL, wake: false }, None).unwrap();
        send(Delivery { to: to(own_pid()), signal: Signal::TERM, wake: false }, None).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.number()), "the first signal went to it");
        send(Delivery { to: to(own_pid()), signal: Signal::TERM, wake: false }, None).unwrap();
    }
}
