//! The end: the main process's status, what it left behind, and the exit.

use super::{Machine, Main, Question, Rest, Timer};
use crate::core::action::{Hook, Target};
use crate::core::note::{Ended, Made, Told};
use crate::core::{Action, Delivery, Note, Phase, Pid, Process, Sender, Signal, Snapshot, Tick, WaitStatus, targets};
use std::time::Duration;

/// How long the reaper may take to say, after a death, whether any child is left. It says so in the
/// same breath; the time is for a shell that would not.
const REAPER_ANSWERS: Duration = Duration::from_millis(10);

impl Machine {
    pub(super) fn on_died(&mut self, now: Tick, pid: Pid, status: WaitStatus, actions: &mut Vec<Action>) {
        // Its pid may be given to another process from now on.
        self.sweep.told.remove(&pid);
        if self.main() != Some(pid) {
            return;
        }
        if !self.policy.stops() {
            self.end_plainly(now, pid, status, actions);
        } else if self.phase == Phase::Gone {
            // It had been given up, and ends while the on-exit hook runs.
            self.main = Main::Ended { pid, status, phase: Phase::Killing };
        } else {
            self.begin_sweep(now, pid, status, actions);
        }
    }

    fn begin_sweep(&mut self, now: Tick, pid: Pid, status: WaitStatus, actions: &mut Vec<Action>) {
        let (phase, killed_until, drained_until) =
            (self.phase, self.timers.get(Timer::Kill), self.timers.get(Timer::Drain));
        self.main = Main::Ended { pid, status, phase };
        self.drop_hook(actions);
        if self.stop.is_some() && self.policy.watch {
            actions.push(Action::Watch(false));
        }
        self.sweep.told.extend(self.drain.told.iter().map(|told| told.pid));
        self.drain.holding = None;
        // What was asked about the main process is of no use; the answers will come all the same.
        self.asked.iter_mut().for_each(|question| *question = Question::Nothing);
        self.timers.clear();
        self.enter(now, Phase::Sweeping, actions);
        self.sweep.rest = match phase {
            Phase::Draining => drained_until.map_or(Rest::Unlimited, Rest::Until),
            _ => Rest::Nothing,
        };
        let until = match (phase, self.stop) {
            (Phase::Killing, _) => killed_until,
            (Phase::Draining, _) if self.was_wrapper() => drained_until,
            (_, Some(_)) => Some(now + self.policy.linger_after_stop()),
            (_, None) => Some(now + self.policy.linger.unwrap_or(Duration::ZERO)),
        };
        match until {
            // The reaper is about to say whether anything is left at all.
            Some(until) if until <= now => {
                self.sweep.at_once = true;
                self.timers.set(Timer::Sweep, now + REAPER_ANSWERS);
            }
            Some(until) => self.timers.set(Timer::Sweep, until),
            None => {}
        }
    }

    pub(super) fn on_reaped(&mut self, now: Tick, children_left: bool, actions: &mut Vec<Action>) {
        if self.phase != Phase::Sweeping {
            return;
        }
        if !children_left {
            self.finish(now, false, actions);
        } else if self.sweep.at_once && self.sweep.rest == Rest::Nothing {
            self.on_sweep_over(now, actions);
        } else if !self.sweep.killed && !self.asked.contains(&Question::Leftovers) {
            // A process whose parent has just ended is our child from now on.
            self.ask(Question::Leftovers, actions);
        }
    }

    /// Each child of ours is told to end, once: masters stop their own workers.
    pub(super) fn tell_leftovers(&mut self, now: Tick, snapshot: &Snapshot, actions: &mut Vec<Action>) {
        if self.phase != Phase::Sweeping || self.sweep.killed {
            return;
        }
        if snapshot.processes.iter().any(|process| process.listens) {
            self.give_the_rest_of_the_drain();
        }
        if self.sweep.at_once {
            return self.on_sweep_over(now, actions);
        }
        if snapshot.blind {
            return self.tell_the_group(now, actions);
        }
        let mut told = Vec::new();
        for process in &snapshot.processes {
            if self.had_its_signal(process) {
                continue;
            }
            let signal = targets::leftover_signal(process);
            self.sweep.told.insert(process.pid);
            actions.push(Action::Send(Delivery { to: Target::Child(process.pid), signal, wake: true }));
            told.push(Told { pid: process.pid, name: process.program().to_owned(), with_group: false, signal });
        }
        if !told.is_empty() {
            actions.push(Action::Note(Note::Sweeping { budget: self.sweep_budget(now), told }));
        }
    }

    /// Something is left, and without `/proc` nobody can tell what. Most of what a shell or a server
    /// starts stays in its process group.
    fn tell_the_group(&mut self, now: Tick, actions: &mut Vec<Action>) {
        let Main::Ended { pid, .. } = self.main else { return };
        if self.drain.targets.iter().any(|target| matches!(target, Target::Group(_) | Target::Remains(_))) {
            return;
        }
        let (target, signal) = (Target::Remains(pid), Signal::TERM);
        self.drain.targets.push(target);
        actions.push(Action::Send(Delivery { to: target, signal, wake: true }));
        let told = vec![Told { pid, name: format!("the group of {}", self.spawned_as), with_group: false, signal }];
        actions.push(Action::Note(Note::Sweeping { budget: self.sweep_budget(now), told }));
    }

    fn sweep_budget(&self, now: Tick) -> Option<Duration> {
        self.timers.get(Timer::Sweep).map(|until| until.saturating_sub(now))
    }

    /// What still owns a port of the clients' is the server, whatever the main process was.
    fn give_the_rest_of_the_drain(&mut self) {
        match std::mem::take(&mut self.sweep.rest) {
            Rest::Nothing => return,
            Rest::Until(until) => self.timers.set(Timer::Sweep, until),
            Rest::Unlimited => self.timers.stop(Timer::Sweep),
        }
        self.sweep.at_once = false;
    }

    fn had_its_signal(&self, process: &Process) -> bool {
        let with_its_group = self.drain.targets.contains(&Target::Group(process.group));
        with_its_group || self.sweep.told.contains(&process.pid)
    }

    pub(super) fn on_sweep_over(&mut self, now: Tick, actions: &mut Vec<Action>) {
        if !self.sweep.killed {
            self.sweep.killed = true;
            if !self.sweep.at_once {
                actions.push(Action::Note(Note::LeftBehind));
            }
            actions.push(Action::KillAll);
        }
        self.finish(now, true, actions);
    }

    /// A stop signal while only leftovers are waited for: they are waited for no longer.
    pub(super) fn cut_sweep(&mut self, now: Tick, signal: Signal, sender: Sender, actions: &mut Vec<Action>) {
        actions.push(Action::Note(Note::Again { signal, sender, made: Made::SweepCut }));
        // It is not that what was left behind took too long.
        self.sweep.at_once = true;
        self.on_sweep_over(now, actions);
    }

    /// Nothing is waited for any more but the on-exit hook.
    pub(super) fn finish(&mut self, now: Tick, left_behind: bool, actions: &mut Vec<Action>) {
        self.timers.clear();
        self.asked.clear();
        self.enter(now, Phase::Gone, actions);
        self.sweep.left_behind = left_behind;
        if let Some(limit) = self.policy.on_exit {
            self.timers.set(Timer::Hook, now + limit);
            actions.push(Action::StartHook(Hook::OnExit));
        } else {
            self.leave(now, actions);
        }
    }

    /// A stop signal while the on-exit hook runs: it must not hold up the exit any longer.
    pub(super) fn cut_exit_hook(&mut self, now: Tick, signal: Signal, sender: Sender, actions: &mut Vec<Action>) {
        actions.push(Action::Note(Note::Again { signal, sender, made: Made::HookCut }));
        self.drop_hook(actions);
        self.leave(now, actions);
    }

    /// Says how it ended, and leaves.
    pub(super) fn leave(&mut self, now: Tick, actions: &mut Vec<Action>) {
        let ended = self.ended(now);
        let code = ended.code;
        actions.push(Action::Note(Note::Ended(ended)));
        self.exit(now, code, actions);
    }

    /// How it ended, as far as that is known; all of it is once the last phase has begun.
    #[must_use]
    pub fn ended(&self, now: Tick) -> Ended {
        let (status, phase) = match self.main {
            Main::Ended { status, phase, .. } => (Some(status), phase),
            Main::NotYet | Main::Running(_) => (None, Phase::Killing),
        };
        Ended {
            status,
            phase,
            // One that ended by itself just before the KILL reached it was not killed.
            killed: phase == Phase::Killing && status.is_none_or(|status| status.signal() == Some(Signal::KILL)),
            code: self.policy.mapped(status.unwrap_or(WaitStatus::killed(Signal::KILL)).code()),
            stop_took: self.stop.map(|stop| now.saturating_sub(stop.at)),
            left_behind: self.sweep.left_behind,
        }
    }

    pub(super) fn exit(&mut self, now: Tick, code: u8, actions: &mut Vec<Action>) {
        self.timers.clear();
        self.enter(now, Phase::Gone, actions);
        self.exit = Some(code);
        actions.push(Action::Exit(code));
    }
}
