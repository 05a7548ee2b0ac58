//! Hooks: commands of the user's at both ends of a stop.
//!
//! They are started like the server, in a process group of their own, and reaped by the one reaper.
//! How long they may take is the core's business.

use super::{perform, start};
use crate::cli;
use crate::core::report::HookRun;
use crate::core::{Hook, Pid, Process, State, Tick, WaitStatus};
use crate::sys::output::Stderr;
use crate::sys::signals::Mask;
use crate::sys::spawn::{self, Child};
use std::ffi::{CString, OsStr};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

/// The hooks there are, and those that run.
pub(super) struct Hooks {
    on_stop: Option<cli::Hook>,
    on_exit: Option<cli::Hook>,
    mask: Mask,
    running: Vec<Running>,
    /// Those that were killed, with their children: no sweep has any business with them.
    killed: Vec<Pid>,
}

struct Running {
    hook: Hook,
    pid: Pid,
    began: Tick,
    timed_out: bool,
}

// === impl Hooks ===

impl Hooks {
    pub(super) fn new(on_stop: Option<cli::Hook>, on_exit: Option<cli::Hook>, mask: Mask) -> Self {
        Self { on_stop, on_exit, mask, running: Vec::new(), killed: Vec::new() }
    }

    /// One line for each hook whose program is not there (yet).
    pub(super) fn missing(&self) -> Vec<String> {
        [&self.on_stop, &self.on_exit]
            .into_iter()
            .flatten()
            .filter_map(|hook| {
                let program = hook.words.first()?;
                (!start::is_there(OsStr::new(program)))
                    .then(|| format!("{}: there is no program {program:?} to run, as things stand", hook.given_as))
            })
            .collect()
    }

    /// Starts a hook.
    ///
    /// # Errors
    /// How it went instead, and why.
    pub(super) fn start(&mut self, hook: Hook, state: &State, now: Tick) -> Result<(), (HookRun, String)> {
        let command = match hook {
            Hook::OnStop => &self.on_stop,
            Hook::OnExit => &self.on_exit,
        };
        let words = command.as_ref().map_or(&[][..], |command| &command.words);
        match launch(words, state, &self.mask) {
            Ok(pid) => {
                self.running.push(Running { hook, pid, began: now, timed_out: false });
                Ok(())
            }
            Err(failure) => {
                let run = HookRun { hook, exit_code: Some(failure.code), took: Tick::ZERO, timed_out: false };
                Err((run, format!("the {} hook did not run: {failure}", hook.name())))
            }
        }
    }

    /// The hook took too long, says the core; it will have it killed.
    pub(super) fn timed_out(&mut self, hook: Hook) {
        for running in self.running.iter_mut().filter(|running| running.hook == hook) {
            running.timed_out = true;
        }
    }

    /// Kills a hook with its children.
    pub(super) fn kill(&mut self, hook: Hook) {
        for running in self.running.iter().filter(|running| running.hook == hook) {
            self.killed.extend(perform::kill_family(running.pid));
        }
    }

    /// A child of ours has ended: how it went if that was a hook, and whether we killed it.
    pub(super) fn ended(&mut self, pid: Pid, status: WaitStatus, now: Tick) -> Option<(HookRun, bool)> {
        let at = self.running.iter().position(|running| running.pid == pid)?;
        let Running { hook, began, timed_out, .. } = self.running.swap_remove(at);
        let took = now.saturating_sub(began);
        Some((HookRun { hook, exit_code: Some(status.code()), took, timed_out }, self.killed.contains(&pid)))
    }

    /// Those that lameduck leaves behind: killed just now, and not yet reaped.
    pub(super) fn left(&mut self, now: Tick) -> Vec<HookRun> {
        let run = |running: Running| HookRun {
            hook: running.hook,
            exit_code: None,
            took: now.saturating_sub(running.began),
            timed_out: running.timed_out,
        };
        self.running.drain(..).map(run).collect()
    }

    /// Whether a process belongs to a hook that runs or was killed.
    pub(super) fn owns(&self, process: &Process) -> bool {
        let running = self.running.iter().map(|running| running.pid);
        running.chain(self.killed.iter().copied()).any(|pid| pid == process.pid || pid == process.group)
    }
}

/// Starts a command with what a hook is told in its environment, nothing to read, and our standard
/// error to write to.
fn launch(words: &[String], state: &State, mask: &Mask) -> Result<Pid, start::Failure> {
    let name = words.first().map_or(OsStr::new(""), OsStr::new);
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").ok();
    let stderr = io::stderr();
    let output = if Stderr::open().is_some() { Some(stderr.as_fd()) } else { null.as_ref().map(|null| null.as_fd()) };
    let streams = null.as_ref().map(|null| null.as_fd()).zip(output).map(<[BorrowedFd<'_>; 2]>::from);
    let argv: Result<_, _> = words.iter().map(|word| CString::new(word.as_bytes())).collect();
    let child = argv.map_err(io::Error::from).map(|argv| Child {
        argv,
        environ: Some(environ(state)),
        mask,
        foreground: false,
        listen_pid: false,
        ignores_chld: false,
        streams,
    });
    start::launch(name, child)
}

/// The server's environment, and what is known of the stop. What is not known is not there.
fn environ(state: &State) -> Vec<CString> {
    let known = [
        Some(state.phase.name().to_owned()),
        state.stop.map(|(signal, _)| signal.to_string()),
        state.main.map(|pid| pid.to_string()),
        state.exit_code.map(|code| code.to_string()),
    ];
    let told = cli::OF_HOOKS.into_iter().zip(known);
    let told = told.filter_map(|(name, value)| CString::new(format!("{name}={}", value?)).ok());
    let inherited = spawn::environ().into_iter().filter(|word| {
        let name = word.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
        !cli::is_own_variable(name) && !cli::OF_HOOKS.iter().any(|known| known.as_bytes() == name)
    });
    inherited.chain(told).collect()
}
