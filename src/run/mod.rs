//! The shell around the core: signals, deaths and the passing of time go in, actions come out.
//!
//! This is the only place where time passes. `quiet` is the whole of it while nothing but the
//! server has to be looked after: one blocking call, no timers, no wake-ups, no runtime. `live` is the
//! same with a runtime beside it, only when somebody is to be answered over the network.

pub(crate) mod clock;
mod health;
mod live;
mod look;
mod memory;
mod perform;
mod procfs;
mod quiet;
mod say;
mod start;

use crate::cli::Settings;
use crate::core::{Action, Event, Look, Machine, Pid, Signal, Snapshot};
use crate::sys::signals::{Arrival, Mask};
use crate::sys::wait::{self, Reaped};
use crate::{exit, log, sys};
use clock::Clock;
use health::{Health, Told};
use say::Say;
use std::collections::VecDeque;
use std::sync::Arc;

/// A server under lameduck.
struct Shell {
    machine: Machine,
    clock: Clock,
    own_pid: Pid,
    warn_on_reap: bool,
    say: Say,
    /// The status to leave with, once the machine has said so.
    exit: Option<u8>,
    /// Where those who ask over the network learn how things stand.
    told: Option<Arc<Told>>,
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
    // Before the server runs: a port that is taken is no reason to stop one.
    let port = settings.health.as_ref().map(|health| (health, health::bind(health.listen)));
    if let Some((health, Err(error))) = &port {
        say.refusal(format_args!("{}: cannot listen on {}: {error}", health.named, health.listen));
        return exit::OWN_ERROR;
    }
    let started = start::server(settings, mask, own_pid);
    let mut shell = Shell {
        machine: Machine::new(settings.policy.clone(), start::base_name(settings)),
        clock: Clock::start(),
        own_pid,
        warn_on_reap: settings.warn_on_reap,
        exit: None,
        told: None,
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
    match port {
        Some((settings, Ok(port))) => {
            let health = Health::new(port, settings, shell.tell(), shell.say.log());
            live::wait_to_the_end(&mut shell, health)
        }
        _ => quiet::wait_to_the_end(&mut shell),
    }
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
        if let Some(told) = &self.told {
            let now = self.clock.now();
            told.tell(now, self.machine.state(now));
        }
    }

    /// From here on tells how things stand, to whoever asks for it there.
    fn tell(&mut self) -> Arc<Told> {
        let told = Arc::new(Told::new(self.clock, self.machine.state(self.clock.now())));
        self.told = Some(Arc::clone(&told));
        told
    }

    /// Takes in what came of waiting for signals.
    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Signal(Signal::CHLD, _) => self.reap(),
            Arrival::Signal(signal, sender) if self.is_own_broken_pipe(signal, sender) => {}
            Arrival::Signal(signal, sender) => self.feed(Event::Signal(signal, sender)),
            Arrival::Nothing => self.feed(Event::Time),
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
