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
        let told = match std::mem::take(&mut self.watching) {
            Watching::Off => return,
            Watching::Blind(why) => Evidence::json_of_nothing(&why),
            Watching::On(watch) => watch.evidence(now, self.machine.policy().delay).json(watch.ports(), &signal),
        };
        self.say.traffic_in_full(&told);
        self.extras.traffic(told);
    }

    /// What the machine notes may be of interest to the watch.
    pub(in crate::run) fn watch_note(&mut self, note: &Note) {
        let Watching::On(watch) = &mut self.watching else { return };
        let now = self.clock.now();
        match note {
            Note::DelayOver(why) => {
                watch.on_delay_over(now, *why);
                let delay = self.machine.policy().delay;
                if let Some((_, signal)) = self.machine.stop().filter(|_| !delay.is_zero()) {
                    self.say.traffic(&watch.evidence(now, delay), &signal.to_string());
                }
            }
            Note::Draining { .. } => watch.on_told(now),
            _ => {}
        }
    }

    /// Lets the watch do what is due, and tells the machine what it has found.
    pub(in crate::run) fn watch_traffic(&mut self) {
        let Watching::On(watch) = &mut self.watching else { return };
        let now = self.clock.now();
        if self.machine.next_deadline().is_some_and(|deadline| deadline <= now) {
            watch.hasten(now);
        }
        // An extra must not take the stop with it.
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| watch.work(&self.clock))) else {
            self.warn("a mistake in lameduck: the traffic is not watched any more");
            return self.go_blind("the watch failed".to_owned());
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
                } else if self.machine.phase() == Phase::LameDuck && watch.is_quiet(now, &self.machine) {
                    self.feed(Event::Quiet);
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
