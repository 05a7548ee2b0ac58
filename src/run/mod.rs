//! The shell around the core: signals, deaths and the passing of time go in, actions come out.
//!
//! This is the only place where time passes. `quiet` is the whole of it while nothing but the
//! server has to be looked after: one blocking call, no timers, no wake-ups, no runtime. `live` is the
//! same with a runtime beside it, only when somebody is to be answered over the network.

pub(crate) mod clock;
mod extras;
mod files;
mod health;
mod hooks;
mod live;
mod look;
mod memory;
mod perform;
mod procfs;
mod quiet;
mod report;
mod say;
mod start;
mod state;
mod watch;

use crate::cli::Settings;
use crate::core::{Action, Delivery, Event, Look, Machine, Pid, Sender, Signal, SignalSet, Snapshot, Tick, WaitStatus};
use crate::sys::signals::{self, Arrival, Mask};
use crate::sys::wait::{self, Reaped};
use crate::{exit, log, sys};
use clock::Clock;
use extras::Extras;
use health::{Health, Told};
use say::{Reason, Say};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use watch::shell::Watching;

/// A server under lameduck.
struct Shell {
    machine: Machine,
    clock: Clock,
    own_pid: Pid,
    warn_on_reap: bool,
    say: Say,
    extras: Extras,
    /// The ports to watch; none for those the server listens on.
    watch_ports: Vec<u16>,
    watching: Watching,
    /// The processes were looked at since this was last asked.
    looked: bool,
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
    // Before the server runs: it may leave an orphan at once.
    let adopts = if own_pid == 1 { Ok(()) } else { sys::process::become_subreaper() };
    let watches_parent = settings.parent_death_signal.map_or(Ok(()), sys::process::set_parent_death_signal);
    let machine = Machine::new(settings.policy.clone(), start::base_name(settings));
    if settings.extras.any() || settings.health.is_some() {
        sys::process::take_the_places_of_closed_streams();
    }
    // Before the server runs: a port that is taken or a file that cannot be written keeps it from starting.
    let (extras, mut refused) = Extras::open(settings, &machine, *mask);
    let health = settings.health.as_ref().and_then(|asked| {
        let port = health::bind(asked).map_err(|why| refused.push(why)).ok()?;
        Some((asked, port))
    });
    let started = if refused.is_empty() { Some(start::server(settings, mask, own_pid)) } else { None };
    let mut shell = Shell {
        machine,
        clock: Clock::start(),
        extras,
        own_pid,
        warn_on_reap: settings.warn_on_reap,
        watch_ports: settings.watch_ports.clone(),
        watching: Watching::Off,
        looked: false,
        exit: None,
        told: None,
        actions: Vec::new(),
        say: {
            say.refused(&refused);
            say
        },
    };
    if settings.lets_go {
        sys::process::let_go_of_what_was_given();
    }
    for warning in &settings.warnings {
        shell.warn(warning);
    }
    if let Err(error) = adopts
        && settings.subreaper
    {
        shell.warn(&format!("--subreaper: orphans cannot be adopted here: {}", Reason(&error)));
    }
    if let Err(error) = watches_parent {
        shell.warn(&format!("--parent-death-signal cannot be set up: {}", Reason(&error)));
    }
    let server = if let Some(Ok(pid)) = started { Some(pid) } else { None };
    match started {
        Some(Ok(pid)) => {
            shell.say.started(pid);
            shell.extras.started(pid, || start::base_name(settings), shell.clock.now());
            shell.feed(Event::Started(pid));
            // Children that ended before signals were blocked have no CHLD left to tell of them.
            shell.reap();
        }
        Some(Err(failure)) => {
            shell.say.failure(&failure);
            shell.extras.warning(|| failure.to_string());
            shell.feed(Event::NotStarted(failure.code));
        }
        None => {
            for why in refused {
                shell.extras.warning(|| why);
            }
            shell.feed(Event::NotStarted(exit::OWN_ERROR));
        }
    }
    // Nobody is to be answered where nothing was started.
    let code = match health.filter(|_| shell.exit.is_none()) {
        Some((asked, port)) => {
            let startup = || health::Startup::new(own_pid, settings.watch_ports.clone());
            let health = Health::new(port, asked, startup, shell.tell(), shell.say.log());
            live::wait_to_the_end(&mut shell, health)
        }
        None => quiet::wait_to_the_end(&mut shell),
    };
    if let Some(server) = server
        && own_pid != 1
    {
        // Nobody outlives process 1.
        sys::terminal::take_back(server);
    }
    code
}

// === impl Shell ===

impl Shell {
    /// Does what is due.
    fn tick(&mut self) {
        self.watch_traffic();
        self.feed(Event::Time);
    }

    /// Something is wrong that keeps nothing from going on.
    fn warn(&mut self, text: &str) {
        self.say.warning(format_args!("{text}"));
        self.extras.warning(|| text.to_owned());
    }

    /// Hands an event to the machine and does what comes of it.
    fn feed(&mut self, event: Event) {
        // What comes of it is mostly nothing, and then takes no memory.
        let (mut next, mut later) = (Some(event), VecDeque::new());
        while let Some(event) = next {
            if let Event::Died(pid, status) = event
                && self.warn_on_reap
                && Some(pid) != self.machine.main()
            {
                self.say.reaped(pid, status);
            }
            let mut actions = std::mem::take(&mut self.actions);
            let now = self.clock.now();
            self.machine.step(now, event, &mut actions);
            for action in actions.drain(..) {
                if let Some(outcome) = self.perform(now, action) {
                    later.push_back(outcome);
                }
            }
            self.actions = actions;
            self.settle(now);
            next = later.pop_front();
            if next.is_none() && self.machine.is_holding() && !self.watching.is_on() {
                // Nobody else is going to say it.
                next = Some(Event::Owed(None));
            }
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
        self.react(arrival);
        if self.looked {
            self.take_the_others(arrival);
        }
    }

    /// Of the signals that wait the kernel gives the lowest first. A look takes long enough for the one
    /// that asked for it to be there again, and others with it, so after one each of the others has its
    /// turn: a storm of HUP, or of HUP and ALRM, must not keep TERM waiting for ever.
    #[cold]
    fn take_the_others(&mut self, mut last: Arrival) {
        let mut had = SignalSet::EMPTY;
        while let Arrival::Signal(signal, _) = last
            && self.exit.is_none()
        {
            had = had.with(signal);
            last = signals::waiting_but(had);
            if last != Arrival::Nothing {
                self.react(last);
            }
        }
        self.looked = false;
    }

    fn react(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Signal(Signal::CHLD, _) => self.reap(),
            Arrival::Signal(_, sender) if self.is_our_own(sender) => {}
            Arrival::Signal(signal, sender) => self.feed(Event::Signal(signal, sender)),
            Arrival::Nothing => self.tick(),
        }
    }

    /// Tells others where things stand now, and the log what kept them from being told.
    fn settle(&mut self, now: Tick) {
        self.extras.settled(&self.machine, now);
        for trouble in self.extras.troubles() {
            self.warn(&trouble);
        }
    }

    /// How long to wait for a signal before something else is due.
    fn wait_at_most(&self) -> Option<Duration> {
        let deadline = [self.machine.next_deadline(), self.watching.due()].into_iter().flatten().min();
        let deadline = deadline.map(|at| at.saturating_sub(self.clock.now()));
        [deadline, self.extras.wait_at_most()].into_iter().flatten().min()
    }

    /// Does one thing, and returns what came of it if the machine is to know.
    ///
    /// What is told of it is told as of `now`, when the machine took its step: from one moment to
    /// another a reader must find the time that the machine kept, however long the telling took.
    fn perform(&mut self, now: Tick, action: Action) -> Option<Event> {
        match action {
            Action::Send(delivery) => match perform::send(delivery, self.machine.main()) {
                Ok(()) => {
                    self.extras.delivered(delivery);
                    self.say.forwarded(delivery);
                }
                Err(error) => {
                    self.say.undelivered(delivery, &error);
                    let Delivery { to, signal, .. } = delivery;
                    let reason = Reason(&error);
                    self.extras.warning(|| format!("{signal} could not be sent to process {}: {reason}", to.pid()));
                }
            },
            Action::KillAll => {
                let killed = perform::kill_all(self.own_pid, self.machine.main());
                self.extras.killed(&killed);
                self.say.killed(&killed, self.machine.phase());
            }
            Action::Suspend => perform::suspend(self.own_pid),
            Action::Look(wanted) => {
                // Where there is nothing to be seen a look takes no time.
                self.looked = procfs::is_ours();
                return Some(Event::Seen(self.look(wanted)));
            }
            Action::Note(note) => {
                self.watch_note(&note);
                self.extras.note(&note, &self.machine, now);
                self.say.note(&note, &self.machine, now);
            }
            Action::Ready(ready) => self.extras.ready(ready),
            Action::StartHook(hook) => {
                if !self.extras.start_hook(hook, &self.machine, now) {
                    return Some(Event::HookEnded(hook));
                }
            }
            Action::KillHook(hook) => self.extras.kill_hook(hook),
            Action::Exit(code) => {
                // The server may be there still, if it could not be reaped.
                self.set_watching(false);
                self.extras.exit(&self.machine, now);
                self.exit = Some(code);
            }
            Action::Watch(on) => self.set_watching(on),
        }
        None
    }

    fn look(&self, wanted: Look) -> Snapshot {
        match wanted {
            Look::Main(main) => look::at_main(main),
            Look::Told { main, told } => look::at_told(main, told),
            Look::Children => {
                let mut seen = look::at_children(self.own_pid);
                seen.processes.retain(|process| !self.extras.owns(process));
                seen
            }
        }
    }

    /// Reaps all that have ended.
    fn reap(&mut self) {
        let children_left = loop {
            match wait::reap() {
                Reaped::Child(pid, status) => self.ended(pid, status),
                Reaped::NoneYet => break true,
                Reaped::NoChildren => break false,
            }
        };
        self.feed(Event::Reaped { children_left });
    }

    /// A child of ours has ended and was reaped.
    fn ended(&mut self, pid: Pid, status: WaitStatus) {
        match self.extras.hook_ended(pid, status, self.clock.now()) {
            Some((run, killed)) => {
                self.say.hook_ended(&run, status, killed, &self.machine, self.clock.now());
                self.feed(Event::HookEnded(run.hook));
            }
            None => self.feed(Event::Died(pid, status)),
        }
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
