//! The watch: looks at the connections of the server's ports from the stop signal on, and never
//! before.
//!
//! An extra: where nothing can be seen, or the watch itself fails, the stop goes on without it. It
//! runs in the loop's own thread, a few pieces of a table at a time, and asks to be woken for the
//! next ([`Watch::due`]); signals are served in between. [`core::traffic`](crate::core::traffic) says
//! what the samples mean; `table` reads them, by `sock_diag` and `dump` or by `proc_net`; `ports` finds
//! whose they are. `listening` is for those who ask before a stop whether the server has come up.

mod dump;
pub(super) mod listening;
mod ports;
mod proc_net;
pub(super) mod shell;
mod sock_diag;
mod table;

#[cfg(test)]
mod tests;

use super::clock::Clock;
use super::health::Told;
use crate::core::note::Why;
use crate::core::traffic::{Ended, Evidence, Source};
use crate::core::{Machine, Pid, Tick, Traffic};
use crate::sys::process::cpu_time;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use table::{Entry, Listener, Step, Table, Wanted};

/// Between two samples: four a second see a request's end within a quarter of one.
const INTERVAL: Duration = Duration::from_millis(250);

/// Between two samples once the server has its graceful signal: they only serve to say what was left.
const INTERVAL_OF_THE_DRAIN: Duration = Duration::from_secs(1);

/// The longest that samples are put off because of what they cost.
const LONGEST_INTERVAL: Duration = Duration::from_secs(5);

/// A sample may cost a 50th of the time until the next.
const SHARE: u32 = 50;

/// Pieces that are read in one go: with `sock_diag` about 600 connections, in about a millisecond.
const PIECES: u32 = 8;

/// How soon to ask again for an answer that has not come.
const ANSWER_POLL: Duration = Duration::from_millis(10);

/// So often the two counts are read again when one came to the health port in between, which takes
/// some microseconds.
const COUNTED_AGAIN: u32 = 3;

/// So many samples running may fail before another way is tried.
const MOST_FAILURES: u8 = 3;

/// A watch.
pub(super) struct Watch {
    traffic: Traffic,
    /// The stop signal.
    began: Tick,
    /// When the delay ends, once that is known.
    delay_ends: Option<Tick>,
    own_pid: Pid,
    /// The ports that were asked for.
    given: Vec<u16>,
    /// Our own health port takes connections too, which are not the server's.
    health: Option<Arc<Told>>,
    ports: Vec<u16>,
    /// The server has more ports than those.
    has_more_ports: bool,
    families: Vec<u8>,
    table: Option<Table>,
    stage: Stage,
    /// When there is something to do.
    due: Tick,
    round: Round,
    failures: u8,
    told: bool,
}

/// What is being read.
enum Stage {
    /// Who listens.
    Finding(Vec<Listener>),
    /// Nothing until the next sample.
    Waiting,
    /// A sample.
    Sampling,
}

/// The sample that is being taken, or was taken last.
#[derive(Clone, Copy, Default)]
struct Round {
    began: Tick,
    cost: Duration,
    opens: Option<u64>,
    accept_queue: u32,
    too_many: bool,
}

/// What came of a bit of work.
pub(super) enum Outcome {
    /// Nothing to speak of.
    Nothing,
    /// The ports were found; for want of better by their user, where the server's descriptors are
    /// `hidden`. `left_out` more are not watched.
    Found { hidden: bool, left_out: usize },
    /// None was; where the server's descriptors are `hidden`, it may have some.
    NoPort { hidden: bool },
    /// A sample is complete.
    Sampled,
    /// It goes on in another way, because of this.
    FellBack(io::Error),
    /// Nothing can be seen, because of this.
    Blind(String),
}

/// So many connections the network namespace ever accepted, less those of our health port.
fn opens(health: Option<&Told>) -> Option<u64> {
    let came = || health.map_or(0, Told::came);
    let mut ours = came();
    let mut accepted = proc_net::connections_accepted()?;
    for _ in 0..COUNTED_AGAIN {
        let now = came();
        if now == ours {
            break;
        }
        (ours, accepted) = (now, proc_net::connections_accepted()?);
    }
    Some(accepted.saturating_sub(ours))
}

// === impl Watch ===

impl Watch {
    /// A watch that has seen no connection yet. `given` are the ports to watch; none for those of the server.
    pub(super) fn new(began: Tick, given: Vec<u16>, own_pid: Pid, health: Option<Arc<Told>>) -> Self {
        Self {
            traffic: Traffic::new(began, Source::SockDiag, opens(health.as_deref())),
            began,
            delay_ends: None,
            own_pid,
            given,
            health,
            ports: Vec::new(),
            has_more_ports: false,
            families: Vec::new(),
            table: None,
            stage: Stage::Finding(Vec::new()),
            due: began,
            round: Round::default(),
            failures: 0,
            told: false,
        }
    }

    /// When [`Watch::work`] is to be called.
    pub(super) fn due(&self) -> Tick {
        self.due
    }

    /// Something is about to be decided: a sample is taken now, unless one was a moment ago.
    pub(super) fn hasten(&mut self, now: Tick) {
        if matches!(self.stage, Stage::Waiting) && now.saturating_sub(self.round.began) >= self.interval() / 2 {
            self.due = self.due.min(now);
        }
    }

    /// Does what is due, a little of it.
    pub(super) fn work(&mut self, clock: &Clock) -> Outcome {
        let began = clock.now();
        if began < self.due {
            return Outcome::Nothing;
        }
        // Not by the clock: that goes on while others have the processor.
        let before = cpu_time();
        let outcome = self.read(began, clock);
        self.round.cost += cpu_time().saturating_sub(before);
        if matches!(self.stage, Stage::Waiting) {
            self.due = self.due.max(self.round.began + self.interval());
        }
        outcome
    }

    /// The time from one sample to the next.
    fn interval(&self) -> Duration {
        let usual = if self.told { INTERVAL_OF_THE_DRAIN } else { INTERVAL };
        (self.round.cost * SHARE).clamp(usual, LONGEST_INTERVAL)
    }

    fn read(&mut self, began: Tick, clock: &Clock) -> Outcome {
        let mut now = began;
        if self.table.is_none()
            && let Err(error) = self.open()
        {
            return self.fall_back(now, error);
        }
        if matches!(self.stage, Stage::Waiting) {
            self.begin_sample(now);
        }
        for _ in 0..PIECES {
            match self.read_piece(now) {
                Ok(Step::More) => {}
                Ok(Step::Waiting) => {
                    self.due = now + ANSWER_POLL;
                    return Outcome::Nothing;
                }
                Ok(Step::Complete) => return self.complete(now),
                Err(error) => return self.fail(now, error),
            }
            now = clock.now();
        }
        // The rest of it at once, but signals first.
        self.due = now;
        Outcome::Nothing
    }

    fn open(&mut self) -> io::Result<()> {
        let mut table = Table::open(self.traffic.source())?;
        if let Stage::Finding(listeners) = &mut self.stage {
            listeners.clear();
            table.begin(Wanted::Listeners);
        }
        self.table = Some(table);
        Ok(())
    }

    fn begin_sample(&mut self, now: Tick) {
        self.stage = Stage::Sampling;
        self.round = Round { began: now, opens: opens(self.health.as_deref()), ..Round::default() };
        self.traffic.begin_sample();
        if let Some(table) = &mut self.table {
            table.begin(Wanted::Ports(&self.ports, &self.families));
        }
    }

    fn read_piece(&mut self, now: Tick) -> io::Result<Step> {
        let Self { table: Some(table), stage, ports, families, traffic, round, .. } = self else {
            return Ok(Step::Complete);
        };
        match stage {
            Stage::Finding(listeners) => table.step(now, Wanted::Listeners, |entry| {
                if let Entry::Listener(listener) = entry {
                    listeners.push(listener);
                }
            }),
            Stage::Waiting | Stage::Sampling => table.step(now, Wanted::Ports(ports, families), |entry| match entry {
                Entry::Listener(listener) => round.accept_queue = round.accept_queue.saturating_add(listener.queue),
                Entry::Connection(id, counters) => {
                    round.too_many |= !traffic.connection(now, id, counters.as_ref());
                }
            }),
        }
    }

    fn complete(&mut self, now: Tick) -> Outcome {
        self.failures = 0;
        if let Stage::Finding(listeners) = &mut self.stage {
            let found = ports::choose(std::mem::take(listeners), &self.given, self.own_pid);
            if found.ports.is_empty() {
                return Outcome::NoPort { hidden: found.hidden };
            }
            self.ports = found.ports;
            self.has_more_ports = found.left_out > 0;
            self.families = found.families;
            self.traffic.set_alone(found.alone);
            self.stage = Stage::Waiting;
            self.due = now;
            return Outcome::Found { hidden: found.hidden, left_out: found.left_out };
        }
        if self.round.too_many {
            return Outcome::Blind("there are too many connections to follow".to_owned());
        }
        self.stage = Stage::Waiting;
        self.traffic.end_of_sample(now, self.round.accept_queue, self.round.opens);
        Outcome::Sampled
    }

    /// A sample that failed is none. What the kernel had to throw away is tried again.
    fn fail(&mut self, now: Tick, error: io::Error) -> Outcome {
        self.failures += 1;
        // What is left of the answer goes with the socket.
        self.table = None;
        let again = error.raw_os_error() == Some(nix::libc::ENOBUFS) && self.failures < MOST_FAILURES;
        if !again {
            return self.fall_back(now, error);
        }
        if matches!(self.stage, Stage::Sampling) {
            self.stage = Stage::Waiting;
        }
        self.due = now + INTERVAL;
        Outcome::Nothing
    }

    fn fall_back(&mut self, now: Tick, error: io::Error) -> Outcome {
        if self.traffic.source() == Source::Proc {
            return Outcome::Blind(format!("the sockets are not to be seen: {error}"));
        }
        self.failures = 0;
        self.table = None;
        self.traffic.fall_back(Source::Proc);
        if matches!(self.stage, Stage::Sampling) {
            self.stage = Stage::Waiting;
        }
        self.due = now;
        Outcome::FellBack(error)
    }

    /// The answers owed by the last sample; `None` when they are not to be seen.
    pub(super) fn owed(&self) -> Option<u32> {
        let seen = self.traffic.source() == Source::SockDiag;
        self.traffic.shown().filter(|_| seen).map(|shown| shown.owed)
    }

    /// Whether the delay may end, by the sample just taken.
    pub(super) fn is_quiet(&mut self, now: Tick, machine: &Machine) -> bool {
        let policy = machine.policy();
        self.delay_ends = machine.delay_ends().or(self.delay_ends);
        match (policy.quiet, self.delay_ends) {
            // Requests may still come on those.
            _ if self.has_more_ports => false,
            (Some(quiet), Some(ends)) => self.traffic.is_quiet(now, ends.saturating_sub(policy.delay), &quiet),
            _ => false,
        }
    }

    /// The delay is over: a sample is taken at once, in case the answers owed are waited for.
    pub(super) fn on_delay_over(&mut self, now: Tick, why: Why) {
        let ended = match why {
            Why::NoDelay | Why::DelayOver => Ended::Delay,
            Why::Quiet => Ended::Quiet,
            Why::Hurried(..) => Ended::Hurried,
        };
        self.traffic.on_delay_over(now, ended);
        self.due = self.due.min(now);
    }

    /// The server was sent its graceful signal.
    pub(super) fn on_told(&mut self, now: Tick) {
        self.told = true;
        self.traffic.on_told(now);
    }

    /// The ports that are watched.
    pub(super) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Whether the connections are counted that come and go unseen.
    pub(super) fn counts(&self) -> bool {
        opens(self.health.as_deref()).is_some()
    }

    /// How it sees.
    pub(super) fn source(&self) -> Source {
        self.traffic.source()
    }

    /// What is known as of now.
    pub(super) fn evidence(&self, now: Tick, delay: Duration) -> Evidence {
        self.traffic.evidence(now, delay, self.delay_ends.unwrap_or(self.began + delay))
    }
}
