//! A machine on a walk, and what must hold at each of its steps.

use crate::core::fixtures::{MAIN, app, ms, nginx, seen, shell};
use crate::core::policy::{DUPLICATE, KILLING, StopOn};
use crate::core::{
    Action, Budget, Event, Hook, Look, Machine, Phase, Pid, Policy, Process, Sender, Signal, Snapshot, Target, Tick,
    WaitStatus,
};
use std::collections::VecDeque;
use std::time::Duration;

/// How much longer than the settings add up to a stop may take: the sweep waits so long for the
/// reaper's word when it has no time to give.
const SLACK: Duration = ms(10);

/// One step of a walk.
#[derive(Clone, Debug)]
pub(super) enum Move {
    Started,
    NotStarted,
    Signal(Signal, Sender),
    MainDied(WaitStatus),
    OtherDied,
    Reaped(bool),
    Seen(World),
    HookEnded(Hook),
    Quiet,
    Owed(Option<u32>),
    /// Time passes to the next deadline, if there is one.
    NextDeadline,
    /// So much time passes, whatever the deadlines.
    Pass(Duration),
}

/// What a look finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum World {
    /// A plain server; later, what it left behind.
    Server,
    /// A shell with a server behind it; later, both of its children.
    Shell,
    /// No `/proc`.
    Nothing,
    /// A shell, a helper and the server that owns the port.
    Listening,
    /// The shell's loop went on to another server.
    WentOn,
    /// A shell with a trap.
    Trap,
}

/// A machine, the moment, and as much of the past as the rules ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Walk {
    policy: Policy,
    machine: Machine,
    now: Tick,
    /// Looks that have no answer yet.
    looks: VecDeque<Look>,
    ready: Option<bool>,
    /// Who had a graceful signal.
    told: Vec<Pid>,
    killed: bool,
    /// How the main process ended, and when.
    ended: Option<(WaitStatus, Tick)>,
    could_not_start: bool,
    hook_over: Option<Tick>,
    drain_began: Option<Tick>,
    /// By how much deadlines were missed, all in all.
    late: Duration,
    exit: Option<u8>,
}

// === impl World ===

impl World {
    fn answer(self, look: Look) -> Snapshot {
        let child = |process: Process| process.under(MAIN);
        let of_main = look != Look::Children;
        match (of_main, self) {
            (true, Self::Server) => seen([nginx(MAIN)]),
            (true, Self::Shell) => seen([shell(MAIN), child(app(20))]),
            (_, Self::Nothing) => Snapshot { blind: true, ..Snapshot::default() },
            (true, Self::Listening) => seen([shell(MAIN), child(app(20)), child(nginx(21)).listening()]),
            (true, Self::WentOn) => seen([shell(MAIN), child(app(22))]),
            (true, Self::Trap) => seen([shell(MAIN).catches(&[Signal::TERM]), child(app(20))]),
            (false, Self::Server) => seen([app(20)]),
            (false, Self::Shell) => seen([app(20), nginx(21)]),
            (false, Self::Listening) => seen([nginx(21).listening(), app(20)]),
            (false, Self::WentOn) => seen([app(22), app(20)]),
            (false, Self::Trap) => seen([app(23).in_group(23), nginx(21)]),
        }
    }
}

// === impl Walk ===

impl Walk {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            machine: Machine::new(policy.clone(), "app"),
            policy,
            now: Tick::ZERO,
            looks: VecDeque::new(),
            ready: None,
            told: Vec::new(),
            killed: false,
            ended: None,
            could_not_start: false,
            hook_over: None,
            drain_began: None,
            late: Duration::ZERO,
            exit: None,
        }
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Takes one step, and checks it.
    pub(super) fn go(&mut self, next: &Move) {
        let event = match next {
            Move::Started => Event::Started(MAIN),
            Move::NotStarted => Event::NotStarted(127),
            Move::Signal(signal, sender) => Event::Signal(*signal, *sender),
            Move::MainDied(status) => Event::Died(MAIN, *status),
            Move::OtherDied => Event::Died(20, WaitStatus::exited(0)),
            Move::Reaped(children_left) => Event::Reaped { children_left: *children_left },
            Move::Seen(world) => {
                let look = self.looks.pop_front().unwrap_or(Look::Main(MAIN));
                Event::Seen(world.answer(look))
            }
            Move::HookEnded(hook) => Event::HookEnded(*hook),
            Move::Quiet => Event::Quiet,
            Move::Owed(owed) => Event::Owed(*owed),
            Move::NextDeadline => {
                self.pass_to(self.machine.next_deadline().unwrap_or(self.now));
                Event::Time
            }
            Move::Pass(time) => {
                self.pass_to(self.now + *time);
                Event::Time
            }
        };
        self.take_in(&event);
    }

    /// Lets time pass. To wake up on the way, with nothing due, changes nothing.
    fn pass_to(&mut self, moment: Tick) {
        let until = self.machine.next_deadline().map_or(moment, |deadline| deadline.min(moment));
        let half_way = self.now + until.saturating_sub(self.now) / 2;
        if self.machine.next_deadline() != Some(half_way) {
            let mut woken = self.machine.clone();
            let mut actions = Vec::new();
            woken.step(half_way, Event::Time, &mut actions);
            self.hold(actions.is_empty() && woken == self.machine, "waking up early changes nothing");
        }
        self.late += moment.saturating_sub(until);
        self.now = moment;
    }

    fn take_in(&mut self, event: &Event) {
        let mut twin = self.machine.clone();
        let before = self.clone();
        let (mut actions, mut same) = (Vec::new(), Vec::new());
        self.machine.step(self.now, event.clone(), &mut actions);
        twin.step(self.now, event.clone(), &mut same);
        self.hold(actions == same && twin == self.machine, "the same again gives the same");
        self.remember(&before, event);
        for (at, action) in actions.iter().enumerate() {
            self.hold(before.exit.is_none() && self.exit.is_none(), "nothing follows the exit");
            self.check_action(&before, event, action);
            self.hold(self.exit.is_none() || at + 1 == actions.len(), "the exit is the last action");
        }
        self.check_state(&before, event);
    }

    /// What the event says, whatever the machine makes of it.
    fn remember(&mut self, before: &Self, event: &Event) {
        if before.exit.is_some() {
            return;
        }
        let stop = before.machine.stop_began();
        match event {
            Event::NotStarted(_) if before.machine.phase() == Phase::Starting => self.could_not_start = true,
            Event::Died(pid, status) => {
                self.told.retain(|told| told != pid);
                if before.machine.main() == Some(*pid) {
                    self.ended = Some((*status, self.now));
                }
            }
            Event::HookEnded(Hook::OnStop) if stop.is_some() => {
                self.hook_over.get_or_insert(self.now);
            }
            _ => {}
        }
        if let (Some(limit), Some(stop)) = (self.policy.on_stop, self.machine.stop_began())
            && self.now >= stop + limit
        {
            self.hook_over.get_or_insert(self.now);
        }
        if before.machine.phase() < Phase::Draining && self.machine.phase() >= Phase::Draining && self.ended.is_none() {
            self.drain_began = Some(self.now);
        }
    }

    fn check_action(&mut self, before: &Self, event: &Event, action: &Action) {
        match action {
            Action::Ready(ready) => {
                let comes_or_goes = matches!((self.ready, ready), (None, true) | (Some(true), false));
                self.hold(comes_or_goes, "readiness comes once and goes once");
                self.ready = Some(*ready);
            }
            Action::Send(delivery) => {
                let pid = delivery.to.pid();
                if self.ended.is_some() {
                    let main = matches!(delivery.to, Target::Child(MAIN) | Target::Group(MAIN));
                    self.hold(!main || before.machine.phase() == Phase::Gone, "nobody is sent to a pid that was freed");
                }
                if delivery.wake {
                    self.hold(!self.told.contains(&pid), "nobody is told twice");
                    self.hold(self.drain_began.is_some() || self.ended.is_some(), "nobody is told before the drain");
                    self.hold(before.exit.is_none() && !before.killed, "nobody is told after the kill");
                    self.told.push(pid);
                } else {
                    let stop = match self.policy.stop_on {
                        StopOn::Auto => matches!(delivery.signal, Signal::TERM | Signal::QUIT),
                        StopOn::These(signals) => signals.contains(delivery.signal),
                        StopOn::Nothing => false,
                    };
                    self.hold(!stop || self.drain_began.is_some(), "no stop signal is passed on before the drain");
                }
            }
            Action::KillAll => {
                self.hold(!self.killed, "everything is killed once at the most");
                self.hold(self.may_kill(event), "the kill comes after the time for it");
                self.killed = true;
            }
            Action::Look(look) => {
                let of_main = *look != Look::Children;
                self.hold(of_main != self.ended.is_some(), "the server is looked at while it lives, then the rest");
                self.looks.push_back(*look);
            }
            Action::Exit(code) => self.exit = Some(*code),
            Action::StartHook(hook) => {
                let asked_for = if *hook == Hook::OnStop { self.policy.on_stop } else { self.policy.on_exit };
                self.hold(asked_for.is_some(), "only hooks that there are");
            }
            Action::Suspend => self.hold(false, "only a stand-in stops itself"),
            Action::KillHook(_) | Action::Watch(_) | Action::Note(_) => {}
        }
    }

    /// Whether the moment of SIGKILL has come: the drain deadline, or the end of what time leftovers
    /// have, or a stop signal while only they are waited for.
    fn may_kill(&self, event: &Event) -> bool {
        let deadline = self.drain_began.zip(self.policy.drain).map(|(began, drain)| began + drain);
        let drained = deadline.is_some_and(|deadline| self.now >= deadline);
        let Some((_, ended)) = self.ended else { return drained };
        let linger = match self.machine.stop_began() {
            Some(_) => self.policy.linger_after_stop(),
            None => self.policy.linger.unwrap_or_default(),
        };
        drained || self.now >= ended + linger || matches!(event, Event::Signal(..))
    }

    fn check_state(&self, before: &Self, event: &Event) {
        let (was, is) = (before.machine.phase(), self.machine.phase());
        self.hold(is >= was, "phases go forward");
        let state = self.machine.state(self.now);
        self.hold(state.ready == self.policy.is_ready_in(is), "readiness goes by the phase");
        self.hold(state.ready == (self.ready == Some(true)), "readiness is told when it changes");
        self.hold(self.machine.next_deadline().is_none_or(|deadline| deadline > self.now), "no deadline is left over");
        self.hold(self.exit.is_none() || self.machine.next_deadline().is_none(), "nothing is due after the exit");
        if was < Phase::Draining && is >= Phase::Draining && self.ended.is_none() && !self.could_not_start {
            self.hold(self.may_drain(before, event), "the drain begins when it may");
        }
        if let (Some((_, ended)), Some(left)) = (self.ended, self.machine.next_deadline())
            && self.machine.stop_began().is_none()
        {
            let longest = self.policy.linger.unwrap_or_default() + self.policy.on_exit.unwrap_or_default();
            self.hold(left <= ended + longest + SLACK + self.late, "without a stop it ends as soon as it may");
        }
        if let (Some(stop), Some(total)) = (self.machine.stop_began(), Budget::of(&self.policy).total()) {
            let last = stop + total + SLACK + self.late;
            match self.machine.next_deadline() {
                Some(deadline) => self.hold(deadline <= last, "a stop ends within the sum of its parts"),
                None => self.hold(self.exit.is_some(), "a stop always has a deadline"),
            }
        }
        if is == Phase::Killing && self.ended.is_none() {
            self.hold(self.killed, "killing means that it was killed");
            self.hold(self.machine.next_deadline().is_some_and(|d| d <= self.now + KILLING), "a kill takes 2 s");
        }
        if let Some(code) = self.exit.filter(|_| before.exit.is_none()) {
            let due = match (self.could_not_start, self.ended) {
                (true, _) => 127,
                (_, Some((status, _))) => self.policy.mapped(status.code()),
                (_, None) => self.policy.mapped(137),
            };
            self.hold(code == due, "the exit status is the main process's own");
            self.hold(is == Phase::Gone, "it is gone");
        }
    }

    fn may_drain(&self, before: &Self, event: &Event) -> bool {
        let Some(stop) = self.machine.stop_began() else { return false };
        let hook_over = if self.policy.on_stop.is_none() { Some(stop) } else { self.hook_over };
        let hurried = matches!(event, Event::Signal(..))
            && self.policy.hurry
            && before.machine.stop_began().is_some()
            && self.now >= stop + DUPLICATE;
        let over = hook_over.is_some_and(|over| self.now >= over + self.policy.delay);
        hurried || over || (*event == Event::Quiet && hook_over.is_some())
    }

    /// From here, time alone ends a stop that has begun, within its bound; and the end of the main
    /// process ends everything.
    pub(super) fn check_that_it_ends(&self) {
        let mut walk = self.clone();
        let stopping = walk.machine.next_deadline().is_some();
        walk.let_time_pass();
        let unlimited = self.policy.drain.is_none();
        self.hold(walk.exit.is_some() || !stopping || unlimited, "time alone ends a stop");
        walk.go(&Move::Started);
        walk.go(&Move::MainDied(WaitStatus::exited(0)));
        walk.go(&Move::Reaped(false));
        walk.let_time_pass();
        self.hold(walk.exit.is_some(), "the main process's end is the end");
    }

    fn let_time_pass(&mut self) {
        for _ in 0..10 {
            if self.machine.next_deadline().is_none() {
                return;
            }
            self.go(&Move::NextDeadline);
        }
        self.hold(false, "time alone comes to an end");
    }

    #[track_caller]
    fn hold(&self, holds: bool, rule: &str) {
        assert!(holds, "broken: {rule}\n{self:#?}");
    }
}
