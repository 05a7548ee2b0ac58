//! The facts of a stop in words: the only module that knows what a log line says.
//!
//! Quiet until the stop; then a line for each phase, and a last one that says how it ended. Each
//! carries the same keys in JSON as the sentence says in words.

mod traffic;
mod words;

use super::memory;
use crate::cli::{LogFormat, LogLevel, Settings};
use crate::core::duration::Written;
use crate::core::note::{Ended, Made};
use crate::core::report::HookRun;
use crate::core::{Delivery, Hook, Machine, Note, Phase, Pid, Signal, Tick, WaitStatus};
use crate::json::Value;
use crate::{exit, log};
use std::fmt;
use std::io;
use tracing::{debug, error, info, warn};
pub(super) use words::Reason;
use words::{
    Answers, Because, Cut, From, Limit, Meanwhile, Tellings, Times, Waits, Whom, made_of, names, out_of_memory, why_key,
};

/// Tells the log what happens.
pub(super) struct Say {
    format: LogFormat,
    level: LogLevel,
    set_up: bool,
    /// Whether there is a stop sequence; without one a signal that ends the server came through us.
    stops: bool,
    name: String,
    main: Option<Pid>,
    /// SIGKILL was passed on to the main process: somebody asked for it by `--stop-signal` or `--rewrite`.
    passed_kill_on: bool,
    /// What was sent SIGKILL.
    killed: Vec<(Pid, String)>,
}

// === impl Say ===

impl Say {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            format: settings.log,
            level: settings.log_level,
            set_up: false,
            stops: settings.policy.stops(),
            name: super::start::base_name(settings),
            main: None,
            passed_kill_on: false,
            killed: Vec::new(),
        }
    }

    /// Sets the log up, before the first line that will be written.
    fn wake(&mut self) {
        if !self.set_up {
            self.set_up = true;
            log::set_up(self.format, self.level);
        }
    }

    /// Whether debug lines are wanted at all; they are not worth setting the log up.
    fn debugs(&mut self) -> bool {
        let wanted = matches!(self.level, LogLevel::Debug | LogLevel::Trace);
        if wanted {
            self.wake();
        }
        wanted
    }

    pub(super) fn refused(&mut self, refused: &[String]) {
        for why in refused {
            self.wake();
            error!(exit_code = exit::OWN_ERROR, "{why}");
        }
    }

    /// The same for lines about what is usual.
    fn informs(&mut self) -> bool {
        self.debugs() || self.level == LogLevel::Info
    }

    pub(super) fn warning(&mut self, text: fmt::Arguments<'_>) {
        self.wake();
        warn!("{text}");
    }

    /// How and what to log, for those who may have to before anybody else did.
    pub(super) fn log(&self) -> (LogFormat, LogLevel) {
        (self.format, self.level)
    }

    pub(super) fn failure(&mut self, failure: &super::start::Failure) {
        self.wake();
        error!(exit_code = failure.code, "{failure}");
    }

    pub(super) fn started(&mut self, pid: Pid) {
        self.main = Some(pid);
        if self.debugs() {
            debug!(phase = Phase::Serving.name(), pid, "{}[{pid}] runs", self.name);
        }
    }

    pub(super) fn forwarded(&mut self, delivery: Delivery) {
        if delivery.signal == Signal::KILL && Some(delivery.to.pid()) == self.main {
            self.passed_kill_on = true;
        }
        if self.debugs() {
            debug!(signal = %delivery.signal, pid = delivery.to.pid(), "{} to {}", delivery.signal, Whom(delivery.to));
        }
    }

    pub(super) fn undelivered(&mut self, delivery: Delivery, error: &io::Error) {
        self.wake();
        let Delivery { to, signal, .. } = delivery;
        warn!(signal = %signal, pid = to.pid(), "{signal} could not be sent to {}: {}", Whom(to), Reason(error));
    }

    pub(super) fn reaped(&mut self, pid: Pid, status: WaitStatus) {
        self.wake();
        warn!(pid, exit_code = status.code(), "process {pid} was left behind by its parent and {status}; reaped");
    }

    /// A hook is over. One that went well at the end is not worth a line.
    pub(super) fn hook_ended(&mut self, run: &HookRun, status: WaitStatus, killed: bool, machine: &Machine, now: Tick) {
        let HookRun { hook, took, .. } = run;
        let Times { phase, elapsed, remaining } = Times::of(machine.phase(), machine, now);
        let (name, seconds, exit_code) = (hook.name(), Value::from(*took), status.code());
        if killed || (*hook == Hook::OnExit && exit_code == 0) {
            if self.debugs() {
                debug!(phase, hook = name, exit_code, elapsed_s = elapsed, "the {name} hook {status} after {seconds}s");
            }
            return;
        }
        self.wake();
        if exit_code == 0 {
            info!(
                phase,
                hook = name,
                exit_code,
                elapsed_s = elapsed,
                remaining_s = remaining,
                "the {name} hook ended well after {seconds}s"
            );
        } else {
            let goes_on = if *hook == Hook::OnStop { "; the stop goes on" } else { "" };
            warn!(
                phase,
                hook = name,
                exit_code,
                elapsed_s = elapsed,
                remaining_s = remaining,
                "the {name} hook {status} after {seconds}s{goes_on}"
            );
        }
    }

    /// `phase` is that of the machine, which may have gone on already.
    pub(super) fn killed(&mut self, killed: &[(Pid, String)], phase: Phase) {
        self.killed = killed.to_vec();
        let phase = if phase == Phase::Killing { phase } else { Phase::Sweeping };
        if !killed.is_empty() {
            self.wake();
            let names = names(killed.iter().map(|(pid, name)| format!("{name}[{pid}]")));
            warn!(phase = phase.name(), killed = %names, "SIGKILL to {names}");
        }
    }

    pub(super) fn note(&mut self, note: &Note, machine: &Machine, now: Tick) {
        let times = Times::of_note(note, machine, now);
        self.learn_the_name(note);
        match note {
            Note::Ended(ended) => return self.ended(ended, &times),
            // What is done in a phase is told; that it begins needs no line of its own. What came during
            // the delay has its own.
            Note::Entered(_) | Note::DelayOver(_) => return,
            _ => self.wake(),
        }
        let Times { phase, elapsed, remaining } = times;
        match note {
            Note::LameDuck { signal, sender, plan, hook, delay, drain } => {
                let from = From::read(*sender);
                info!(phase, signal = %signal, sender = %from, sender_pid = from.pid, sender_uid = from.uid,
                    sender_comm = from.comm, delay_s = delay.as_secs_f64(), elapsed_s = elapsed, remaining_s = remaining,
                    "{signal} from {from}; {}, then {}{}", Meanwhile(*hook, *delay), Tellings(plan), Limit(*drain));
            }
            Note::Holding { owed, longest } => {
                info!(
                    phase,
                    owed = owed,
                    elapsed_s = elapsed,
                    remaining_s = remaining,
                    "waiting for {} still owed, at most {}",
                    Answers(owed.unwrap_or(0)),
                    Written(*longest)
                );
            }
            Note::Draining { cause, why, told, left, cut, waits_for } => {
                let cause = cause.map(|(signal, sender)| (signal, From::read(sender)));
                let from = cause.as_ref().map(|(_, from)| from);
                let told = Tellings(told);
                info!(phase, signal = cause.as_ref().map(|(signal, _)| signal.to_string()),
                    sender = from.map(ToString::to_string), sender_pid = from.and_then(|from| from.pid),
                    sender_uid = from.and_then(|from| from.uid), sender_comm = from.and_then(|from| from.comm.as_deref()),
                    reason = why_key(*why), told = %told, owed = *cut, elapsed_s = elapsed, remaining_s = remaining,
                    "{}{}{told}{}{}", Because(*why, cause.as_ref()), Cut(*cut), Limit(*left), Waits(waits_for.as_ref()));
            }
            Note::WentOn { told } => {
                let told = Tellings(told);
                info!(phase, told = %told, elapsed_s = elapsed, remaining_s = remaining,
                    "what was told has ended and the shell went on: {told}");
            }
            Note::Again { signal, sender, made } => {
                let from = From::read(*sender);
                // The first one, when it comes after the server has ended by itself.
                let again = if machine.stop_began().is_some_and(|began| began < now) { " again," } else { "" };
                let text = format!("{signal}{again} from {from}: {}", made_of(*made));
                // tracing fixes a line's level where the line stands.
                macro_rules! line {
                    ($level:ident) => {
                        $level!(phase, signal = %signal, sender = %from, sender_pid = from.pid, sender_uid = from.uid,
                            sender_comm = from.comm, elapsed_s = elapsed, remaining_s = remaining, "{text}")
                    };
                }
                if *made == Made::Duplicate { line!(debug) } else { line!(info) }
            }
            Note::Killing { drain } => {
                warn!(
                    phase,
                    elapsed_s = elapsed,
                    "the drain did not end within {}: killing what is left",
                    Written(*drain)
                );
            }
            Note::Sweeping { budget, told } => {
                let told = Tellings(told);
                info!(phase, told = %told, elapsed_s = elapsed, remaining_s = remaining,
                    "left behind: {told}{}", Limit(*budget));
            }
            Note::LeftBehind => {
                warn!(phase, elapsed_s = elapsed, "what was left behind did not end in time: killing it");
            }
            Note::HookTimedOut(hook) => {
                let name = hook.name();
                warn!(phase, hook = name, elapsed_s = elapsed, "the {name} hook took too long and is killed");
            }
            Note::Entered(_) | Note::DelayOver(_) | Note::Ended(_) => {}
        }
    }

    /// The main process may have become another program than the one that was started.
    fn learn_the_name(&mut self, note: &Note) {
        let (Note::LameDuck { plan: told, .. } | Note::Draining { told, .. } | Note::WentOn { told }) = note else {
            return;
        };
        if let Some(main) = told.iter().find(|told| Some(told.pid) == self.main) {
            self.name.clone_from(&main.name);
        }
    }

    /// The last line. Only a stop, a death by a signal, or something left behind is worth one.
    fn ended(&mut self, ended: &Ended, times: &Times) {
        let by_signal = ended.status.and_then(WaitStatus::signal);
        let quiet = ended.stop_took.is_none() && by_signal.is_none() && !ended.left_behind;
        if (quiet && !self.debugs()) || !(self.stops || self.informs()) {
            return;
        }
        self.wake();
        let killed_by_others = by_signal == Some(Signal::KILL) && !ended.killed && !self.passed_kill_on;
        let who = self.main.map_or_else(|| self.name.clone(), |pid| format!("{}[{pid}]", self.name));
        let how = match ended.status {
            Some(status) => status.to_string(),
            None => "does not end at SIGKILL: is it frozen, stuck in the kernel, or not ours to kill?".to_owned(),
        };
        let when = match (ended.stop_took, ended.phase) {
            (None, _) if !self.stops => "",
            (None, _) if by_signal.is_some() => " though no stop was asked for",
            (None, _) => " by itself",
            (Some(_), Phase::LameDuck) => " in the delay, before it was told to stop",
            (Some(_), Phase::Draining) => " while draining",
            (Some(_), Phase::Killing) if ended.status.is_some() => ", killed at the drain deadline",
            (Some(_), _) => "",
        };
        let oom = if killed_by_others { out_of_memory(memory::oom_kills()) } else { String::new() };
        let mapped = match ended.status {
            Some(status) if status.code() != ended.code => format!("; exit status {} by --map-exit", ended.code),
            Some(status) if status.signal().is_none() => String::new(),
            _ => format!("; exit status {}", ended.code),
        };
        let left = if ended.left_behind && ended.status.is_some() && !self.killed.is_empty() {
            let names = names(self.killed.iter().map(|(pid, name)| format!("{name}[{pid}]")));
            format!("; killed: {names}")
        } else {
            String::new()
        };
        let text = format!("{who} {how}{when}{oom}{mapped}{left}");
        let phase = times.phase;
        let signal = by_signal.map(|signal| signal.to_string());
        let core = ended.status.is_some_and(WaitStatus::core_dumped);
        let during = ended.phase.name();
        let elapsed = times.elapsed;
        macro_rules! last_line {
            ($level:ident) => {
                $level!(
                    phase,
                    during,
                    exit_code = ended.code,
                    ended_by = signal,
                    core_dumped = core,
                    killed = ended.killed,
                    elapsed_s = elapsed,
                    "{text}"
                )
            };
        }
        if !self.stops {
            last_line!(info);
        } else if ended.killed || killed_by_others || (ended.stop_took.is_none() && by_signal.is_some()) {
            last_line!(warn);
        } else if quiet {
            last_line!(debug);
        } else {
            last_line!(info);
        }
    }
}
