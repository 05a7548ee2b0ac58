//! What section by section is promised of a stop, one scenario each, in virtual time.
//!
//! A [`Run`] is a machine with a small world around it: it answers every look at once from the
//! processes it was given, reaps what dies, and lets time pass from deadline to deadline as the
//! shell does.

mod delay;
mod drain;
mod hold;
mod hooks;
mod plain;
mod shells;
mod signals;
mod sweep;

use super::Machine;
use crate::core::action::Hook;
use crate::core::fixtures::MAIN;
use crate::core::{
    Action, Event, Look, Note, Phase, Pid, Policy, Process, Sender, Signal, Snapshot, Target, Tick, WaitStatus,
};
use std::time::Duration;

const OUTSIDE: Sender = Sender::Outside { uid: 0 };
const INSIDE: Sender = Sender::Process { pid: 90, uid: 0 };
const TERMINAL: Sender = Sender::Kernel;

/// A machine, its world, and what it wanted done.
struct Run {
    machine: Machine,
    now: Tick,
    world: Vec<Process>,
    /// There is no `/proc`: looks see nothing.
    blind: bool,
    /// Whether deaths are followed by the reaper's word on what is left.
    reaper: bool,
    /// How often the processes were looked at.
    looks: usize,
    done: Vec<String>,
    notes: Vec<Note>,
}

// === impl Run ===

impl Run {
    /// Nothing was started yet.
    fn idle(policy: Policy) -> Self {
        Self {
            machine: Machine::new(policy, "app"),
            now: Duration::ZERO,
            world: Vec::new(),
            blind: false,
            reaper: true,
            looks: 0,
            done: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The main process (pid 7) was started at 0 s, and these are the processes there are.
    fn of<const N: usize>(policy: Policy, world: [Process; N]) -> Self {
        let mut run = Self::idle(policy);
        run.world = world.into();
        run.event(Event::Started(MAIN));
        run.expect("ready");
        run
    }

    fn event(&mut self, event: Event) -> &mut Self {
        let mut actions = Vec::new();
        self.machine.step(self.now, event, &mut actions);
        let mut looks = Vec::new();
        for action in actions {
            if let Action::Look(look) = action {
                looks.push(look);
            }
            match action {
                Action::Note(note) => self.notes.push(note),
                other => self.done.extend(in_words(&other)),
            }
        }
        for look in looks {
            self.looks += 1;
            let snapshot = self.look(look);
            self.event(Event::Seen(snapshot));
        }
        self
    }

    fn look(&self, look: Look) -> Snapshot {
        let processes = match look {
            _ if self.blind => Vec::new(),
            Look::Told { main, told }
                if [main, told].iter().all(|pid| self.world.iter().any(|seen| seen.pid == *pid)) =>
            {
                self.world.iter().filter(|process| [main, told].contains(&process.pid)).cloned().collect()
            }
            Look::Main(_) | Look::Told { .. } => self.world.clone(),
            Look::Children => self.world.iter().filter(|process| process.parent == 1).cloned().collect(),
        };
        Snapshot { processes, blind: self.blind }
    }

    /// Time passes to this moment, each deadline on the way being kept.
    fn at(&mut self, moment: Duration) -> &mut Self {
        while let Some(deadline) = self.machine.next_deadline().filter(|deadline| *deadline <= moment) {
            assert!(deadline > self.now, "a deadline that was over was left standing");
            self.now = deadline;
            self.event(Event::Time);
        }
        self.now = moment;
        self
    }

    /// Time passes to this moment in one go: the container was frozen.
    fn late(&mut self, moment: Duration) -> &mut Self {
        self.now = moment;
        self.event(Event::Time)
    }

    fn signal(&mut self, signal: Signal, sender: Sender) -> &mut Self {
        self.event(Event::Signal(signal, sender))
    }

    /// TERM from the platform.
    fn term(&mut self) -> &mut Self {
        self.signal(Signal::TERM, OUTSIDE)
    }

    /// A process comes into being.
    fn born(&mut self, process: Process) -> &mut Self {
        self.world.push(process);
        self
    }

    /// A process that is not our child has gone.
    fn gone(&mut self, pid: Pid) -> &mut Self {
        self.world.retain(|process| process.pid != pid);
        self
    }

    /// A process becomes another by `exec`.
    fn becomes(&mut self, process: Process) -> &mut Self {
        self.gone(process.pid);
        self.born(process)
    }

    /// A child of ours ends; its children are ours from now on.
    fn died(&mut self, pid: Pid, status: WaitStatus) -> &mut Self {
        self.gone(pid);
        for process in &mut self.world {
            if process.parent == pid {
                process.parent = 1;
            }
        }
        self.event(Event::Died(pid, status));
        if self.reaper {
            let children_left = self.world.iter().any(|process| process.parent == 1);
            self.event(Event::Reaped { children_left });
        }
        self
    }

    fn exited(&mut self, pid: Pid, code: u8) -> &mut Self {
        self.died(pid, WaitStatus::exited(code))
    }

    fn killed(&mut self, pid: Pid, signal: Signal) -> &mut Self {
        self.died(pid, WaitStatus::killed(signal))
    }

    /// All that was wanted since the last time this was asked, in order; notes are not among it.
    #[track_caller]
    fn expect(&mut self, wanted: &str) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.done).join(", "), wanted, "at {:?}", self.now);
        self
    }

    #[track_caller]
    fn phase(&mut self, phase: Phase) -> &mut Self {
        assert_eq!(self.machine.phase(), phase, "at {:?}", self.now);
        self
    }

    /// A note like this was made since the last time one was asked for.
    #[track_caller]
    fn noted(&mut self, like: impl Fn(&Note) -> bool) -> &mut Self {
        let notes = std::mem::take(&mut self.notes);
        assert!(notes.iter().any(like), "at {:?}: {notes:?}", self.now);
        self
    }

    #[track_caller]
    fn not_noted(&mut self, like: impl Fn(&Note) -> bool) -> &mut Self {
        let notes = std::mem::take(&mut self.notes);
        assert!(!notes.iter().any(like), "at {:?}: {notes:?}", self.now);
        self
    }

    #[track_caller]
    fn deadline(&mut self, moment: Option<Duration>) -> &mut Self {
        assert_eq!(self.machine.next_deadline(), moment, "at {:?}", self.now);
        self
    }
}

/// An action in a few words: `tell 7 QUIT` is a graceful stop (waking the process when it is
/// stopped), `pass HUP to 7` a signal handed on.
fn in_words(action: &Action) -> Option<String> {
    Some(match action {
        Action::Send(delivery) => {
            let to = match delivery.to {
                Target::Child(pid) => pid.to_string(),
                Target::Group(pid) => format!("group {pid}"),
                Target::Remains(pid) => format!("what is left of group {pid}"),
                Target::Descendant { pid, parent } => format!("{pid} under {parent}"),
            };
            let signal = delivery.signal.to_string().replace("SIG", "");
            if delivery.wake { format!("tell {to} {signal}") } else { format!("pass {signal} to {to}") }
        }
        Action::KillAll => "kill all".to_owned(),
        Action::Suspend => "suspend".to_owned(),
        Action::Ready(true) => "ready".to_owned(),
        Action::Ready(false) => "unready".to_owned(),
        Action::StartHook(Hook::OnStop) => "start on-stop".to_owned(),
        Action::StartHook(Hook::OnExit) => "start on-exit".to_owned(),
        Action::KillHook(Hook::OnStop) => "kill on-stop".to_owned(),
        Action::KillHook(Hook::OnExit) => "kill on-exit".to_owned(),
        Action::Watch(true) => "watch".to_owned(),
        Action::Watch(false) => "unwatch".to_owned(),
        Action::Exit(code) => format!("exit {code}"),
        Action::Look(_) | Action::Note(_) => return None,
    })
}
