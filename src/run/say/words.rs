//! Pieces of sentences: who sent a signal, who was told, how long it may take, and why.

use crate::core::duration::Written;
use crate::core::note::{Made, Told, Why};
use crate::core::{Hook, Machine, Note, Phase, Pid, Sender, Signal, Target, Tick};
use crate::run::procfs;
use nix::errno::Errno;
use std::fmt::{self, Write as _};
use std::io;
use std::time::Duration;

/// The most names a line lists.
const MOST_NAMES: usize = 8;

/// The times a line carries, in seconds.
pub(super) struct Times {
    pub(super) phase: &'static str,
    /// Since the stop signal.
    pub(super) elapsed: Option<f64>,
    /// Until SIGKILL.
    pub(super) remaining: Option<f64>,
}

impl Times {
    pub(super) fn of(phase: Phase, machine: &Machine, now: Tick) -> Self {
        Self {
            phase: phase.name(),
            elapsed: machine.stop_began().map(|began| now.saturating_sub(began).as_secs_f64()),
            remaining: machine.kill_at().map(|at| at.saturating_sub(now).as_secs_f64()),
        }
    }

    /// Those of a note: by the time it is said the machine may be a phase further.
    pub(super) fn of_note(note: &Note, machine: &Machine, now: Tick) -> Self {
        let phase = match note {
            Note::LameDuck { .. } | Note::DelayOver(_) | Note::HookTimedOut(Hook::OnStop) => Phase::LameDuck,
            Note::Holding { .. } | Note::Draining { .. } | Note::WentOn { .. } => Phase::Draining,
            Note::Killing { .. } => Phase::Killing,
            Note::Sweeping { .. } | Note::LeftBehind | Note::Again { made: Made::SweepCut, .. } => Phase::Sweeping,
            Note::HookTimedOut(Hook::OnExit) | Note::Again { made: Made::HookCut, .. } | Note::Ended(_) => Phase::Gone,
            Note::Again { .. } => machine.phase(),
            Note::Entered(phase) => *phase,
        };
        Self::of(phase, machine, now)
    }
}

/// The sender of a signal in words.
pub(super) struct From {
    pub(super) sender: Sender,
    pub(super) pid: Option<Pid>,
    pub(super) uid: Option<u32>,
    pub(super) comm: Option<String>,
}

impl From {
    pub(super) fn read(sender: Sender) -> Self {
        let (pid, uid) = match sender {
            Sender::Process { pid, uid } => (Some(pid), Some(uid)),
            Sender::Outside { uid } => (Some(0), Some(uid)),
            Sender::Kernel => (None, None),
        };
        let comm = pid.filter(|pid| *pid != 0).and_then(procfs::stat).map(|stat| stat.comm);
        Self { sender, pid, uid, comm }
    }
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sender, &self.comm) {
            (Sender::Outside { .. }, _) => f.write_str("outside the container"),
            (Sender::Kernel, _) => f.write_str("terminal/kernel"),
            (Sender::Process { pid, uid }, Some(comm)) => write!(f, "{comm}[{pid}] of uid {uid}"),
            (Sender::Process { pid, uid }, None) => write!(f, "process {pid} of uid {uid}"),
        }
    }
}

/// `SIGQUIT to nginx[7], SIGTERM to app[8]`.
pub(super) struct Tellings<'a>(pub(super) &'a [Told]);

impl fmt::Display for Tellings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |told: &Told| {
            let group = if told.with_group { " and its group" } else { "" };
            format!("{} to {}[{}]{group}", told.signal, told.name, told.pid)
        };
        f.write_str(&names(self.0.iter().map(one)))
    }
}

/// What is done until the server is told.
pub(super) struct Meanwhile(pub(super) Option<Duration>, pub(super) Duration);

impl fmt::Display for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(hook, delay) = *self;
        match hook {
            None => write!(f, "serving on for {}", Written(delay)),
            Some(limit) => {
                write!(f, "serving on for the on-stop hook, {} at the most", Written(limit))?;
                if delay.is_zero() { Ok(()) } else { write!(f, ", and {} after it", Written(delay)) }
            }
        }
    }
}

/// When SIGKILL comes.
pub(super) struct Limit(pub(super) Option<Duration>);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "; SIGKILL {} later", Written(limit)),
            None => f.write_str("; no drain deadline"),
        }
    }
}

/// Why the drain begins now.
pub(super) struct Because<'a>(pub(super) Why, pub(super) Option<&'a (Signal, From)>);

impl fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Why::NoDelay, Some((signal, from))) => write!(f, "{signal} from {from}; "),
            (Why::NoDelay | Why::DelayOver, _) => f.write_str("delay over; "),
            (Why::Quiet, _) => f.write_str("no more traffic; "),
            (Why::Hurried(signal, _), _) => write!(f, "hurried by {signal}; "),
        }
    }
}

/// What a hold could not wait for.
pub(super) struct Cut(pub(super) Option<u32>);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(owed) => write!(f, "waited as long as may be, {} still owed; ", Answers(owed)),
            None => Ok(()),
        }
    }
}

/// `1 answer`, `3 answers`.
pub(super) struct Answers(pub(super) u32);

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answer{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// What a shell waits for before it runs its trap.
pub(super) struct Waits<'a>(pub(super) Option<&'a (Pid, String)>);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // What a shell waits for in `wait`, and what it runs, cannot be told apart from outside.
            Some((pid, name)) => {
                write!(f, "; its trap runs once {name}[{pid}] has ended, or at once if it is in `wait`")
            }
            None => Ok(()),
        }
    }
}

/// Why something failed, without the number that `io::Error` adds.
pub(in crate::run) struct Reason<'a>(pub(in crate::run) &'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.raw_os_error() {
            Some(number) => f.write_str(Errno::from_raw(number).desc()),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Whom a signal goes to.
pub(super) struct Whom(pub(super) Target);

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Target::Child(pid) | Target::Descendant { pid, .. } => write!(f, "process {pid}"),
            Target::Group(leader) | Target::Remains(leader) => write!(f, "process group {leader}"),
        }
    }
}

pub(super) fn why_key(why: Why) -> &'static str {
    match why {
        Why::NoDelay => "no-delay",
        Why::DelayOver => "delay",
        Why::Quiet => "quiet",
        Why::Hurried(..) => "hurried",
    }
}

pub(super) fn made_of(made: Made) -> &'static str {
    match made {
        Made::Hurried => "not waiting any longer",
        Made::Duplicate => "a duplicate of the first",
        Made::Ignored => "ignored, as --repeat says",
        Made::PassedOn => "passed on as it is",
        Made::AlreadyDraining => "the server is draining already",
        Made::SweepCut => "what was left behind is not waited for any longer",
        Made::HookCut => "the on-exit hook is not waited for any longer",
    }
}

pub(super) fn out_of_memory(kills: Option<u64>) -> String {
    match kills {
        Some(0) => ", not by lameduck (and not for want of memory in this cgroup)".to_owned(),
        Some(kills) => format!(", not by lameduck; out of memory? (the kernel has killed {kills} in this cgroup)"),
        None => ", not by lameduck; out of memory?".to_owned(),
    }
}

/// A list that does not grow without end.
pub(super) fn names(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MOST_NAMES);
    let mut text = all.take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {more} more");
    }
    text
}
