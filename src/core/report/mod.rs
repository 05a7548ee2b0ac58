//! The report of one server's life: facts go in as they come, and at the end one JSON object comes
//! out.
//!
//! It is for the engineer who was not there: Kubernetes shows it as the termination message, and
//! takes no more than 4,096 bytes of it. `fit` says what is left out of one that would be longer.

mod fit;

#[cfg(test)]
mod tests;

use super::note::{Ended, Made, Told};
use super::{Delivery, Hook, Note, Phase, Pid, Sender, Signal, State, Tick, WaitStatus};
use crate::json::Value;
use std::time::Duration;

/// The version of the keys. Keys may be added without it changing.
pub const SCHEMA: i64 = 1;

/// The most bytes a report has, its line end included: what the kubelet reads of a termination
/// message.
pub const MOST_BYTES: usize = 4_096;

/// The most entries kept of what may go on for ever. The file has room for fewer.
const MOST_KEPT: usize = 100;

/// What is to be told of a server's life.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    command: Vec<String>,
    settings: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    server: Option<Server>,
    sender: Option<String>,
    phases: Vec<(Phase, Tick)>,
    forwarded: Vec<(Signal, u32)>,
    told: Vec<Told>,
    killed: Vec<(Pid, String)>,
    hurried: bool,
    hooks: Vec<HookRun>,
    traffic: Option<Value>,
}

#[derive(Clone, Debug)]
struct Server {
    pid: Pid,
    comm: String,
    started: Tick,
}

/// How a hook went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRun {
    /// Which one.
    pub hook: Hook,
    /// How it ended; `None` when lameduck left before it had.
    pub exit_code: Option<u8>,
    /// How long it ran.
    pub took: Duration,
    /// Whether it was killed at its time limit.
    pub timed_out: bool,
}

// === impl Recorder ===

impl Recorder {
    /// A record of `command`, run with these settings.
    #[must_use]
    pub fn new(command: Vec<String>, settings: Vec<(&'static str, String)>) -> Self {
        Self { command, settings, ..Self::default() }
    }

    /// The server runs.
    pub fn started(&mut self, pid: Pid, comm: &str, now: Tick) {
        self.server = Some(Server { pid, comm: short(comm), started: now });
    }

    /// A stop was asked for: what the server and the sender (when it is to be seen) are called now.
    pub fn stopped(&mut self, server: Option<&str>, sender: Option<&str>) {
        if let (Some(known), Some(comm)) = (&mut self.server, server) {
            known.comm = short(comm);
        }
        self.sender = sender.map(short);
    }

    /// What the machine noted.
    pub fn note(&mut self, note: &Note, now: Tick) {
        match note {
            Note::Entered(phase) => self.phases.push((*phase, now)),
            Note::Draining { told, .. } | Note::WentOn { told } | Note::Sweeping { told, .. } => self.tell(told),
            Note::Again { made: Made::Hurried | Made::SweepCut | Made::HookCut, .. } => self.hurried = true,
            _ => {}
        }
    }

    fn tell(&mut self, told: &[Told]) {
        let room = MOST_KEPT.saturating_sub(self.told.len());
        self.told.extend(told.iter().take(room).cloned());
    }

    /// A signal was delivered. Those that were passed on are counted; those that ask to end stand in
    /// the notes.
    pub fn delivered(&mut self, delivery: Delivery) {
        if delivery.wake {
            return;
        }
        // No more kinds than there are signals.
        match self.forwarded.iter_mut().find(|(signal, _)| *signal == delivery.signal) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.forwarded.push((delivery.signal, 1)),
        }
    }

    /// These were sent SIGKILL.
    pub fn killed(&mut self, killed: &[(Pid, String)]) {
        let room = MOST_KEPT.saturating_sub(self.killed.len());
        self.killed.extend(killed.iter().take(room).cloned());
    }

    /// A hook is over.
    pub fn hook(&mut self, run: HookRun) {
        self.hooks.push(run);
    }

    /// Something looked wrong.
    pub fn warning(&mut self, text: String) {
        if self.warnings.len() < MOST_KEPT {
            self.warnings.push(text);
        }
    }

    /// What was seen of the traffic: an object. When the report would be too long, the objects in its
    /// list `per_second` are merged, two and two: `second` stays that of the first, and all
    /// other numbers are added up.
    pub fn traffic(&mut self, traffic: Value) {
        self.traffic = Some(traffic);
    }

    /// The report, as one line of at most [`MOST_BYTES`] bytes. `ended` is nothing when the server
    /// was never started; `time` is the present in words.
    #[must_use]
    pub fn line(&self, state: &State, ended: Option<&Ended>, now: Tick, time: String) -> String {
        fit::into(MOST_BYTES, self.object(state, ended, now, time))
    }

    fn object(&self, state: &State, ended: Option<&Ended>, now: Tick, time: String) -> Vec<(&'static str, Value)> {
        let server = self.server.as_ref();
        let ended = ended.filter(|_| server.is_some());
        let status = ended.and_then(|ended| ended.status);
        let mut object = vec![
            ("schema", SCHEMA.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("time", time.into()),
            ("command", list(&self.command, |word| word.as_str().into())),
            ("server", server.map(|server| process(server.pid, &server.comm)).into()),
            ("served_s", server.map(|server| self.stop_began(state, now).saturating_sub(server.started)).into()),
            ("outcome", outcome(ended).into()),
            ("exit_code", state.exit_code.map(i64::from).into()),
            ("ended_by", status.and_then(WaitStatus::signal).map(|signal| signal.to_string()).into()),
            ("during", ended.map(|ended| ended.phase.name()).into()),
            ("signal", state.stop.map(|(signal, _)| signal.to_string()).into()),
            ("sender", state.stop.map(|(_, sender)| self.sender(sender)).into()),
            ("stop_took_s", state.elapsed.into()),
            ("hurried", self.hurried.into()),
            ("phases", self.phases(state, now)),
            (
                "told",
                list(&self.told, |told| {
                    let Told { pid, name, signal, .. } = told;
                    Value::Object(vec![
                        ("pid", i64::from(*pid).into()),
                        ("comm", name.as_str().into()),
                        ("signal", signal.to_string().into()),
                    ])
                }),
            ),
            (
                "forwarded",
                list(&self.forwarded, |(signal, count)| {
                    Value::Object(vec![("signal", signal.to_string().into()), ("count", i64::from(*count).into())])
                }),
            ),
            ("killed", list(&self.killed, |(pid, comm)| process(*pid, comm))),
            ("hooks", list(&self.hooks, HookRun::json)),
        ];
        object.extend(self.traffic.clone().map(|traffic| ("traffic", traffic)));
        let settings = self.settings.iter().map(|(name, value)| (*name, value.as_str().into()));
        object.push(("settings", Value::Object(settings.collect())));
        object.push(("warnings", list(&self.warnings, |warning| warning.as_str().into())));
        object.push(("truncated", false.into()));
        object
    }

    /// When the stop was asked for; without one, when the server ended by itself.
    fn stop_began(&self, state: &State, now: Tick) -> Tick {
        let by_itself = self.phases.iter().find(|(phase, _)| *phase > Phase::Serving).map_or(now, |(_, at)| *at);
        let asked_for = state.elapsed.map_or(now, |elapsed| now.saturating_sub(elapsed));
        // A server that had ended by itself may be asked to stop while what it left is swept up.
        by_itself.min(asked_for)
    }

    /// The phases of the stop, each with its beginning, counted from that of the stop.
    fn phases(&self, state: &State, now: Tick) -> Value {
        if self.server.is_none() {
            return Value::List(Vec::new());
        }
        let began = self.stop_began(state, now);
        let ends = self.phases.iter().skip(1).map(|(_, at)| *at).chain([now]);
        let rows = self.phases.iter().zip(ends).filter(|((phase, _), _)| *phase > Phase::Serving);
        Value::List(
            rows.map(|((phase, at), end)| {
                Value::Object(vec![
                    ("phase", phase.name().into()),
                    ("at_s", at.saturating_sub(began).into()),
                    ("seconds", end.saturating_sub(*at).into()),
                ])
            })
            .collect(),
        )
    }

    fn sender(&self, sender: Sender) -> Value {
        let Value::Object(mut ids) = sender.json() else { return Value::Null };
        ids.push(("comm", self.sender.clone().into()));
        Value::Object(ids)
    }
}

// === impl HookRun ===

impl HookRun {
    fn json(&self) -> Value {
        Value::Object(vec![
            ("name", self.hook.name().into()),
            ("exit_code", self.exit_code.map(i64::from).into()),
            ("seconds", self.took.into()),
            ("timed_out", self.timed_out.into()),
        ])
    }
}

fn outcome(ended: Option<&Ended>) -> &'static str {
    match ended {
        None => "not-started",
        Some(ended) if ended.killed => "killed",
        Some(ended) if ended.phase == Phase::LameDuck => "died-in-delay",
        Some(_) => "exited",
    }
}

/// The kernel's names have 15 bytes; that of a command may be as long as a file's.
fn short(comm: &str) -> String {
    comm.chars().take(64).collect()
}

fn process(pid: Pid, comm: &str) -> Value {
    Value::Object(vec![("pid", i64::from(pid).into()), ("comm", comm.into())])
}

fn list<T>(items: &[T], one: impl Fn(&T) -> Value) -> Value {
    Value::List(items.iter().map(one).collect())
}
