//! lameduck has to take the signal that the platform sends as a stop.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::core::policy::StopOn;
use crate::core::{Signal, programs};

pub(super) const RULE: Rule = Rule {
    id: "LD026",
    name: "stop-signal-known",
    formula: "the platform's stop signal is one that begins a stop",
    severity: "error",
    worst: Severity::Error,
    about: "Images of httpd and haproxy have WINCH and USR1 as STOPSIGNAL. What lameduck does not take as a stop it \
            passes on at once, and there is no delay at all. With --stop-on auto TERM, QUIT and the program's own \
            graceful signal begin a stop.",
    fix: "Have SIGTERM sent, or add the signal to LAMEDUCK_STOP_ON.",
    source: "the documentation of lameduck",
    example: "STOPSIGNAL SIGUSR1 in front of nginx",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let Some(settings) = case.lameduck() else { return holds() };
    let sent = &case.container.stop_signal;
    // Nobody sends anything else where nothing says so.
    let Some(signal) = sent.known().copied() else { return one(sent).map(|_| Vec::new()) };
    let program = &case.container.launch.program;
    let stop_on = one(&settings.stop_on)?;
    let begins = match &stop_on {
        StopOn::These(signals) => signals.contains(signal),
        StopOn::Nothing => false,
        StopOn::Auto if matches!(signal, Signal::TERM | Signal::QUIT) => true,
        StopOn::Auto => programs::lookup(&one(program)?).is_some_and(|known| known.graceful == signal),
    };
    if begins {
        return holds();
    }
    let message = format!("{signal} begins no stop: it is passed on at once, and nothing is delayed");
    let fix = match &stop_on {
        StopOn::Auto => format!("set {} to SIGTERM, or add {signal} to LAMEDUCK_STOP_ON", sent.name),
        StopOn::These(_) => format!("add {signal} to LAMEDUCK_STOP_ON, or leave it at auto and set {} to SIGTERM", sent.name),
        StopOn::Nothing => "leave LAMEDUCK_STOP_ON at auto".to_owned(),
    };
    let broken = Broken::new(Severity::Error, message).fix(fix).with(sent);
    if program.value.is_ok() { broken.with(program) } else { broken }.found()
}
