//! The shell around the core: signals, deaths and the passing of time go in, actions come out.
//!
//! This is the only place where time passes. `quiet` is the whole of it while nothing but the
//! server has to be looked after: one blocking call, no timers, no wake-ups, no runtime.

pub(crate) mod clock;
mod look;
mod memory;
mod perform;
mod procfs;
mod quiet;
mod say;
mod start;
mod watch;

use crate::cli::Settings;
use crate::core::{Action, Event, Look, Machine, Pid, Signal, Snapshot, Tick};
use crate::sys::signals::Mask;
use crate::sys::wait::{self, Reaped};
use crate::{log, sys};
use clock::Clock;
use say::Say;
use std::collections::VecDeque;
use watch::shell::Watching;

/// A server under lameduck.
struct Shell {
    machine: Machine,
    clock: Clock,
    own_pid: Pid,
    warn_on_reap: bool,
    say: Say,
    /// The ports to watch; none for those the server listens on.
    watch_ports: Vec<u16>,
    watching: Watching,
    /// The status to leave with, once the machine has said so.
    exit: Option<u8>,
    /// Reused from step to step.
    actions: Vec<Action>,
}

/// Runs the command of `settings` to its end, and returns the status to exit with.
///
/// All signals are to be blocked already; `mask` is the signal mask as it was before, which the
/// command gets.
#[must_use]
pub fn run(settings: &Settings, mask: &Mask) -> u8 {
    let own_pid = sys::process::own_pid();
    let mut say = Say::new(settings);
    let started = start::server(settings, mask, own_pid);
    let mut shell = Shell {
        machine: Machine::new(settings.policy.clone(), start::base_name(settings)),
        clock: Clock::start(),
        own_pid,
        warn_on_reap: settings.warn_on_reap,
        watch_ports: settings.watch_ports.clone(),
        watching: Watching::Off,
        exit: None,
        actions: Vec::new(),
        say: {
            say.warnings(&settings.warnings);
            say
        },
    };
    if own_pid != 1 {
        become_subreaper(settings, &mut shell.say);
    }
    if let Some(signal) = settings.parent_death_signal
        && let Err(error) = sys::process::set_parent_death_signal(signal)
    {
        shell.say.warning(format_args!("--parent-death-signal cannot be set up: {error}"));
    }
    match started {
        Ok(pid) => {
            shell.say.started(pid);
            shell.feed(Event::Started(pid));
            // Children that ended before signals were blocked have no CHLD left to tell of them.
            shell.reap();
        }
        Err(failure) => {
            shell.say.failure(&failure);
            shell.feed(Event::NotStarted(failure.code));
        }
    }
    quiet::wait_to_the_end(&mut shell)
}

/// Not PID 1: orphans come to us all the same, as they would to PID 1.
fn become_subreaper(settings: &Settings, say: &mut Say) {
    if let Err(error) = sys::process::become_subreaper()
        && settings.subreaper
    {
        say.warning(format_args!("--subreaper: orphans cannot be adopted here: {error}"));
    }
}

// === impl Shell ===

impl Shell {
    /// The moment by which [`Shell::tick`] must be called though nothing happens.
    fn next_deadline(&self) -> Option<Tick> {
        [self.machine.next_deadline(), self.watching.due()].into_iter().flatten().min()
    }

    /// Does what is due.
    fn tick(&mut self) {
        self.watch_traffic();
        self.feed(Event::Time);
    }

    /// Hands an event to the machine and does what comes of it.
    fn feed(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if let Event::Died(pid, status) = event
                && self.warn_on_reap
                && Some(pid) != self.machine.main()
            {
                self.say.reaped(pid, status);
            }
            let mut actions = std::mem::take(&mut self.actions);
            self.machine.step(self.clock.now(), event, &mut actions);
            for action in actions.drain(..) {
                if let Some(outcome) = self.perform(action) {
                    events.push_back(outcome);
                }
            }
            self.actions = actions;
            if events.is_empty() && self.machine.is_holding() && !self.watching.is_on() {
                // Nobody else is going to say it.
                events.push_back(Event::Owed(None));
            }
        }
    }

    /// Does one thing, and returns what came of it if the machine is to know.
    fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Send(delivery) => match perform::send(delivery) {
                Ok(()) => self.say.forwarded(delivery),
                Err(error) => self.say.undelivered(delivery, &error),
            },
            Action::KillAll => {
                let killed = perform::kill_all(self.own_pid, self.machine.main());
                self.say.killed(&killed);
            }
            Action::Look(wanted) => return Some(Event::Seen(self.look(wanted))),
            Action::Note(note) => {
                self.watch_note(&note);
                self.say.note(&note, &self.machine, self.clock.now());
            }
            Action::Watch(on) => self.set_watching(on),
            Action::Exit(code) => self.exit = Some(code),
            // Nothing in the settings asks for these yet: readiness and hooks are to be performed here.
            Action::Ready(_) | Action::StartHook(_) | Action::KillHook(_) => {}
        }
        None
    }

    fn look(&self, wanted: Look) -> Snapshot {
        match wanted {
            Look::Main(main) => look::at_main(main),
            Look::Children => look::at_children(self.own_pid),
        }
    }

    /// Reaps all that have ended.
    fn reap(&mut self) {
        let children_left = loop {
            match wait::reap() {
                Reaped::Child(pid, status) => self.feed(Event::Died(pid, status)),
                Reaped::NoneYet => break true,
                Reaped::NoChildren => break false,
            }
        };
        self.feed(Event::Reaped { children_left });
    }

    /// A signal that we caused ourselves by writing to a log that nobody reads.
    fn is_own_broken_pipe(&self, signal: Signal, sender: crate::core::Sender) -> bool {
        signal == Signal::PIPE && matches!(sender, crate::core::Sender::Process { pid, .. } if pid == self.own_pid)
    }
}

/// Writes a page to standard output or error, and returns its exit status.
#[must_use]
pub fn print(page: &crate::cli::Printed) -> u8 {
    match page.stream {
        crate::cli::Stream::Err => log::raw(&page.text),
        crate::cli::Stream::Out => sys::output::to_stdout(page.text.as_bytes()),
    }
    page.code
}
