//! What the world may know of a server's life at one moment: the one answer of `/status`, of
//! `--status` and of `--state-file`.

use super::{Phase, Pid, Sender, Signal};
use crate::json::Value;
use std::time::Duration;

/// The version of the keys. Keys may be added without it changing.
pub const SCHEMA: i64 = 1;

/// The state of things, from [`super::Machine::state`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Where the life of the server stands.
    pub phase: Phase,
    /// Whether new requests are welcome.
    pub ready: bool,
    /// The main process, while it runs.
    pub main: Option<Pid>,
    /// The signal that asked for a stop, and who sent it.
    pub stop: Option<(Signal, Sender)>,
    /// The time since then.
    pub elapsed: Option<Duration>,
    /// The time until what still runs is killed; `None` when nothing is to be.
    pub remaining: Option<Duration>,
    /// The time since the phase began.
    pub phase_elapsed: Duration,
    /// The longest the phase can last from now on; `None` when only an event ends it.
    pub phase_remaining: Option<Duration>,
    /// The status lameduck will leave with, once it is known.
    pub exit_code: Option<u8>,
}

// === impl State ===

impl State {
    /// The same state so much later: only its times have gone on.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let later = |elapsed: Duration| elapsed.saturating_add(time);
        let left = |remaining: Duration| remaining.saturating_sub(time);
        Self {
            elapsed: self.elapsed.map(later),
            remaining: self.remaining.map(left),
            phase_elapsed: later(self.phase_elapsed),
            phase_remaining: self.phase_remaining.map(left),
            ..self
        }
    }

    /// The state as JSON. All keys are always there; what is not known is null.
    ///
    /// | key | what |
    /// |---|---|
    /// | `schema` | 1: the version of these keys |
    /// | `phase` | `starting`, `serving`, `lame-duck`, `draining`, `killing`, `sweeping` or `gone` |
    /// | `ready` | whether new requests are welcome |
    /// | `pid` | the main process, while it runs |
    /// | `signal` | the signal that asked for a stop: `SIGTERM` |
    /// | `sender` | who sent it: `{"pid", "uid"}`; pid 0 is outside of the container, and both are null for the terminal |
    /// | `elapsed_s` | seconds since that signal |
    /// | `remaining_s` | seconds until SIGKILL |
    /// | `phase_elapsed_s` | seconds since the phase began |
    /// | `phase_remaining_s` | seconds until the phase ends at the latest |
    /// | `exit_code` | the status that lameduck will leave with |
    #[must_use]
    pub fn json(&self) -> Value {
        Value::Object(vec![
            ("schema", SCHEMA.into()),
            ("phase", self.phase.name().into()),
            ("ready", self.ready.into()),
            ("pid", self.main.map(i64::from).into()),
            ("signal", self.stop.map(|(signal, _)| signal.to_string()).into()),
            ("sender", self.stop.map(|(_, sender)| sender.json()).into()),
            ("elapsed_s", self.elapsed.into()),
            ("remaining_s", self.remaining.into()),
            ("phase_elapsed_s", self.phase_elapsed.into()),
            ("phase_remaining_s", self.phase_remaining.into()),
            ("exit_code", self.exit_code.map(i64::from).into()),
        ])
    }
}

// === impl Sender ===

impl Sender {
    /// Its process and user id, as far as the kernel tells. Pid 0 is one that our PID namespace does
    /// not show.
    #[must_use]
    pub const fn ids(self) -> (Option<Pid>, Option<u32>) {
        match self {
            Self::Process { pid, uid } => (Some(pid), Some(uid)),
            Self::Outside { uid } => (Some(0), Some(uid)),
            Self::Kernel => (None, None),
        }
    }

    pub(super) fn json(self) -> Value {
        let (pid, uid) = self.ids();
        Value::Object(vec![("pid", pid.map(i64::from).into()), ("uid", uid.map(i64::from).into())])
    }
}

#[cfg(test)]
mod tests {
    use crate::core::fixtures::{MAIN, delayed, secs};
    use crate::core::{Action, Event, Machine, Phase, Policy, Sender, Signal, Tick, Unready, WaitStatus};

    fn step(machine: &mut Machine, now: Tick, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        machine.step(now, event, &mut actions);
        actions
    }

    fn term() -> Event {
        Event::Signal(Signal::TERM, Sender::Process { pid: 90, uid: 33 })
    }

    #[track_caller]
    fn reads(machine: &Machine, now: Tick, expected: &str) {
        assert_eq!(machine.state(now).json().to_string(), expected.replace(['\n', ' '], ""));
    }

    #[test]
    fn a_stop_from_beginning_to_end() {
        let mut machine = Machine::new(Policy { on_stop: Some(secs(5)), map_exit: vec![(3, 7)], ..delayed() }, "app");
        reads(
            &machine,
            secs(0),
            r#"{"schema":1,"phase":"starting","ready":false,"pid":null,"signal":null,"sender":null,
            "elapsed_s":null,"remaining_s":null,"phase_elapsed_s":0.000,"phase_remaining_s":null,"exit_code":null}"#,
        );
        step(&mut machine, secs(0), Event::Started(MAIN));
        reads(
            &machine,
            secs(9),
            r#"{"schema":1,"phase":"serving","ready":true,"pid":7,"signal":null,"sender":null,
            "elapsed_s":null,"remaining_s":null,"phase_elapsed_s":9.000,"phase_remaining_s":null,"exit_code":null}"#,
        );
        step(&mut machine, secs(10), term());
        // While the hook runs: its time limit, the delay after it, and the drain.
        reads(
            &machine,
            secs(12),
            r#"{"schema":1,"phase":"lame-duck","ready":false,"pid":7,"signal":"SIGTERM",
            "sender":{"pid":90,"uid":33},"elapsed_s":2.000,"remaining_s":48.000,"phase_elapsed_s":2.000,
            "phase_remaining_s":18.000,"exit_code":null}"#,
        );
        step(&mut machine, secs(15), Event::Time);
        step(&mut machine, secs(30), Event::Time);
        reads(
            &machine,
            secs(31),
            r#"{"schema":1,"phase":"draining","ready":false,"pid":7,"signal":"SIGTERM",
            "sender":{"pid":90,"uid":33},"elapsed_s":21.000,"remaining_s":29.000,"phase_elapsed_s":1.000,
            "phase_remaining_s":29.000,"exit_code":null}"#,
        );
        step(&mut machine, secs(32), Event::Died(MAIN, WaitStatus::exited(3)));
        reads(
            &machine,
            secs(32),
            r#"{"schema":1,"phase":"sweeping","ready":false,"pid":null,"signal":"SIGTERM",
            "sender":{"pid":90,"uid":33},"elapsed_s":22.000,"remaining_s":5.000,"phase_elapsed_s":0.000,
            "phase_remaining_s":5.000,"exit_code":7}"#,
        );
        step(&mut machine, secs(32), Event::Reaped { children_left: false });
        let state = machine.state(secs(33));
        assert_eq!((state.phase, state.exit_code, state.remaining), (Phase::Gone, Some(7), None));
    }

    #[test]
    fn a_state_ages_as_the_machine_does() {
        let mut machine = Machine::new(delayed(), "app");
        step(&mut machine, secs(0), Event::Started(MAIN));
        assert_eq!(machine.state(secs(2)).after(secs(7)), machine.state(secs(9)));
        step(&mut machine, secs(10), term());
        for later in [0, 1, 15, 1_000] {
            assert_eq!(machine.state(secs(10)).after(secs(later)), machine.state(secs(10 + later)), "{later}");
        }
    }

    #[test]
    fn what_could_not_be_started_has_a_status_too() {
        let mut machine = Machine::new(Policy::default(), "app");
        step(&mut machine, secs(0), Event::NotStarted(127));
        let state = machine.state(secs(0));
        assert_eq!((state.phase, state.ready, state.exit_code), (Phase::Gone, false, Some(127)));
    }

    #[test]
    fn readiness_goes_when_it_was_asked_to() {
        for (unready, in_delay, in_drain, in_kill) in [
            (Unready::Start, false, false, false),
            (Unready::End, true, false, false),
            (Unready::Never, true, true, true),
        ] {
            let mut machine = Machine::new(Policy { unready, ..delayed() }, "app");
            let mut told = Vec::new();
            let mut seen = Vec::new();
            let died = Event::Died(MAIN, WaitStatus::killed(Signal::KILL));
            for (at, event) in
                [(0, Event::Started(MAIN)), (1, term()), (16, Event::Time), (46, Event::Time), (47, died)]
            {
                let actions = step(&mut machine, secs(at), event);
                told.extend(actions.into_iter().filter_map(|action| match action {
                    Action::Ready(ready) => Some((machine.phase(), ready)),
                    _ => None,
                }));
                seen.push(machine.state(secs(at)).ready);
            }
            assert_eq!(seen, [true, in_delay, in_drain, in_kill, false], "{unready:?}");
            let last = match unready {
                Unready::Start => Phase::LameDuck,
                Unready::End => Phase::Draining,
                Unready::Never => Phase::Sweeping,
            };
            assert_eq!(told, [(Phase::Serving, true), (last, false)], "{unready:?}");
        }
    }
}
