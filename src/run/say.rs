//! The facts of a stop in words: the only module that knows what a log line says.
//!
//! Quiet until the stop; then a line for each phase, and a last one that says how it ended. Each
//! carries the same keys in JSON as the sentence says in words.

use super::{memory, procfs};
use crate::cli::{LogFormat, LogLevel, Settings};
use crate::core::duration::Written;
use crate::core::note::{Ended, Made, Told, Why};
use crate::core::report::HookRun;
use crate::core::traffic::verdict::Verdict;
use crate::core::traffic::{Evidence, Source};
use crate::core::{Delivery, Hook, Machine, Note, Phase, Pid, Sender, Signal, Target, Tick, WaitStatus};
use crate::json::Value;
use crate::{exit, log};
use nix::errno::Errno;
use std::fmt::{self, Write as _};
use std::io;
use std::time::Duration;
use tracing::{debug, error, info, warn};

/// Tells the log what happens.
pub(super) struct Say {
    format: LogFormat,
    level: LogLevel,
    set_up: bool,
    /// Whether there is a stop sequence; without one a signal that ends the server came through us.
    stops: bool,
    name: String,
    main: Option<Pid>,
    /// What was sent SIGKILL.
    killed: Vec<(Pid, String)>,
}

/// The most names a line lists.
const MOST_NAMES: usize = 8;

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

    pub(super) fn watching(&mut self, ports: &[u16], source: Source) {
        if self.debugs() {
            let ports = names(ports.iter().map(u16::to_string));
            debug!(ports = %ports, source = source.name(), "watching port {ports} by {}", source.name());
        }
    }

    pub(super) fn watch_fell_back(&mut self, error: &io::Error) {
        if self.debugs() {
            debug!(
                "connections are read from /proc/net/tcp: the kernel's socket diagnostics are not to be had: {error}"
            );
        }
    }

    pub(super) fn watch_is_blind(&mut self, why: &str) {
        if self.debugs() {
            debug!("the traffic is not watched: {why}");
        }
    }

    /// All that is known of the traffic of the whole stop.
    pub(super) fn traffic_in_full(&mut self, traffic: &Value) {
        if self.debugs() {
            debug!("traffic: {traffic}");
        }
    }

    /// What came during the delay, now that it is over. That nothing came is hardly news.
    pub(super) fn traffic(&mut self, evidence: &Evidence, signal: &str) {
        let seen = evidence.last_request.is_some() || evidence.last_connection.is_some();
        if !seen && !self.debugs() {
            return;
        }
        self.wake();
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let verdict = Verdict { evidence, signal };
        let (phase, elapsed) = (Phase::LameDuck.name(), evidence.delay_over.as_secs_f64());
        if seen {
            info!(
                phase,
                requests = evidence.requests,
                new_connections = evidence.new_connections,
                last_request_s = seconds(evidence.last_request),
                margin_s = seconds(evidence.margin),
                elapsed_s = elapsed,
                "{verdict}"
            );
        } else {
            debug!(phase, elapsed_s = elapsed, "{verdict}");
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
            Note::Draining { cause, why, told, drain, cut, waits_for } => {
                let cause = cause.map(|(signal, sender)| (signal, From::read(sender)));
                let from = cause.as_ref().map(|(_, from)| from);
                let told = Tellings(told);
                info!(phase, signal = cause.as_ref().map(|(signal, _)| signal.to_string()),
                    sender = from.map(ToString::to_string), sender_pid = from.and_then(|from| from.pid),
                    sender_uid = from.and_then(|from| from.uid), sender_comm = from.and_then(|from| from.comm.as_deref()),
                    reason = why_key(*why), told = %told, owed = *cut, elapsed_s = elapsed, remaining_s = remaining,
                    "{}{}{told}{}{}", Because(*why, cause.as_ref()), Cut(*cut), Limit(*drain), Waits(waits_for.as_ref()));
            }
            Note::WentOn { told } => {
                let told = Tellings(told);
                info!(phase, told = %told, elapsed_s = elapsed, remaining_s = remaining,
                    "what was told has ended and the shell went on: {told}");
            }
            Note::Again { signal, sender, made } => {
                let from = From::read(*sender);
                let text = format!("{signal} again, from {from}: {}", made_of(*made));
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
        let killed_by_others = by_signal == Some(Signal::KILL) && !ended.killed;
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

/// The times a line carries, in seconds.
struct Times {
    phase: &'static str,
    /// Since the stop signal.
    elapsed: Option<f64>,
    /// Until SIGKILL.
    remaining: Option<f64>,
}

impl Times {
    fn of(phase: Phase, machine: &Machine, now: Tick) -> Self {
        Self {
            phase: phase.name(),
            elapsed: machine.stop_began().map(|began| now.saturating_sub(began).as_secs_f64()),
            remaining: machine.kill_at().map(|at| at.saturating_sub(now).as_secs_f64()),
        }
    }

    /// Those of a note: by the time it is said the machine may be a phase further.
    fn of_note(note: &Note, machine: &Machine, now: Tick) -> Self {
        let phase = match note {
            Note::LameDuck { .. } | Note::DelayOver(_) | Note::HookTimedOut(Hook::OnStop) => Phase::LameDuck,
            Note::Holding { .. } | Note::Draining { .. } | Note::WentOn { .. } => Phase::Draining,
            Note::Killing { .. } => Phase::Killing,
            Note::Sweeping { .. } | Note::LeftBehind | Note::Again { made: Made::SweepCut, .. } => Phase::Sweeping,
            Note::HookTimedOut(Hook::OnExit) | Note::Ended(_) => Phase::Gone,
            Note::Again { .. } => machine.phase(),
            Note::Entered(phase) => *phase,
        };
        Self::of(phase, machine, now)
    }
}

/// The sender of a signal in words.
struct From {
    sender: Sender,
    pid: Option<Pid>,
    uid: Option<u32>,
    comm: Option<String>,
}

impl From {
    fn read(sender: Sender) -> Self {
        let (pid, uid) = match sender {
            Sender::Process { pid, uid } => (Some(pid), Some(uid)),
            Sender::Outside { uid } => (Some(0), Some(uid)),
            Sender::Kernel => (None, None),
        };
        let comm = pid.filter(|pid| *pid != 0).and_then(procfs::stat).map(|stat| stat.comm);
        Self { sender, pid, uid, comm }
    }
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sender, &self.comm) {
            (Sender::Outside { .. }, _) => f.write_str("outside the container"),
            (Sender::Kernel, _) => f.write_str("terminal/kernel"),
            (Sender::Process { pid, uid }, Some(comm)) => write!(f, "{comm}[{pid}] of uid {uid}"),
            (Sender::Process { pid, uid }, None) => write!(f, "process {pid} of uid {uid}"),
        }
    }
}

/// `SIGQUIT to nginx[7], SIGTERM to app[8]`.
struct Tellings<'a>(&'a [Told]);

impl fmt::Display for Tellings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |told: &Told| {
            let group = if told.with_group { " and its group" } else { "" };
            format!("{} to {}[{}]{group}", told.signal, told.name, told.pid)
        };
        f.write_str(&names(self.0.iter().map(one)))
    }
}

/// What is done until the server is told.
struct Meanwhile(Option<Duration>, Duration);

impl fmt::Display for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(hook, delay) = *self;
        match hook {
            None => write!(f, "serving on for {}", Written(delay)),
            Some(limit) => {
                write!(f, "serving on for the on-stop hook, {} at the most", Written(limit))?;
                if delay.is_zero() { Ok(()) } else { write!(f, ", and {} after it", Written(delay)) }
            }
        }
    }
}

/// When SIGKILL comes.
struct Limit(Option<Duration>);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "; SIGKILL {} later", Written(limit)),
            None => f.write_str("; no drain deadline"),
        }
    }
}

/// Why the drain begins now.
struct Because<'a>(Why, Option<&'a (Signal, From)>);

impl fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Why::NoDelay, Some((signal, from))) => write!(f, "{signal} from {from}; "),
            (Why::NoDelay | Why::DelayOver, _) => f.write_str("delay over; "),
            (Why::Quiet, _) => f.write_str("no more traffic; "),
            (Why::Hurried(signal, _), _) => write!(f, "hurried by {signal}; "),
        }
    }
}

/// What a hold could not wait for.
struct Cut(Option<u32>);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(owed) => write!(f, "waited as long as may be, {} still owed; ", Answers(owed)),
            None => Ok(()),
        }
    }
}

/// `1 answer`, `3 answers`.
struct Answers(u32);

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answer{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// What a shell waits for before it runs its trap.
struct Waits<'a>(Option<&'a (Pid, String)>);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((pid, name)) => write!(f, "; its trap runs once {name}[{pid}] has ended"),
            None => Ok(()),
        }
    }
}

/// Why something failed, without the number that `io::Error` adds.
pub(super) struct Reason<'a>(pub(super) &'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.raw_os_error() {
            Some(number) => f.write_str(Errno::from_raw(number).desc()),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Whom a signal goes to.
struct Whom(Target);

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Target::Child(pid) | Target::Descendant { pid, .. } => write!(f, "process {pid}"),
            Target::Group(leader) | Target::Remains(leader) => write!(f, "process group {leader}"),
        }
    }
}

fn why_key(why: Why) -> &'static str {
    match why {
        Why::NoDelay => "no-delay",
        Why::DelayOver => "delay",
        Why::Quiet => "quiet",
        Why::Hurried(..) => "hurried",
    }
}

fn made_of(made: Made) -> &'static str {
    match made {
        Made::Hurried => "not waiting any longer",
        Made::Duplicate => "a duplicate of the first",
        Made::Ignored => "ignored, as --repeat says",
        Made::PassedOn => "passed on as it is",
        Made::AlreadyDraining => "the server is draining already",
        Made::SweepCut => "what was left behind is not waited for any longer",
    }
}

fn out_of_memory(kills: Option<u64>) -> String {
    match kills {
        Some(0) => ", not by lameduck (and not for want of memory in this cgroup)".to_owned(),
        Some(kills) => format!(", not by lameduck; out of memory? (the kernel has killed {kills} in this cgroup)"),
        None => ", not by lameduck; out of memory?".to_owned(),
    }
}

/// A list that does not grow without end.
fn names(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MOST_NAMES);
    let mut text = all.take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {more} more");
    }
    text
}
