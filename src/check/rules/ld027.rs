//! Each server drains on a signal of its own.

use super::{Broken, Over, Rule, Severity, Verdict, holds, one};
use crate::check::case::Case;
use crate::check::fact::Fact;
use crate::check::launch::FrontKind;
use crate::core::policy::StopSignal;
use crate::core::{Signal, programs};

pub(super) const RULE: Rule = Rule {
    id: "LD027",
    name: "graceful-signal",
    formula: "the signal that the server gets is the one it drains on",
    severity: "error",
    worst: Severity::Error,
    about: "TERM is graceful for gunicorn and cuts every request of nginx, haproxy, httpd, php-fpm, unicorn and \
            lighttpd; QUIT is graceful for nginx and kills gunicorn's and caddy's requests.",
    fix: "Leave LAMEDUCK_STOP_SIGNAL at auto.",
    source: "watched live with a request in flight, or read in the program's source: see the table in the README",
    example: "LAMEDUCK_STOP_SIGNAL=TERM in front of nginx; nginx under tini with STOPSIGNAL SIGTERM",
    over: Over::Containers,
    check,
};

fn check(case: &Case<'_>) -> Verdict {
    let launch = &case.container.launch;
    let Some(known) = launch.program.known().and_then(|name| programs::lookup(name)) else {
        return one(&launch.program).map(|_| Vec::new());
    };
    // A shell that stays swallows the signal, whichever it is: LD028.
    if launch.passes(|kind| matches!(kind, FrontKind::Shell { .. })).is_some() && case.lameduck().is_none() {
        return holds();
    }
    let sent: Fact<Signal> = match case.lameduck() {
        Some(settings) => match one(&settings.stop_signal)? {
            StopSignal::Auto => return holds(),
            StopSignal::This(signal) => settings.stop_signal.clone().map(|_| signal),
            StopSignal::Same => case.container.stop_signal.clone(),
        },
        None => match &launch.lameduck {
            Ok(_) => case.container.stop_signal.clone(),
            Err(why) => return Err(super::Needs::one(why.clone())),
        },
    };
    let signal = one(&sent)?;
    if signal == known.graceful {
        return holds();
    }
    let message = format!("{} drains on {}, and is sent {signal}", known.name, known.graceful);
    let fix = match case.lameduck() {
        Some(_) => "leave LAMEDUCK_STOP_SIGNAL at auto".to_owned(),
        None => format!("set {} to {}, or let lameduck translate it", sent.name, known.graceful),
    };
    Broken::new(Severity::Error, message).fix(fix).with(&sent).with(&launch.program).found()
}
