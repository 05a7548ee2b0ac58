//! The drain: the graceful signal, what may hold it back, what a shell in front makes of it, and the
//! deadline.

use super::{Holding, Machine, Main, Question, Timer};
use crate::core::action::Target;
use crate::core::note::{Told, Why};
use crate::core::policy::{Hold, KILLING, SHELL_GOES_ON, SHELL_POLL};
use crate::core::targets::{self, Choice};
use crate::core::{Action, Delivery, Note, Phase, Pid, Snapshot, Tick};
use std::time::Duration;

/// Answers must be owed by nobody for so many samples before a hold ends: one alone may fall between
/// two requests.
const SAMPLES_OWING_NOTHING: u8 = 2;

/// How long the answer to a look may take. It comes in the same breath; the time is for a shell that
/// would not answer.
const LOOK_ANSWERS: Duration = Duration::from_millis(10);

impl Machine {
    pub(super) fn begin_drain(&mut self, now: Tick, why: Why, actions: &mut Vec<Action>) {
        self.drop_hook(actions);
        self.timers.clear();
        self.enter(now, Phase::Draining, actions);
        if let Some(limit) = self.policy.drain {
            // The deadline counts from when draining began, however late that was.
            self.timers.set(Timer::Drain, now + limit);
        }
        actions.push(Action::Note(Note::DelayOver(why)));
        self.ask(Question::Drain(why), actions);
    }

    pub(super) fn tell_or_hold(
        &mut self,
        now: Tick,
        why: Why,
        snapshot: &Snapshot,
        main: Pid,
        actions: &mut Vec<Action>,
    ) {
        if self.phase != Phase::Draining {
            return;
        }
        if self.holds(why, snapshot, main) {
            let longest = self.policy.longest_hold();
            self.drain.holding = Some(Holding { samples: 0, owed: 0, why });
            self.timers.set(Timer::Hold, now + longest);
        } else {
            self.tell(now, why, snapshot, main, actions);
        }
    }

    fn holds(&self, why: Why, snapshot: &Snapshot, main: Pid) -> bool {
        if !self.policy.watch || matches!(why, Why::Hurried(..)) {
            return false;
        }
        match self.policy.hold {
            Hold::Always => true,
            Hold::Never => false,
            Hold::Auto => {
                let drains = |choice: &Choice| choice.program.is_some_and(|program| program.drains);
                !self.policy.delay.is_zero() && !self.choices(snapshot, main).iter().all(drains)
            }
        }
    }

    pub(super) fn on_owed(&mut self, now: Tick, owed: Option<u32>, actions: &mut Vec<Action>) {
        let Some(holding) = self.drain.holding.as_mut() else { return };
        holding.owed = owed.unwrap_or(0);
        let done = match owed {
            Some(0) => {
                holding.samples += 1;
                holding.samples >= SAMPLES_OWING_NOTHING
            }
            Some(_) => {
                holding.samples = 0;
                false
            }
            // Nobody can tell: there is nothing to hold for.
            None => true,
        };
        if owed.is_some_and(|owed| owed > 0) && !self.drain.said_holding {
            self.drain.said_holding = true;
            let longest = self.timers.get(Timer::Hold).map_or(Tick::ZERO, |until| until.saturating_sub(now));
            actions.push(Action::Note(Note::Holding { owed, longest }));
        }
        if done {
            self.release(actions);
        }
    }

    /// The hold has taken as long as it may.
    pub(super) fn on_hold_over(&mut self, actions: &mut Vec<Action>) {
        self.drain.cut = self.drain.holding.map(|holding| holding.owed).filter(|owed| *owed > 0);
        self.release(actions);
    }

    /// Ends a hold: the graceful signal goes out after one more look. A hold that is yet to begin does
    /// not begin.
    pub(super) fn release(&mut self, actions: &mut Vec<Action>) {
        for question in &mut self.asked {
            if let Question::Drain(why) = *question {
                *question = Question::Release(why);
            }
        }
        if let Some(Holding { why, .. }) = self.drain.holding.take() {
            self.timers.stop(Timer::Hold);
            self.ask(Question::Release(why), actions);
        }
    }

    fn choices(&self, snapshot: &Snapshot, main: Pid) -> Vec<Choice> {
        self.stop
            .map_or_else(Vec::new, |stop| targets::choose(&self.policy, snapshot, main, &self.spawned_as, stop.signal))
    }

    /// Sends the graceful signal.
    pub(super) fn tell(&mut self, now: Tick, why: Why, snapshot: &Snapshot, main: Pid, actions: &mut Vec<Action>) {
        if self.phase != Phase::Draining {
            return;
        }
        let choices = self.choices(snapshot, main);
        self.send_to(&choices, main, actions);
        let shell = snapshot.get(main).filter(|process| process.shell);
        self.drain.through = shell.is_some() && self.drain.main_told.is_none();
        if self.drain.through {
            self.drain.before =
                shell.map(|shell| (shell.comm.clone(), snapshot.children(main).map(|c| c.pid).collect()));
            self.drain.beside = self.stop.map_or_else(Vec::new, |stop| {
                targets::beside(snapshot, main, targets::asked_of_a_shell(&self.policy, stop.signal))
            });
            self.drain.alive = choices.first().map(|choice| choice.pid);
            self.timers.set(Timer::Poll, now + SHELL_POLL);
        }
        // A shell runs its trap only once its foreground child has ended.
        let waits_for = shell
            .filter(|_| self.drain.main_told.is_some() && !self.policy.group)
            .and_then(|_| snapshot.children(main).next())
            .map(|child| (child.pid, child.program().to_owned()));
        let left = match self.timers.get(Timer::Drain) {
            Some(deadline) if self.drain.said_holding => Some(deadline.saturating_sub(now)),
            _ => self.policy.drain,
        };
        actions.push(Action::Note(Note::Draining {
            cause: self.stop.filter(|_| why == Why::NoDelay).map(|stop| (stop.signal, stop.sender)),
            why,
            told: choices.iter().map(Told::from).collect(),
            left,
            cut: self.drain.cut,
            waits_for,
        }));
        if self.drain.overdue.is_some() {
            self.timers.set(Timer::Drain, now);
        }
    }

    fn send_to(&mut self, choices: &[Choice], main: Pid, actions: &mut Vec<Action>) {
        for choice in choices {
            actions.push(Action::Send(Delivery { to: choice.target, signal: choice.signal, wake: true }));
            if matches!(choice.target, Target::Child(pid) | Target::Group(pid) if pid == main) {
                self.drain.main_told = Some(choice.signal);
            }
        }
        self.drain.told.extend(choices.iter().map(Told::from));
        self.drain.targets.extend(choices.iter().map(|choice| choice.target));
    }

    /// Those behind a shell were told; sees what has become of them, and what the shell does next.
    pub(super) fn on_polled(&mut self, now: Tick, snapshot: &Snapshot, main: Pid, actions: &mut Vec<Action>) {
        let Some((comm, children)) = self.drain.before.as_ref().filter(|_| self.phase == Phase::Draining) else {
            return;
        };
        self.timers.set(Timer::Poll, now + SHELL_POLL);
        // A look may fail, for want of a file descriptor say; the next may not.
        let Some(shell) = snapshot.get(main) else { return };
        self.drain.alive = self.drain.told.iter().map(|told| told.pid).find(|pid| snapshot.get(*pid).is_some());
        if shell.shell && self.drain.alive.is_some() {
            self.drain.gone_since = None;
            return;
        }
        let gone_since = *self.drain.gone_since.get_or_insert(now);
        if now.saturating_sub(gone_since) < SHELL_GOES_ON {
            return;
        }
        let Some(stop) = self.stop else { return };
        let went_on = shell.comm != *comm || snapshot.children(main).any(|child| !children.contains(&child.pid));
        let choices = if went_on {
            self.timers.stop(Timer::Poll);
            let (signal, program) = targets::graceful(&self.policy, Some(shell), shell.program(), stop.signal);
            let target = targets::target(main, main, Some(shell), self.policy.group);
            vec![Choice { target, pid: main, name: shell.program().to_owned(), signal, program }]
        } else {
            // `helper & server & wait` waits for the helper too, now that the server has drained.
            self.take_beside(snapshot, main)
        };
        if choices.is_empty() {
            return;
        }
        self.drain.targets.retain(|target| snapshot.get(target.pid()).is_some());
        self.drain.gone_since = None;
        self.send_to(&choices, main, actions);
        actions.push(Action::Note(Note::WentOn { told: choices.iter().map(Told::from).collect() }));
    }

    /// The helpers beside the server that still run, each to be told with its own signal: what was
    /// asked for was asked of the server.
    fn take_beside(&mut self, snapshot: &Snapshot, main: Pid) -> Vec<Choice> {
        let beside = std::mem::take(&mut self.drain.beside);
        let processes = beside.into_iter().filter_map(|pid| snapshot.get(pid));
        processes
            .map(|process| Choice {
                target: targets::target(process.pid, main, Some(process), false),
                pid: process.pid,
                name: process.program().to_owned(),
                signal: targets::leftover_signal(process),
                program: None,
            })
            .collect()
    }

    pub(super) fn on_drain_deadline(&mut self, now: Tick, actions: &mut Vec<Action>) {
        let tells_soon = self.asked.iter().any(|asked| matches!(asked, Question::Drain(_) | Question::Release(_)));
        if self.drain.overdue.is_none() && tells_soon {
            // Even with no time at all the server is asked before it is killed.
            self.drain.overdue = Some(now);
            self.timers.set(Timer::Drain, now + LOOK_ANSWERS);
            return;
        }
        let deadline = self.drain.overdue.unwrap_or(now);
        self.timers.clear();
        self.drain.holding = None;
        self.enter(now, Phase::Killing, actions);
        self.sweep.killed = true;
        self.timers.set(Timer::Kill, deadline + KILLING);
        actions.push(Action::Note(Note::Killing { drain: self.policy.drain.unwrap_or_default() }));
        actions.push(Action::KillAll);
    }

    /// Whether the main process stood in front of the server: a shell we looked through, or a program
    /// that died of the very signal the server behind it was meant to drain on.
    pub(super) fn was_wrapper(&self) -> bool {
        let Main::Ended { status, .. } = self.main else { return false };
        self.drain.through || (self.drain.main_told.is_some() && status.signal() == self.drain.main_told)
    }
}

impl From<&Choice> for Told {
    fn from(choice: &Choice) -> Self {
        let with_group = matches!(choice.target, Target::Group(_));
        Self { pid: choice.pid, name: choice.name.clone(), with_group, signal: choice.signal }
    }
}
