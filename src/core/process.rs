//! What is known of a process at one moment, read from `/proc` by the shell.

use super::{Signal, SignalSet};

/// A process id of our PID namespace.
pub type Pid = i32;

/// One process as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: Pid,
    /// Its parent.
    pub parent: Pid,
    /// The process group it is in.
    pub group: Pid,
    /// The name the kernel keeps of it, at most 15 bytes: what it was exec'd as, or calls itself.
    pub comm: String,
    /// Whether it is a shell, going by the first word of its command line.
    pub shell: bool,
    /// The signals it catches; `None` when `/proc` does not tell.
    pub caught: Option<SignalSet>,
    /// The signals it blocks: a process that waits in `sigwait` or reads a signalfd blocks what it
    /// handles. `None` when `/proc` does not tell.
    pub blocked: Option<SignalSet>,
    /// The pipe behind its standard input, by inode.
    pub stdin_pipe: Option<u64>,
    /// The pipe behind its standard output, by inode.
    pub stdout_pipe: Option<u64>,
    /// Whether it, or a descendant of it, listens on a port that the clients use.
    pub listens: bool,
}

/// The processes that were looked at, in no order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// What was seen. A process that ended meanwhile is simply missing.
    pub processes: Vec<Process>,
    /// Nothing can be seen here: there is no `/proc`. What is missing may be there all the same.
    pub blind: bool,
}

/// Four that bash catches together with a dozen others as soon as a script has an EXIT trap: it
/// means to run that trap and die, but only once its foreground child has ended. So they say nothing
/// about a handler of the script's. (Seen in `/proc/PID/status` of bash 5.2 under `trap : EXIT`; no
/// script traps ILL, TRAP and SYS on purpose.)
const BASH_EXIT_TRAP: [Signal; 4] = [Signal::TERM, Signal::ILL, Signal::TRAP, Signal::SYS];

// === impl Process ===

impl Process {
    /// Whether it handles `signal` in some way of its own. Unknown counts as handled: the process
    /// is then given the signal it was promised, not a guess.
    #[must_use]
    pub fn handles(&self, signal: Signal) -> bool {
        let Some(caught) = self.caught else { return true };
        if self.shell {
            // Shells wait for no signals; but they block them all for a moment around a fork and
            // before they wait for a child.
            return caught.contains(signal) && !BASH_EXIT_TRAP.iter().all(|signal| caught.contains(*signal));
        }
        self.blocked.is_none_or(|blocked| blocked.contains(signal)) || caught.contains(signal)
    }

    /// The name of the program: `comm` up to the first `:` or blank (`nginx: master process`).
    #[must_use]
    pub fn program(&self) -> &str {
        program_of(&self.comm)
    }
}

/// The name of the program in a `comm`: all up to the first `:` or blank, if that is anything.
#[must_use]
pub fn program_of(comm: &str) -> &str {
    comm.split([':', ' ']).next().filter(|name| !name.is_empty()).unwrap_or(comm)
}

// === impl Snapshot ===

impl Snapshot {
    /// The process `pid`, if it was seen.
    #[must_use]
    pub fn get(&self, pid: Pid) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// Whether `pid` was seen at the head of a process group of its own.
    #[must_use]
    pub fn leads_a_group(&self, pid: Pid) -> bool {
        self.get(pid).is_some_and(|process| process.group == pid)
    }

    /// The children of `parent` that were seen.
    pub fn children(&self, parent: Pid) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(move |process| process.parent == parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixtures::{app, seen, shell, sleep};

    #[test]
    fn caught_and_blocked_signals_are_handled() {
        let process = sleep(7).catches(&[Signal::TERM]).blocks(&[Signal::QUIT]);
        assert!(process.handles(Signal::TERM), "a handler");
        assert!(process.handles(Signal::QUIT), "sigwait or a signalfd");
        assert!(!process.handles(Signal::INT));
    }

    #[test]
    fn what_a_shell_blocks_for_a_moment_is_not_handled() {
        let process = shell(7).catches(&[Signal::HUP]).blocks(&[Signal::HUP, Signal::TERM]);
        assert!(process.handles(Signal::HUP) && !process.handles(Signal::TERM));
    }

    #[test]
    fn what_proc_does_not_tell_counts_as_handled() {
        assert!(Process { caught: None, ..sleep(7) }.handles(Signal::USR1));
        assert!(Process { blocked: None, ..sleep(7) }.handles(Signal::USR1));
    }

    #[test]
    fn the_exit_trap_of_bash_hides_what_it_catches_and_only_in_a_shell() {
        let all = [Signal::HUP, Signal::ILL, Signal::TRAP, Signal::TERM, Signal::SYS];
        for signal in all {
            assert!(!shell(7).catches(&all).handles(signal), "{signal}");
            assert!(app(7).catches(&all).handles(signal), "{signal}");
        }
        // One of the four missing, and it is a handler of the script's own.
        for missing in BASH_EXIT_TRAP {
            let some: Vec<Signal> = all.into_iter().filter(|signal| *signal != missing).collect();
            assert!(shell(7).catches(&some).handles(Signal::HUP), "without {missing}");
        }
    }

    #[test]
    fn the_name_of_a_program_ends_at_a_colon_or_a_blank() {
        for (comm, program) in [
            ("nginx: master p", "nginx"),
            ("nginx", "nginx"),
            ("gunicorn master", "gunicorn"),
            ("", ""),
            (": x", ": x"),
        ] {
            assert_eq!(program_of(comm), program, "{comm:?}");
        }
        assert_eq!(app(7).program(), "app");
    }

    #[test]
    fn processes_are_found_by_pid_and_by_parent() {
        let snapshot = seen([app(7), app(20).under(7), app(21).under(20), app(22).under(7)]);
        assert_eq!(snapshot.get(21).map(|process| process.parent), Some(20));
        assert_eq!(snapshot.get(8), None);
        assert_eq!(snapshot.children(7).map(|process| process.pid).collect::<Vec<_>>(), [20, 22]);
    }
}
