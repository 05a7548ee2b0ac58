//! Stop signals: which ones they are, the delay they begin, and what a further one changes.

use super::{Machine, Question, Stop, Timer};
use crate::core::action::Hook;
use crate::core::note::{Made, Told, Why};
use crate::core::policy::{DUPLICATE, StopOn};
use crate::core::{Action, Note, Phase, Pid, Sender, Signal, Snapshot, Tick, programs, targets};

impl Machine {
    /// Whether a signal asks for a stop; `None` when that depends on what runs.
    pub(super) fn is_stop(&self, now: Tick, signal: Signal, sender: Sender) -> Option<bool> {
        match self.policy.stop_on {
            StopOn::Nothing => Some(false),
            StopOn::These(signals) => Some(signals.contains(signal)),
            StopOn::Auto if matches!(signal, Signal::TERM | Signal::QUIT) => Some(true),
            StopOn::Auto => {
                let from_outside = matches!(sender, Sender::Outside { .. });
                if !from_outside || !programs::is_graceful_of_some(signal) {
                    Some(false)
                } else if self.stop.is_some_and(|stop| stop.signal == signal) {
                    // What began the stop repeats it, even when the program it is of has gone.
                    Some(true)
                } else if self.main().is_none() || self.plain(now).is_some_and(|plain| plain.graceful != Some(signal)) {
                    // Known already, so that the signals of a plain server cost no look each.
                    Some(false)
                } else {
                    None
                }
            }
        }
    }

    /// A look was taken to learn whether `signal` is the graceful one of what runs.
    pub(super) fn on_seen_for_stop(
        &mut self,
        now: Tick,
        signal: Signal,
        sender: Sender,
        snapshot: &Snapshot,
        main: Pid,
        actions: &mut Vec<Action>,
    ) {
        let its_own = targets::behind(snapshot, main, signal).into_iter().any(|pid| {
            let process = snapshot.get(pid);
            let name = process.map_or(self.spawned_as.as_str(), |process| process.program());
            // Busybox calls itself httpd too, and handles no WINCH.
            programs::lookup(name).is_some_and(|program| program.graceful == signal)
                && process.is_none_or(|process| process.handles(signal))
        });
        if its_own {
            self.on_stop(now, signal, sender, actions);
        } else {
            self.forward(now, signal, actions);
        }
    }

    pub(super) fn on_stop(&mut self, now: Tick, signal: Signal, sender: Sender, actions: &mut Vec<Action>) {
        let Some(stop) = self.stop else {
            let stop = Stop { signal, sender, at: now };
            match self.phase {
                Phase::Serving => self.begin_stop(now, stop, actions),
                // The main process ended by itself and we only wait for what it left behind.
                Phase::Sweeping => {
                    // Its duplicate must not cut the on-exit hook as well.
                    self.stop = Some(stop);
                    self.cut_sweep(now, signal, sender, actions);
                }
                Phase::Gone => self.cut_exit_hook(now, signal, sender, actions),
                Phase::Starting | Phase::LameDuck | Phase::Draining | Phase::Killing => {}
            }
            return;
        };
        let made = if now.saturating_sub(stop.at) < DUPLICATE {
            Made::Duplicate
        } else if !self.policy.hurry {
            Made::Ignored
        } else {
            match self.phase {
                Phase::LameDuck => Made::Hurried,
                // Held, or not even looked at yet.
                Phase::Draining if self.drain.targets.is_empty() => Made::Hurried,
                Phase::Draining if matches!(signal, Signal::TERM | Signal::INT) => Made::PassedOn,
                Phase::Draining => Made::AlreadyDraining,
                Phase::Sweeping => return self.cut_sweep(now, signal, sender, actions),
                Phase::Gone => return self.cut_exit_hook(now, signal, sender, actions),
                Phase::Starting | Phase::Serving | Phase::Killing => return,
            }
        };
        actions.push(Action::Note(Note::Again { signal, sender, made }));
        match (made, self.phase) {
            (Made::Hurried, Phase::LameDuck) => self.begin_drain(now, Why::Hurried(signal, sender), actions),
            (Made::Hurried, _) => self.release(actions),
            (Made::PassedOn, _) => self.pass_on_to_told(signal, actions),
            _ => {}
        }
    }

    fn begin_stop(&mut self, now: Tick, stop: Stop, actions: &mut Vec<Action>) {
        self.stop = Some(stop);
        let serves_on = self.policy.on_stop.is_some() || !self.policy.delay.is_zero();
        self.enter(now, if serves_on { Phase::LameDuck } else { Phase::Draining }, actions);
        if self.policy.watch {
            actions.push(Action::Watch(true));
        }
        if let Some(limit) = self.policy.on_stop {
            self.timers.set(Timer::Hook, now + limit);
            actions.push(Action::StartHook(Hook::OnStop));
        } else if !serves_on {
            return self.begin_drain(now, Why::NoDelay, actions);
        } else {
            self.begin_delay(now);
        }
        self.ask(Question::Plan, actions);
    }

    fn begin_delay(&mut self, now: Tick) {
        self.timers.set(Timer::Delay, now + self.policy.delay);
    }

    /// Says what will happen and when, now that it is known to whom.
    pub(super) fn announce(&mut self, snapshot: &Snapshot, main: Pid, actions: &mut Vec<Action>) {
        let Some(stop) = self.stop.filter(|_| self.phase == Phase::LameDuck) else { return };
        let plan = targets::choose(&self.policy, snapshot, main, &self.spawned_as, stop.signal);
        actions.push(Action::Note(Note::LameDuck {
            signal: stop.signal,
            sender: stop.sender,
            plan: plan.iter().map(Told::from).collect(),
            hook: self.policy.on_stop,
            delay: self.policy.delay,
            drain: self.policy.drain,
        }));
    }

    pub(super) fn on_hook_ended(&mut self, now: Tick, hook: Hook, actions: &mut Vec<Action>) {
        if self.timers.get(Timer::Hook).is_none() {
            return;
        }
        match (hook, self.phase) {
            (Hook::OnStop, Phase::LameDuck) => {
                self.timers.stop(Timer::Hook);
                if self.policy.delay.is_zero() {
                    self.begin_drain(now, Why::NoDelay, actions);
                } else {
                    self.begin_delay(now);
                }
            }
            (Hook::OnExit, Phase::Gone) => self.leave(now, actions),
            _ => {}
        }
    }

    pub(super) fn on_hook_timeout(&mut self, now: Tick, actions: &mut Vec<Action>) {
        let hook = if self.phase == Phase::Gone { Hook::OnExit } else { Hook::OnStop };
        actions.push(Action::Note(Note::HookTimedOut(hook)));
        actions.push(Action::KillHook(hook));
        // As if it had ended: the timer stands for a running hook.
        self.timers.set(Timer::Hook, now);
        self.on_hook_ended(now, hook, actions);
    }

    /// The on-stop hook has no say any more once the delay is cut short.
    pub(super) fn drop_hook(&mut self, actions: &mut Vec<Action>) {
        if self.timers.get(Timer::Hook).is_some() {
            self.timers.stop(Timer::Hook);
            actions.push(Action::KillHook(if self.phase == Phase::Gone { Hook::OnExit } else { Hook::OnStop }));
        }
    }

    pub(super) fn on_quiet(&mut self, now: Tick, actions: &mut Vec<Action>) {
        // Not while a hook runs: it may be what takes the server out of the balancer.
        if self.phase == Phase::LameDuck && self.timers.get(Timer::Hook).is_none() {
            self.begin_drain(now, Why::Quiet, actions);
        }
    }
}
