//! All options together: the settings, and what does not fit together in them.

use super::given::{Given, Origin, Origins, name};
use super::line::Line;
use super::options::Id;
use super::personality::Asked;
use super::{Extras, Health, LogFormat, LogLevel, Settings, value};
use crate::core::duration::Written;
use crate::core::policy::{DEFAULT_DRAIN, Hold, StopOn, StopSignal};
use crate::core::{Budget, Policy, Quiet, Signal};
use crate::exit::StartErrors;
use std::ffi::OsString;
use std::time::Duration;

/// What a command line and an environment come to.
pub(super) struct Resolved {
    pub(super) settings: Settings,
    pub(super) origins: Origins,
    pub(super) findings: Findings,
    /// Whether all this is to be explained rather than run.
    pub(super) explain: bool,
    /// What could not be read.
    pub(super) errors: Vec<String>,
}

/// What was found out about the platform's limit.
#[derive(Default)]
pub(super) struct Findings {
    /// The limit.
    pub(super) grace: Option<Duration>,
    /// Why the stop does not fit into it.
    pub(super) contradiction: Option<String>,
    /// Why the delay cannot end early, though that was asked for.
    pub(super) never_quiet: Option<String>,
    /// Why nothing can be started at all.
    pub(super) refusal: Option<String>,
}

/// The least drain time-out that is derived from the platform's limit. Less is no drain but a cut,
/// and nobody asked for one.
const LEAST_DERIVED_DRAIN: Duration = Duration::from_secs(1);

/// Puts the settings together.
pub(super) fn resolve(line: Line, environ: &[(OsString, OsString)], stand_in: Option<&Asked>) -> Resolved {
    let mut given = Given::new(line, environ, stand_in.map_or(&[], Asked::beaten_by_ours));
    let stop_on = given.list(Id::StopOn, value::stop_on);
    let stop_on = value::stop_on_all(&stop_on).unwrap_or_else(|why| {
        given.refuse(Id::StopOn, &why);
        StopOn::Auto
    });
    let delay = given.one(Id::Delay, value::time).unwrap_or_default();
    let drain = given.one(Id::DrainTimeout, value::drain);
    let grace = given.one(Id::Grace, value::time);
    let policy = Policy {
        delay,
        drain: drain.unwrap_or(Some(DEFAULT_DRAIN)),
        stop_signal: given.one(Id::StopSignal, value::stop_signal).unwrap_or(StopSignal::Auto),
        stop_on,
        hurry: given.one(Id::Repeat, value::hurry).unwrap_or(true),
        rewrite: given.list(Id::Rewrite, value::rewrite),
        group: given.switch(Id::Group),
        linger: given.one(Id::Linger, value::time),
        map_exit: given.list(Id::MapExit, value::map_exit),
        ..Policy::default()
    };
    let (mut policy, never_quiet) = with_traffic(policy, &mut given);
    if let Some((from, _)) = twice(&policy.rewrite) {
        given.refuse(Id::Rewrite, &format!("{from} is rewritten twice: write it once"));
    }
    if let Some((from, _)) = twice(&policy.map_exit) {
        given.refuse(Id::MapExit, &format!("{from} is mapped twice: write it once"));
    }
    let extras = Extras::read(&mut given, &mut policy);
    let mut settings = Settings {
        policy,
        extras,
        health: Health::read(&mut given),
        subreaper: given.switch(Id::Subreaper),
        parent_death_signal: given.one(Id::ParentDeathSignal, value::signal),
        warn_on_reap: given.switch(Id::WarnOnReap),
        keep_env: given.switch(Id::KeepEnv),
        watch_ports: given.list(Id::WatchPort, value::port),
        clean_signals: false,
        lets_go: false,
        start_errors: StartErrors::OURS,
        log: given.one(Id::Log, value::log_format).unwrap_or(LogFormat::Text),
        log_level: log_level(&mut given),
        command: std::mem::take(&mut given.line.command),
        warnings: Vec::new(),
    };
    if let Some(stand_in) = stand_in {
        stand_in.apply(&mut settings, &mut given.origins, environ);
    }
    let explain = given.switch(Id::Explain);
    let mut findings = Findings { grace, never_quiet, ..Findings::default() };
    if let Some(grace) = grace {
        if given.origins[Id::DrainTimeout as usize] == Origin::Default {
            derive_drain(&mut settings.policy, grace, &mut given.origins, &mut findings);
        } else {
            fit(&settings.policy, grace, &given.origins, &mut findings);
        }
    }
    if findings.refusal.is_none() {
        settings.warnings.extend(findings.contradiction.clone());
    }
    settings.warnings.extend(findings.never_quiet.clone());
    warn(&mut settings, &given.origins, &findings);
    settings.warnings.extend(Health::warnings(settings.health.as_ref(), &given.origins));
    settings.warnings.extend(settings.extras.warnings(&given.origins, settings.health.is_some()));
    settings.warnings.extend(given.unknown_variables());
    if settings.extras.report.is_some() {
        settings.extras.shown = Extras::show(&settings, &given.origins, grace);
    }
    Resolved { settings, origins: given.origins, findings, explain, errors: given.errors }
}

/// The least delay with `--quiet` when none was asked for: as long as Istio's sidecar waits before it
/// looks at its connections.
const DEFAULT_MIN_DELAY: Duration = Duration::from_secs(5);

/// What watches the traffic, and what is made of it; and why it can never come to a quiet end.
fn with_traffic(policy: Policy, given: &mut Given<'_>) -> (Policy, Option<String>) {
    let hold = given.one(Id::WaitIdle, value::hold).unwrap_or(Hold::Auto);
    let silence = given.one(Id::Quiet, value::time);
    let min_delay = given.one(Id::MinDelay, value::time);
    let name_of = |id: Id| name(id, given.origins[id as usize]);
    let delay = policy.delay;
    let never = match (silence, min_delay) {
        (None, None) => None,
        (None, Some(_)) => Some(format!("{}: has no effect without --quiet", name_of(Id::MinDelay))),
        (Some(_), _) if delay.is_zero() => {
            Some(format!("{}: has no effect, as there is no delay to end early: set --delay", name_of(Id::Quiet)))
        }
        (Some(silence), _) if silence >= delay => Some(format!(
            "{} {}: has no effect, as the delay is over by then ({}): shorten the one or raise the other",
            name_of(Id::Quiet),
            Written(silence),
            Written(delay),
        )),
        (Some(_), min_delay) => {
            let least = min_delay.unwrap_or(DEFAULT_MIN_DELAY);
            (least >= delay).then(|| {
                format!(
                    "{}: has no effect, as the delay of {} is no longer than --min-delay ({}): set that to less",
                    name_of(Id::Quiet),
                    Written(delay),
                    Written(least),
                )
            })
        }
    };
    let quiet = silence.map(|silence| Quiet { silence, min_delay: min_delay.unwrap_or(DEFAULT_MIN_DELAY) });
    if silence.is_some_and(|silence| silence.is_zero()) {
        given.refuse(Id::Quiet, "no silence at all is no sign: write how long it has to last, as in 3s");
    }
    if quiet.is_some() && min_delay.is_none() {
        given.origins[Id::MinDelay as usize] = Origin::From(Id::Quiet);
    }
    // Nobody looks at the traffic of a stop that waits for nothing.
    let watch = !delay.is_zero() || hold == Hold::Always;
    (Policy { watch, quiet, hold, ..policy }, never)
}

/// `--log-level` says it; else `-v` does. A flag of either beats a variable of either.
fn log_level(given: &mut Given<'_>) -> LogLevel {
    let level = given.one(Id::LogLevel, value::log_level);
    let verbose = match given.count(Id::Verbose) {
        0 => None,
        1 => Some(LogLevel::Debug),
        _ => Some(LogLevel::Trace),
    };
    let origins = &mut given.origins;
    let flag_beats_variable =
        origins[Id::Verbose as usize] == Origin::Flag && origins[Id::LogLevel as usize] == Origin::Variable;
    match (level, verbose) {
        (Some(level), verbose) if verbose.is_none() || !flag_beats_variable => level,
        (_, Some(verbose)) => {
            origins[Id::LogLevel as usize] = Origin::From(Id::Verbose);
            verbose
        }
        (level, None) => level.unwrap_or(LogLevel::Info),
    }
}

/// What the platform's limit leaves for the drain when nobody said how long that may take.
fn derive_drain(policy: &mut Policy, grace: Duration, origins: &mut Origins, findings: &mut Findings) {
    let others = Budget::of(&Policy { drain: Some(Duration::ZERO), ..policy.clone() });
    let left = grace.saturating_sub(others.without_drain());
    policy.drain = Some(left);
    origins[Id::DrainTimeout as usize] = Origin::From(Id::Grace);
    if left < LEAST_DERIVED_DRAIN {
        let why = format!(
            "{}: {others} leaves no second of the grace period of {} for the drain: \
             shorten the delay or the linger, or raise the grace period here and on the platform",
            name(Id::Grace, origins[Id::Grace as usize]),
            Written(grace),
        );
        findings.contradiction = Some(why.clone());
        findings.refusal = Some(why);
    }
}

/// Whether a drain time-out that was given fits into the platform's limit.
fn fit(policy: &Policy, grace: Duration, origins: &Origins, findings: &mut Findings) {
    let budget = Budget::of(policy);
    if budget.total().is_some_and(|total| total >= grace) {
        let drain = name(Id::DrainTimeout, origins[Id::DrainTimeout as usize]);
        let most = grace.saturating_sub(budget.without_drain());
        let advice = if most >= LEAST_DERIVED_DRAIN && policy.drain.is_some_and(|drain| most < drain) {
            format!("leave out {drain} (it becomes {}), or raise the grace period", Written(most))
        } else {
            "shorten the delay or the linger, or raise the grace period".to_owned()
        };
        findings.contradiction = Some(format!(
            "{budget} does not fit into the grace period of {}: the platform may kill everything first; {advice}",
            Written(grace),
        ));
    }
}

/// What can be read but is hardly meant.
fn warn(settings: &mut Settings, origins: &Origins, findings: &Findings) {
    let Settings { policy, warnings, .. } = settings;
    let drain = || name(Id::DrainTimeout, origins[Id::DrainTimeout as usize]);
    if let (None, Some(grace)) = (policy.drain, findings.grace) {
        warnings.push(format!(
            "{} none: only the platform ends a drain that takes too long, {} after the stop signal, \
             and then kills everything at once; leave it out and the drain gets what the grace period leaves",
            drain(),
            Written(grace),
        ));
    }
    if policy.drain == Some(Duration::ZERO) && findings.contradiction.is_none() {
        warnings.push(format!(
            "{} 0: the server is killed at the very moment it is asked to stop (for no limit write none)",
            drain()
        ));
    }
    for (from, to) in &policy.rewrite {
        let stops = match policy.stop_on {
            StopOn::Auto => matches!(*from, Signal::TERM | Signal::QUIT),
            StopOn::These(signals) => signals.contains(*from),
            StopOn::Nothing => false,
        };
        if to.is_none() && stops {
            let name = name(Id::Rewrite, origins[Id::Rewrite as usize]);
            warnings.push(format!("{name}: {from} is dropped, so it begins no stop any more"));
        }
    }
}

/// The first item whose key came before.
fn twice<K: PartialEq, V>(pairs: &[(K, V)]) -> Option<&(K, V)> {
    pairs
        .iter()
        .enumerate()
        .find(|(at, (key, _))| pairs.iter().take(*at).any(|(other, _)| other == key))
        .map(|(_, p)| p)
}
