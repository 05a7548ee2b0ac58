//! Whom a stop is for: the main process, or, when that is a shell that would not pass the signal on,
//! the processes behind it.
//!
//! Containers are full of `sh -c 'server'` and entrypoint scripts without an `exec`. A shell that
//! waits for a child handles no signal: it either dies of it at once, and the server with the
//! container, or (as PID 1) never hears it. So lameduck looks through it: the server is signalled,
//! ends in its own time, and the shell goes on from there and returns the server's status.

use super::policy::{Policy, StopSignal};
use super::programs::{self, Program};
use super::{Pid, Process, Signal, Snapshot, Target};

/// One process that is to be told, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Whom.
    pub target: Target,
    /// Its pid.
    pub pid: Pid,
    /// What it is called.
    pub name: String,
    /// With which signal.
    pub signal: Signal,
    /// What the table knows of it.
    pub program: Option<&'static Program>,
}

/// The processes that a signal for the server should reach: never empty.
///
/// `main` is the main process and `signal` the one that a shell would have to handle to be told
/// itself. When the snapshot does not hold the main process (no `/proc`), it is the main process.
#[must_use]
pub fn behind(snapshot: &Snapshot, main: Pid, signal: Signal) -> Vec<Pid> {
    // Helpers beside a server (a log shipper, a cron) are needed until it has drained. A server may
    // well be fed through a pipe (`feed | server`).
    let listening: Vec<Pid> = looked_through(snapshot, main, signal, Readers::Too)
        .into_iter()
        .filter(|pid| snapshot.get(*pid).is_some_and(|process| process.listens))
        .collect();
    if listening.is_empty() { looked_through(snapshot, main, signal, Readers::EndByThemselves) } else { listening }
}

/// The processes that [`behind`] left out because others own the ports: a shell that waits for all
/// of its children waits for these as well.
#[must_use]
pub fn beside(snapshot: &Snapshot, main: Pid, signal: Signal) -> Vec<Pid> {
    let told = behind(snapshot, main, signal);
    let mut all = looked_through(snapshot, main, signal, Readers::EndByThemselves);
    all.retain(|pid| !told.contains(pid));
    all
}

/// Whether those that read from the pipe of another are looked at. In `server | cat`, cat ends by
/// itself when the server has closed the pipe, and with all of what it wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    Too,
    EndByThemselves,
}

/// `main`, or what is behind it.
fn looked_through(snapshot: &Snapshot, main: Pid, signal: Signal, readers: Readers) -> Vec<Pid> {
    let mut found = Vec::new();
    match snapshot.get(main) {
        Some(process) => look_through(snapshot, process, signal, readers, &mut found, 0),
        None => found.push(main),
    }
    found
}

/// Adds `process`, or what is behind it when it is a shell that waits.
fn look_through(
    snapshot: &Snapshot,
    process: &Process,
    signal: Signal,
    readers: Readers,
    found: &mut Vec<Pid>,
    depth: usize,
) {
    // A chain of shells is a few deep; a snapshot pieced together while pids were reused could hold
    // a circle.
    const DEEPEST: usize = 32;
    let before = found.len();
    if process.shell && !process.handles(signal) && depth < DEEPEST {
        let children: Vec<&Process> = snapshot.children(process.pid).filter(|child| child.pid != process.pid).collect();
        for child in &children {
            let reads_a_sibling = child.stdin_pipe.is_some()
                && children.iter().any(|sibling| sibling.pid != child.pid && sibling.stdout_pipe == child.stdin_pipe);
            if readers == Readers::Too || !reads_a_sibling {
                look_through(snapshot, child, signal, readers, found, depth + 1);
            }
        }
    }
    if found.len() == before && !found.contains(&process.pid) {
        found.push(process.pid);
    }
}

/// Who is to be stopped, and with what, when `received` asked for a stop.
///
/// `spawned_as` is the base name of the command that was started, for when there is no `/proc`.
#[must_use]
pub fn choose(policy: &Policy, snapshot: &Snapshot, main: Pid, spawned_as: &str, received: Signal) -> Vec<Choice> {
    // In group mode the shell and everything behind it get the signal anyway.
    let pids = behind(snapshot, main, asked_of_a_shell(policy, received));
    let choices: Vec<Choice> = pids
        .into_iter()
        .map(|pid| {
            let process = snapshot.get(pid);
            let name = process.map_or(spawned_as, |process| process.program()).to_owned();
            let (signal, program) = graceful(policy, process, &name, received);
            Choice { target: target(pid, main, process, policy.group), pid, name, signal, program }
        })
        .collect();
    if policy.group {
        choices.into_iter().take(1).map(|choice| Choice { target: Target::Group(main), ..choice }).collect()
    } else {
        choices
    }
}

/// The signal that a shell must handle to be told itself when `received` asked for a stop.
#[must_use]
pub fn asked_of_a_shell(policy: &Policy, received: Signal) -> Signal {
    match policy.stop_signal {
        StopSignal::This(signal) => signal,
        StopSignal::Same | StopSignal::Auto => policy.rewritten(received).unwrap_or(received),
    }
}

/// How a process is reached.
#[must_use]
pub fn target(pid: Pid, main: Pid, process: Option<&Process>, group: bool) -> Target {
    match process {
        _ if pid == main && group => Target::Group(main),
        _ if pid == main => Target::Child(main),
        Some(process) => Target::Descendant { pid, parent: process.parent },
        None => Target::Child(pid),
    }
}

/// The signal that stops a process gracefully, and what the table knows of it.
#[must_use]
pub fn graceful(
    policy: &Policy,
    process: Option<&Process>,
    name: &str,
    received: Signal,
) -> (Signal, Option<&'static Program>) {
    let program = programs::lookup(name);
    let handles = |signal| process.is_none_or(|process| process.handles(signal));
    let signal = match policy.stop_signal {
        StopSignal::This(signal) => signal,
        StopSignal::Same => policy.rewritten(received).unwrap_or(received),
        StopSignal::Auto => match (policy.rewritten(received), program) {
            // What the user wrote down beats what we think we know.
            (Some(rewritten), _) if rewritten != received => rewritten,
            // Busybox calls itself httpd too, and handles no WINCH.
            (_, Some(program)) if handles(program.graceful) => program.graceful,
            _ if handles(received) => received,
            _ => Signal::TERM,
        },
    };
    (signal, program)
}

/// The signal for a process that the main process left behind: its own graceful one, else TERM. What
/// was asked for with `--stop-signal` was asked of the server, not of these.
#[must_use]
pub fn leftover_signal(process: &Process) -> Signal {
    match programs::lookup(process.program()) {
        Some(program) if process.handles(program.graceful) => program.graceful,
        _ => Signal::TERM,
    }
}

#[cfg(test)]
mod tests;
