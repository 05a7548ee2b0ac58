//! The stop sequence: one state, one `step` for whatever happens.
//!
//! The state and the dispatch stand here; what is done in each phase stands in the file named after
//! it. A phase is entered by one function (`begin_stop`, `begin_drain`, …) and left by another's
//! entering, so that what a phase promises can be read in one place.

mod drain;
mod forward;
mod plain;
mod stop;
mod sweep;
mod timers;

#[cfg(test)]
mod explore;
#[cfg(test)]
mod tests;

use super::note::{Told, Why};
use super::policy::REMEMBERED;
use super::{
    Action, Event, Look, Note, Phase, Pid, Policy, Sender, Signal, Snapshot, State, Tick, WaitStatus, programs,
};
use std::collections::{BTreeSet, VecDeque};
use timers::{Timer, Timers};

/// The state of one server's life under lameduck.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    policy: Policy,
    /// The base name of the command: what the server is called when `/proc` does not tell.
    spawned_as: String,
    phase: Phase,
    /// When the phase began.
    since: Tick,
    main: Main,
    timers: Timers,
    /// Signals that came before there was anybody to give them to.
    early: Vec<(Signal, Sender)>,
    /// What each look that is under way is wanted for.
    asked: VecDeque<Question>,
    /// The main process was seen to be no shell.
    plain: Option<Plain>,
    stop: Option<Stop>,
    drain: Drain,
    sweep: Sweep,
    /// [`Action::Exit`] was given, with this; nothing follows it.
    exit: Option<u8>,
}

/// The main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Main {
    NotYet,
    Running(Pid),
    Ended { pid: Pid, status: WaitStatus, phase: Phase },
}

/// A main process that was no shell when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plain {
    /// From then on it may have become another program: a launcher execs the server one day.
    until: Tick,
    /// The graceful signal of its program, when the table has one.
    graceful: Option<Signal>,
}

/// What a look at the processes is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Whether the main process has had this signal of the terminal already.
    HasIt(Signal, Sender),
    /// Whether this signal is the graceful one of what runs, and so starts a stop.
    IsStop(Signal, Sender),
    /// Whom this signal is for.
    Forward(Signal),
    /// What to announce at the beginning of the delay.
    Plan,
    /// Whom to stop, or to hold for.
    Drain(Why),
    /// Whom to stop, now that the hold is over.
    Release(Why),
    /// What the shell runs now.
    Poll,
    /// Who was left behind.
    Leftovers,
    /// Nothing any more: the main process has ended since.
    Nothing,
}

/// The stop that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stop {
    signal: Signal,
    sender: Sender,
    at: Tick,
}

/// The drain: who was told, and how it goes behind a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Drain {
    /// Who was told, and with what.
    told: Vec<Told>,
    /// Where those can be reached.
    targets: Vec<super::Target>,
    /// The main process was a shell, and those behind it were told in its place.
    through: bool,
    /// The signal the main process itself was told with.
    main_told: Option<Signal>,
    /// What the main process was called, and which children it had, when those behind it were told.
    before: Option<(String, Vec<Pid>)>,
    /// Who runs beside the server, behind the same shell, and is needed until it has drained.
    beside: Vec<Pid>,
    /// One of those told that was there when last looked at: until it is gone there is nothing else to
    /// see.
    alive: Option<Pid>,
    /// Since when all of those told are gone.
    gone_since: Option<Tick>,
    /// While the graceful signal is held.
    holding: Option<Holding>,
    /// Answers still owed when a hold had taken as long as it may.
    cut: Option<u32>,
    /// It was said for how many answers the signal is held.
    said_holding: bool,
    /// The deadline that passed before anybody could be told.
    overdue: Option<Tick>,
}

/// The graceful signal is held until no answer is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holding {
    /// How many samples running owed nothing.
    samples: u8,
    /// How many answers the last one owed.
    owed: u32,
    /// Why the drain began.
    why: Why,
}

/// The sweep: who was told, and whether everything was killed already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Sweep {
    /// Who had a signal of theirs, in the drain or since. There may be thousands.
    told: BTreeSet<Pid>,
    /// Everything was sent SIGKILL.
    killed: bool,
    /// No time is given to what was left behind.
    at_once: bool,
    /// What a leftover that owns a port of the clients' may have; taken once one is found.
    rest: Rest,
    /// Not everything could be waited for.
    left_behind: bool,
}

/// What was left of the drain when the main process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Rest {
    /// There was no drain.
    #[default]
    Nothing,
    /// All until this moment.
    Until(Tick),
    /// The drain has no deadline.
    Unlimited,
}

// === impl Machine ===

impl Machine {
    /// A machine for one command. `spawned_as` is its base name.
    #[must_use]
    pub fn new(policy: Policy, spawned_as: impl Into<String>) -> Self {
        Self {
            policy,
            spawned_as: spawned_as.into(),
            phase: Phase::Starting,
            since: Tick::ZERO,
            main: Main::NotYet,
            timers: Timers::default(),
            early: Vec::new(),
            asked: VecDeque::new(),
            plain: None,
            stop: None,
            drain: Drain::default(),
            sweep: Sweep::default(),
            exit: None,
        }
    }

    /// Takes in what happened, and adds to `actions` what is to be done about it.
    ///
    /// `now` never goes back. Deadlines that have passed are acted on after the event, in their
    /// order: a main process that ended in the same instant is not killed.
    pub fn step(&mut self, now: Tick, event: Event, actions: &mut Vec<Action>) {
        if self.exit.is_some() {
            return;
        }
        match event {
            Event::Started(pid) => self.on_started(now, pid, actions),
            Event::NotStarted(code) => self.on_not_started(now, code, actions),
            Event::Signal(signal, sender) => self.on_signal(now, signal, sender, actions),
            Event::Died(pid, status) => self.on_died(now, pid, status, actions),
            Event::Reaped { children_left } => self.on_reaped(now, children_left, actions),
            Event::Seen(snapshot) => self.on_seen(now, &snapshot, actions),
            Event::HookEnded(hook) => self.on_hook_ended(now, hook, actions),
            Event::Quiet => self.on_quiet(now, actions),
            Event::Owed(owed) => self.on_owed(now, owed, actions),
            Event::Time => {}
        }
        while self.exit.is_none()
            && let Some(timer) = self.timers.take_due(now)
        {
            match timer {
                Timer::Hook => self.on_hook_timeout(now, actions),
                Timer::Delay => self.begin_drain(now, Why::DelayOver, actions),
                Timer::Hold => self.on_hold_over(actions),
                Timer::Poll => self.ask(Question::Poll, actions),
                Timer::Drain => self.on_drain_deadline(now, actions),
                Timer::Kill => self.finish(now, true, actions),
                Timer::Sweep => self.on_sweep_over(now, actions),
            }
        }
    }

    /// The moment by which [`Machine::step`] must be called again though nothing happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.timers.next()
    }

    /// Where the life of the server stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The main process, while it runs.
    #[must_use]
    pub fn main(&self) -> Option<Pid> {
        match self.main {
            Main::Running(pid) => Some(pid),
            Main::NotYet | Main::Ended { .. } => None,
        }
    }

    /// What was asked for.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether the graceful signal is held, and waits for [`Event::Owed`].
    #[must_use]
    pub fn is_holding(&self) -> bool {
        self.drain.holding.is_some()
    }

    /// When the stop was asked for, and by which signal.
    #[must_use]
    pub fn stop(&self) -> Option<(Tick, Signal)> {
        self.stop.map(|stop| (stop.at, stop.signal))
    }

    /// When the delay ends that is under way.
    #[must_use]
    pub fn delay_ends(&self) -> Option<Tick> {
        self.timers.get(Timer::Delay)
    }

    /// When the stop was asked for.
    #[must_use]
    pub fn stop_began(&self) -> Option<Tick> {
        self.stop.map(|stop| stop.at)
    }

    /// The moment at which what still runs is killed, as things stand; `None` when nothing is to be.
    #[must_use]
    pub fn kill_at(&self) -> Option<Tick> {
        match self.phase {
            Phase::LameDuck => Some(self.delay_ends_at()? + self.policy.drain?),
            Phase::Draining => self.timers.get(Timer::Drain),
            Phase::Sweeping => self.timers.get(Timer::Sweep).filter(|_| !self.sweep.killed),
            Phase::Starting | Phase::Serving | Phase::Killing | Phase::Gone => None,
        }
    }

    /// What the main process was seen to be, if that was a moment ago and no shell.
    fn plain(&self, now: Tick) -> Option<Plain> {
        self.plain.filter(|plain| now < plain.until)
    }

    /// What the world may know now.
    #[must_use]
    pub fn state(&self, now: Tick) -> State {
        let left = |at: Tick| at.saturating_sub(now);
        let ended = match self.main {
            Main::Ended { .. } => Some(self.ended(now).code),
            // It was given up.
            Main::Running(_) if self.phase == Phase::Gone => Some(self.ended(now).code),
            Main::NotYet | Main::Running(_) => None,
        };
        State {
            phase: self.phase,
            ready: self.policy.is_ready_in(self.phase),
            main: self.main(),
            stop: self.stop.map(|stop| (stop.signal, stop.sender)),
            elapsed: self.stop.map(|stop| now.saturating_sub(stop.at)),
            remaining: self.kill_at().map(left),
            phase_elapsed: now.saturating_sub(self.since),
            phase_remaining: self.phase_ends_at().map(left),
            exit_code: self.exit.or(ended),
        }
    }

    /// When the phase ends at the latest, as things stand; `None` when only an event ends it.
    fn phase_ends_at(&self) -> Option<Tick> {
        match self.phase {
            Phase::LameDuck => self.delay_ends_at(),
            Phase::Draining => self.timers.get(Timer::Drain),
            Phase::Killing => self.timers.get(Timer::Kill),
            Phase::Sweeping => self.timers.get(Timer::Sweep),
            Phase::Gone => self.timers.get(Timer::Hook),
            Phase::Starting | Phase::Serving => None,
        }
    }

    fn delay_ends_at(&self) -> Option<Tick> {
        self.timers.get(Timer::Delay).or_else(|| Some(self.timers.get(Timer::Hook)? + self.policy.delay))
    }

    /// Begins a phase. Readiness comes and goes with the phases, and they never go back.
    fn enter(&mut self, now: Tick, phase: Phase, actions: &mut Vec<Action>) {
        if phase == self.phase {
            return;
        }
        let (was_ready, is_ready) = (self.policy.is_ready_in(self.phase), self.policy.is_ready_in(phase));
        self.phase = phase;
        self.since = now;
        actions.push(Action::Note(Note::Entered(phase)));
        if was_ready != is_ready {
            actions.push(Action::Ready(is_ready));
        }
    }

    fn on_started(&mut self, now: Tick, pid: Pid, actions: &mut Vec<Action>) {
        if self.main != Main::NotYet {
            return;
        }
        self.main = Main::Running(pid);
        self.enter(now, Phase::Serving, actions);
        for (signal, sender) in std::mem::take(&mut self.early) {
            self.on_signal(now, signal, sender, actions);
        }
    }

    fn on_not_started(&mut self, now: Tick, code: u8, actions: &mut Vec<Action>) {
        if self.main == Main::NotYet {
            // A status of our own making is not the server's: it is not mapped.
            self.exit(now, code, actions);
        }
    }

    fn on_signal(&mut self, now: Tick, signal: Signal, sender: Sender, actions: &mut Vec<Action>) {
        if self.phase == Phase::Starting {
            if !self.early.iter().any(|(early, _)| *early == signal) {
                self.early.push((signal, sender));
            }
            return;
        }
        if self.may_have_it_from_the_terminal(signal, sender) {
            self.ask(Question::HasIt(signal, sender), actions);
        } else {
            self.take_signal(now, signal, sender, actions);
        }
    }

    fn take_signal(&mut self, now: Tick, signal: Signal, sender: Sender, actions: &mut Vec<Action>) {
        if self.policy.rewritten(signal).is_some() {
            match self.is_stop(now, signal, sender) {
                Some(true) => self.on_stop(now, signal, sender, actions),
                Some(false) => self.forward(now, signal, actions),
                None => self.ask(Question::IsStop(signal, sender), actions),
            }
        }
        self.suspend_with_it(signal, actions);
    }

    /// Asks for a look; the answer is taken for the questions in their order.
    fn ask(&mut self, question: Question, actions: &mut Vec<Action>) {
        let look = match (question, self.main) {
            (Question::Leftovers, _) => Look::Children,
            (Question::Poll, Main::Running(main)) => {
                self.drain.alive.map_or(Look::Main(main), |told| Look::Told { main, told })
            }
            (_, Main::Running(pid)) => Look::Main(pid),
            (_, Main::NotYet | Main::Ended { .. }) => return,
        };
        self.asked.push_back(question);
        actions.push(Action::Look(look));
    }

    fn on_seen(&mut self, now: Tick, snapshot: &Snapshot, actions: &mut Vec<Action>) {
        let Some(question) = self.asked.pop_front() else { return };
        let before = actions.len();
        self.answer(now, question, snapshot, actions);
        // What has just been seen need not be looked at again.
        if matches!(question, Question::IsStop(..))
            && matches!(actions.get(before..).and_then(<[Action]>::last), Some(Action::Look(Look::Main(_))))
            && let Some(raised) = self.asked.pop_back()
        {
            actions.pop();
            self.answer(now, raised, snapshot, actions);
        }
    }

    fn answer(&mut self, now: Tick, question: Question, snapshot: &Snapshot, actions: &mut Vec<Action>) {
        if let Question::Leftovers = question {
            self.tell_leftovers(now, snapshot, actions);
            return;
        }
        let Main::Running(main) = self.main else { return };
        if self.plain(now).is_none() {
            self.plain = snapshot.get(main).filter(|process| !process.shell).map(|process| Plain {
                until: now + REMEMBERED,
                graceful: programs::lookup(process.program()).map(|program| program.graceful),
            });
        }
        match question {
            Question::HasIt(signal, _) if !snapshot.leads_a_group(main) => self.suspend_with_it(signal, actions),
            Question::HasIt(signal, sender) => self.take_signal(now, signal, sender, actions),
            Question::IsStop(signal, sender) => self.on_seen_for_stop(now, signal, sender, snapshot, main, actions),
            Question::Forward(signal) => Self::forward_behind(signal, snapshot, main, actions),
            Question::Plan => self.announce(snapshot, main, actions),
            Question::Drain(why) => self.tell_or_hold(now, why, snapshot, main, actions),
            Question::Release(why) => self.tell(now, why, snapshot, main, actions),
            Question::Poll => self.on_polled(now, snapshot, main, actions),
            Question::Leftovers | Question::Nothing => {}
        }
    }
}
