//! The watch in the loop: when it is begun and ended, what it tells the machine, and what is said of
//! it.

use super::ports::MOST;
use super::{Outcome, Watch};
use crate::core::policy::Hold;
use crate::core::traffic::Evidence;
use crate::core::{Event, Note, Phase, Tick};
use crate::run::Shell;
use crate::sys;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The traffic of this stop, as far as anybody looks at it.
#[derive(Default)]
pub(in crate::run) enum Watching {
    /// Nobody does: there is no stop, or nothing to look for, or it is over.
    #[default]
    Off,
    /// It is watched.
    On(Box<Watch>),
    /// It could not be seen, because of this.
    Blind(String),
}

/// What the report says when it was given up because of a mistake of ours.
const FAILED: &str = "the watch failed";

/// Has the watch do something, if there is one. One that panics is none from then on: an extra must
/// not take the stop with it.
fn alone<T>(watching: &mut Watching, act: impl FnOnce(&mut Watch) -> T) -> Option<T> {
    let Watching::On(watch) = watching else { return None };
    let done = catch_unwind(AssertUnwindSafe(|| act(watch))).ok();
    if done.is_none() {
        *watching = Watching::Blind(FAILED.to_owned());
    }
    done
}

// === impl Watching ===

impl Watching {
    /// When the watch has something to do.
    pub(in crate::run) fn due(&self) -> Option<Tick> {
        match self {
            Self::On(watch) => Some(watch.due()),
            Self::Off | Self::Blind(_) => None,
        }
    }

    /// Whether anybody will say what is owed.
    pub(in crate::run) fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }
}

// === impl Shell ===

impl Shell {
    /// Begins or ends the watch.
    pub(in crate::run) fn set_watching(&mut self, on: bool) {
        let now = self.clock.now();
        if on {
            // Its socket is the first that is opened when no extras were asked for.
            sys::process::take_the_places_of_closed_streams();
            let began = self.machine.stop_began().unwrap_or(now);
            self.watching =
                Watching::On(Box::new(Watch::new(began, self.watch_ports.clone(), self.own_pid, self.told.clone())));
            return;
        }
        let signal = self.machine.stop().map_or_else(String::new, |(_, signal)| signal.to_string());
        let delay = self.machine.policy().delay;
        let seen = self.watched(|watch| watch.evidence(now, delay).json(watch.ports(), &signal));
        let told = match (std::mem::take(&mut self.watching), seen) {
            (_, Some(told)) => told,
            (Watching::Blind(why), None) => Evidence::json_of_nothing(&why),
            (Watching::Off | Watching::On(_), None) => return,
        };
        self.say.traffic_in_full(&told);
        self.extras.traffic(told);
    }

    /// What the machine notes may be of interest to the watch.
    pub(in crate::run) fn watch_note(&mut self, note: &Note) {
        let now = self.clock.now();
        match note {
            Note::DelayOver(why) => {
                let delay = self.machine.policy().delay;
                let seen = self.watched(|watch| {
                    watch.on_delay_over(now, *why);
                    watch.evidence(now, delay)
                });
                if let (Some(seen), Some((_, signal)), false) = (seen, self.machine.stop(), delay.is_zero()) {
                    self.say.traffic(&seen, &signal.to_string());
                }
            }
            Note::Draining { .. } => self.watched(|watch| watch.on_told(now)).unwrap_or_default(),
            _ => {}
        }
    }

    /// Has the watch do something, if there is one.
    fn watched<T>(&mut self, act: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        let was_on = self.watching.is_on();
        let done = alone(&mut self.watching, act);
        if was_on && done.is_none() {
            self.tell_of_mistake();
        }
        done
    }

    fn tell_of_mistake(&mut self) {
        self.warn("a mistake in lameduck: the traffic is not watched any more");
    }

    /// Lets the watch do what is due, and tells the machine what it has found.
    pub(in crate::run) fn watch_traffic(&mut self) {
        if !self.watching.is_on() {
            return;
        }
        let (clock, now) = (self.clock, self.clock.now());
        let hasten = self.machine.next_deadline().is_some_and(|deadline| deadline <= now);
        let outcome = self.watched(|watch| {
            if hasten {
                watch.hasten(now);
            }
            watch.work(&clock)
        });
        let (Some(outcome), Watching::On(watch)) = (outcome, &mut self.watching) else {
            return self.go_blind(FAILED.to_owned());
        };
        match outcome {
            Outcome::Nothing => {}
            Outcome::Found { hidden, left_out } => {
                let counts = watch.counts();
                self.say.watching(watch.ports(), watch.source(), hidden);
                if left_out > 0 {
                    self.miss(&format!("only {MOST} ports are watched, {left_out} more are not: name those that matter with --watch-port"));
                }
                if !counts {
                    self.miss("connections that come and go unseen are not counted (/proc/net/snmp cannot be read)");
                }
            }
            Outcome::NoPort { hidden } => {
                let why = "no TCP port of the server was found";
                if hidden {
                    // Here somebody can do something about it.
                    self.warn(&format!(
                        "the traffic is not watched: {why}, and what it has open is not shown: name it with --watch-port"
                    ));
                } else {
                    self.miss(&format!("the traffic is not watched: {why}"));
                }
                self.go_blind(why.to_owned());
            }
            Outcome::FellBack(error) => self.miss(&format!(
                "requests are not seen, only connections, in /proc/net/tcp (the kernel's socket diagnostics are \
                 not to be had: {error})"
            )),
            Outcome::Blind(why) => {
                self.miss(&format!("the traffic is not watched: {why}"));
                self.go_blind(why);
            }
            Outcome::Sampled => {
                let now = self.clock.now();
                if self.machine.is_holding() {
                    let owed = watch.owed();
                    self.feed(Event::Owed(owed));
                } else if self.machine.phase() == Phase::LameDuck {
                    let machine = &self.machine;
                    match alone(&mut self.watching, |watch| watch.is_quiet(now, machine)) {
                        Some(true) => self.feed(Event::Quiet),
                        Some(false) => {}
                        None => self.tell_of_mistake(),
                    }
                }
            }
        }
    }

    /// Something is not seen. Whoever asked for what hangs on it is warned.
    fn miss(&mut self, what: &str) {
        let policy = self.machine.policy();
        if policy.quiet.is_some() {
            self.warn(&format!("{what}: --quiet cannot end the delay early"));
        } else if !self.watch_ports.is_empty() || policy.hold == Hold::Always {
            self.warn(what);
        } else {
            self.say.watch_misses(what);
        }
    }

    fn go_blind(&mut self, why: String) {
        self.watching = Watching::Blind(why);
        if self.machine.is_holding() {
            self.feed(Event::Owed(None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_panics_is_none_from_then_on() {
        let watch = Watch::new(Tick::ZERO, vec![8_080], 0, None);
        let mut watching = Watching::On(Box::new(watch));
        assert_eq!(alone(&mut watching, |watch| watch.due()), Some(Tick::ZERO));
        assert!(alone(&mut watching, |_| -> u8 { panic!("on purpose") }).is_none());
        assert!(matches!(&watching, Watching::Blind(why) if why == FAILED) && watching.due().is_none());
        assert!(alone(&mut watching, |watch| watch.due()).is_none());
    }
}
