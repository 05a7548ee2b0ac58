//! A shell as PID 1 hears no stop signal.

use super::{Broken, Over, Rule, Severity, Verdict, holds};
use crate::check::case::Case;
use crate::check::fact::Fact;
use crate::check::launch::{Front, FrontKind};

pub(super) const RULE: Rule = Rule {
    id: "LD028",
    name: "pid1-shell",
    formula: "no shell stays in front of the server: `exec`, or no shell at all",
    severity: "error when the shell is PID 1; warning under tini, dumb-init or the platform's init; info under \
               lameduck, which looks through it",
    worst: Severity::Error,
    about: "A shell that waits for its command does not pass the signal on, and as PID 1 it is not even ended by it. \
            What it starts with & has INT and QUIT ignored.",
    fix: "Write `exec` before the last command, or use the form without a shell.",
    source: "measured: dash stays even for a single command, bash replaces itself by the last one; POSIX on &",
    example: "\"entryPoint\": [\"sh\", \"-c\", \"nginx -g 'daemon off;'\"]",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let launch = &case.container.launch;
    let front = launch.front.as_ref().map_err(|why| super::Needs::one(why.clone()))?;
    let is_shell = |front: &&Front| matches!(front.kind, FrontKind::Shell { .. });
    let Some(shell) = front.iter().find(is_shell) else { return holds() };
    let FrontKind::Shell { background, traps } = shell.kind else { return holds() };
    let before = || front.iter().take_while(|other| *other != shell);
    let stays = |kind: FrontKind| before().any(|front| front.kind == kind);
    let (severity, why) = if launch.lameduck().is_some() && stays(FrontKind::Lameduck) {
        (Severity::Info, "lameduck looks through it and signals the server itself; one process less without it")
    } else if traps {
        return holds();
    } else if stays(FrontKind::Init) || case.container.init.is(&true) {
        (Severity::Warning, "the init's signal ends the shell, and the server only hears of it as the container goes")
    } else {
        (Severity::Error, "it does not pass the stop signal on: the server is killed when the time is over")
    };
    let ignored = if background { "; what it starts with & has INT and QUIT ignored" } else { "" };
    let cited = Fact::written("shell", shell.word.text.clone(), shell.word.place);
    Broken::new(severity, format!("a shell stays in front of the server: {why}{ignored}")).with(&cited).found()
}
