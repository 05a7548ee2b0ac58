//! What others see of a stop: files, hooks, state and report. Each is there only when asked for, and
//! what goes wrong with one is a line in the log and nothing else. What does the work is kept out of
//! line, so that a run that asks for none of them is not the slower, nor the larger, for it.

use super::files::Mark;
use super::hooks::Hooks;
use super::report::Report;
use super::state::StateFile;
use crate::cli::Settings;
use crate::core::report::HookRun;
use crate::core::{Delivery, Hook, Machine, Note, Phase, Pid, Process, Tick, WaitStatus};
use crate::json::Value;
use crate::sys::signals::Mask;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The extras of one run.
pub(super) struct Extras {
    ready: Option<Mark>,
    drain: Option<Mark>,
    state: Option<StateFile>,
    report: Option<Box<Report>>,
    hooks: Option<Box<Hooks>>,
    /// What went wrong, until it is told.
    troubles: Vec<String>,
}

// === impl Extras ===

impl Extras {
    /// Sets up what was asked for, before the server is started; and one line for each file that
    /// cannot be written, which is to keep it from starting.
    #[inline(never)]
    pub(super) fn open(settings: &Settings, machine: &Machine, mask: Mask) -> (Self, Vec<String>) {
        let asked = &settings.extras;
        let mut refused = Vec::new();
        let mut take = |result: Result<Option<Mark>, String>| result.map_err(|why| refused.push(why)).ok().flatten();
        let ready = take(asked.ready_file.clone().map(Mark::prepare).transpose());
        let drain = take(asked.drain_file.clone().map(Mark::prepare).transpose());
        let state = asked.state_file.clone().map(|place| StateFile::open(place, &machine.state(Tick::ZERO)));
        let state = state.transpose().map_err(|why| refused.push(why)).ok().flatten();
        let report = asked.report.clone().map(|place| Report::open(place, settings).map(Box::new));
        let report = report.transpose().map_err(|why| refused.push(why)).ok().flatten();
        let hooked = asked.on_stop.is_some() || asked.on_exit.is_some();
        let hooks = hooked.then(|| Box::new(Hooks::new(asked.on_stop.clone(), asked.on_exit.clone(), mask)));
        let troubles = hooks.as_ref().map_or_else(Vec::new, |hooks| hooks.missing());
        (Self { ready, drain, state, report, hooks, troubles }, refused)
    }

    /// What went wrong since the last time.
    pub(super) fn troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    pub(super) fn started(&mut self, pid: Pid, name: impl Fn() -> String, now: Tick) {
        alone(&mut self.report, &mut self.troubles, &mut |report| {
            report.started(pid, &name(), now);
            Ok(())
        });
    }

    /// Readiness changed.
    pub(super) fn ready(&mut self, ready: bool) {
        alone(&mut self.ready, &mut self.troubles, &mut |file| if ready { file.set() } else { file.clear() });
    }

    /// The machine noted something.
    #[inline(never)]
    pub(super) fn note(&mut self, note: &Note, machine: &Machine, now: Tick) {
        if let Note::Entered(Phase::LameDuck | Phase::Draining) = note {
            alone(&mut self.drain, &mut self.troubles, &mut Mark::set);
            self.lock(machine, now);
        }
        if let (Note::HookTimedOut(hook), Some(hooks)) = (note, &mut self.hooks) {
            hooks.timed_out(*hook);
        }
        alone(&mut self.report, &mut self.troubles, &mut |report| {
            report.note(note, machine, now);
            Ok(())
        });
    }

    pub(super) fn delivered(&mut self, delivery: Delivery) {
        if let Some(report) = &mut self.report {
            report.delivered(delivery);
        }
    }

    pub(super) fn killed(&mut self, killed: &[(Pid, String)]) {
        if let Some(report) = &mut self.report {
            report.killed(killed);
        }
    }

    pub(super) fn warning(&mut self, text: impl FnOnce() -> String) {
        if let Some(report) = &mut self.report {
            report.warning(text());
        }
    }

    /// What was seen of the traffic.
    pub(super) fn traffic(&mut self, traffic: Value) {
        if let Some(report) = &mut self.report {
            report.traffic(traffic);
        }
    }

    /// Starts a hook; false when it did not come to that.
    #[inline(never)]
    pub(super) fn start_hook(&mut self, hook: Hook, machine: &Machine, now: Tick) -> bool {
        if hook == Hook::OnExit {
            // The platform may not wait for the hook.
            self.write_report(machine, now);
        }
        let mut started = false;
        let mut failed = None;
        alone(&mut self.hooks, &mut self.troubles, &mut |hooks| match hooks.start(hook, &machine.state(now), now) {
            Ok(()) => {
                started = true;
                Ok(())
            }
            Err((run, why)) => {
                failed = Some(run);
                Err(why)
            }
        });
        self.record(failed);
        started
    }

    #[inline(never)]
    pub(super) fn kill_hook(&mut self, hook: Hook) {
        alone(&mut self.hooks, &mut self.troubles, &mut |hooks| {
            hooks.kill(hook);
            Ok(())
        });
    }

    /// A child of ours has ended: how it went if that was a hook, and whether we killed it.
    pub(super) fn hook_ended(&mut self, pid: Pid, status: WaitStatus, now: Tick) -> Option<(HookRun, bool)> {
        let ended = self.hooks.as_mut()?.ended(pid, status, now)?;
        self.record(Some(ended.0.clone()));
        Some(ended)
    }

    /// Whether a process belongs to a hook.
    pub(super) fn owns(&self, process: &Process) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.owns(process))
    }

    /// Everything that came of one event was done: tells the state if it is another one.
    pub(super) fn settled(&mut self, machine: &Machine, now: Tick) {
        if self.state.is_some() {
            self.lock(machine, now);
            let state = machine.state(now);
            alone(&mut self.state, &mut self.troubles, &mut |file| file.tell(&state).map_or(Ok(()), Err));
        }
    }

    /// How soon [`Extras::settled`] is to be called again though nothing happens.
    pub(super) fn wait_at_most(&self) -> Option<Duration> {
        self.state.as_ref()?.try_again()
    }

    /// The last action: nothing follows it.
    #[inline(never)]
    pub(super) fn exit(&mut self, machine: &Machine, now: Tick) {
        let left = self.hooks.as_mut().map_or_else(Vec::new, |hooks| hooks.left(now));
        for run in left {
            self.record(Some(run));
        }
        alone(&mut self.drain, &mut self.troubles, &mut Mark::clear);
        self.write_report(machine, now);
    }

    #[inline(never)]
    fn write_report(&mut self, machine: &Machine, now: Tick) {
        alone(&mut self.report, &mut self.troubles, &mut |report| report.write(machine, now));
    }

    #[inline(never)]
    fn lock(&mut self, machine: &Machine, now: Tick) {
        let stopping = machine.stop_began().map(|began| now.saturating_sub(began));
        alone(&mut self.state, &mut self.troubles, &mut |file| file.lock(stopping).map_or(Ok(()), Err));
    }

    fn record(&mut self, run: Option<HookRun>) {
        if let (Some(report), Some(run)) = (&mut self.report, run) {
            report.hook(run);
        }
    }
}

/// Has one extra do something. What goes wrong is noted; one that panics is off from then on.
///
/// By reference, so that there is one of these for each kind of extra and not for each thing it does.
#[inline(never)]
fn alone<T>(extra: &mut Option<T>, troubles: &mut Vec<String>, act: &mut dyn FnMut(&mut T) -> Result<(), String>) {
    let Some(held) = extra else { return };
    match catch_unwind(AssertUnwindSafe(|| act(held))) {
        Ok(Ok(())) => {}
        Ok(Err(trouble)) => troubles.push(trouble),
        // The panic has told of itself, and of its place.
        Err(_) => {
            *extra = None;
            troubles.push("a mistake in lameduck: what failed above is off from now on".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extra_that_fails_is_told_of_and_tried_again_and_one_that_panics_is_off() {
        let (mut extra, mut troubles) = (Some(1), Vec::new());
        alone(&mut extra, &mut troubles, &mut |_| Err("the disk is full".to_owned()));
        alone(&mut extra, &mut troubles, &mut |count| {
            *count += 1;
            Ok(())
        });
        assert_eq!((extra, troubles.as_slice()), (Some(2), &["the disk is full".to_owned()][..]));
        alone(&mut extra, &mut troubles, &mut |_| panic!("on purpose"));
        assert_eq!((extra, troubles.len()), (None, 2));
        alone(&mut extra, &mut troubles, &mut |_| unreachable!("it is off"));
        assert_eq!(troubles.len(), 2);
    }
}
