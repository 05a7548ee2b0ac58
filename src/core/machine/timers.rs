//! The deadlines the machine waits for: one of each kind at the most.

use crate::core::Tick;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The running hook has had its time.
    Hook,
    /// The propagation delay is over.
    Delay,
    /// The graceful signal is held no longer.
    Hold,
    /// Look again at what a shell runs.
    Poll,
    /// The drain has had its time.
    Drain,
    /// What was killed has had its time to be reaped.
    Kill,
    /// What was left behind has had its time.
    Sweep,
}

/// A table of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    slots: [Option<Tick>; 7],
    /// The earliest of them: every event asks for it, and few set a deadline.
    next: Option<Tick>,
}

const ALL: [Timer; 7] = [Timer::Hook, Timer::Delay, Timer::Hold, Timer::Poll, Timer::Drain, Timer::Kill, Timer::Sweep];

// === impl Timers ===

impl Timers {
    /// Sets a deadline, or moves it.
    pub(super) fn set(&mut self, timer: Timer, at: Tick) {
        self.put(timer, Some(at));
    }

    /// Forgets a deadline.
    pub(super) fn stop(&mut self, timer: Timer) {
        self.put(timer, None);
    }

    fn put(&mut self, timer: Timer, at: Option<Tick>) {
        if let Some(slot) = self.slots.get_mut(timer as usize) {
            *slot = at;
        }
        self.next = self.slots.iter().copied().flatten().min();
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// When it is due, if it is set.
    pub(super) fn get(&self, timer: Timer) -> Option<Tick> {
        self.slots.get(timer as usize).copied().flatten()
    }

    /// The earliest deadline.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.next
    }

    /// Takes out the timer that was due first, if any is due.
    pub(super) fn take_due(&mut self, now: Tick) -> Option<Timer> {
        self.next.filter(|at| *at <= now)?;
        let due = |timer: Timer| self.get(timer).filter(|at| *at <= now).map(|at| (at, timer));
        let (_, timer) = ALL.into_iter().filter_map(due).min_by_key(|(at, _)| *at)?;
        self.stop(timer);
        Some(timer)
    }
}
