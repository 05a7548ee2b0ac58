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

use crate::cli::Settings;
use crate::core::{Action, Event, Look, Machine, Pid, Sender, Snapshot};
use crate::sys::signals::Mask;
use crate::sys::wait::{self, Reaped};
use crate::{log, sys};
use clock::Clock;
use say::{Reason, Say};
use std::collections::VecDeque;

/// A server under lameduck.
struct Shell {
    machine: Machine,
    clock: Clock,
    own_pid: Pid,
    warn_on_reap: bool,
    say: Say,
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
    // Before the server runs: it may leave an orphan at once.
    let adopts = if own_pid == 1 { Ok(()) } else { sys::process::become_subreaper() };
    let watches_parent = settings.parent_death_signal.map_or(Ok(()), sys::process::set_parent_death_signal);
    let started = start::server(settings, mask, own_pid);
    let mut shell = Shell {
        machine: Machine::new(settings.policy.clone(), start::base_name(settings)),
        clock: Clock::start(),
        own_pid,
        warn_on_reap: settings.warn_on_reap,
        exit: None,
        actions: Vec::new(),
        say: {
            say.warnings(&settings.warnings);
            say
        },
    };
    if settings.lets_go {
        sys::process::let_go_of_what_was_given();
    }
    if let Err(error) = adopts
        && settings.subreaper
    {
        shell.say.warning(format_args!("--subreaper: orphans cannot be adopted here: {}", Reason(&error)));
    }
    if let Err(error) = watches_parent {
        shell.say.warning(format_args!("--parent-death-signal cannot be set up: {}", Reason(&error)));
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

// === impl Shell ===

impl Shell {
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
        }
    }

    /// Does one thing, and returns what came of it if the machine is to know.
    fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Send(delivery) => match perform::send(delivery, self.machine.main()) {
                Ok(()) => self.say.forwarded(delivery),
                Err(error) => self.say.undelivered(delivery, &error),
            },
            Action::KillAll => {
                let killed = perform::kill_all(self.own_pid, self.machine.main());
                self.say.killed(&killed, self.machine.phase());
            }
            Action::Suspend => perform::suspend(self.own_pid),
            Action::Look(wanted) => return Some(Event::Seen(self.look(wanted))),
            Action::Note(note) => self.say.note(&note, &self.machine, self.clock.now()),
            Action::Exit(code) => self.exit = Some(code),
            // Nothing in the settings asks for these yet: readiness, hooks and the watch are to be
            // performed here.
            Action::Ready(_) | Action::StartHook(_) | Action::KillHook(_) | Action::Watch(_) => {}
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

    /// A signal that we caused ourselves, by writing to a log that nobody reads (PIPE) or that may not
    /// grow (XFSZ): the server must not die of it.
    fn is_our_own(&self, sender: Sender) -> bool {
        matches!(sender, Sender::Process { pid, .. } if pid == self.own_pid)
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
