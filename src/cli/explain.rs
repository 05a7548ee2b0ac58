//! `--explain`: every setting with its value and its origin, the stop as a picture, and the warnings.

use super::given::{Origin, Origins, name, on_one_line, quoted};
use super::options::{Id, OPTIONS, Spec, Topic};
use super::resolve::Findings;
use super::timeline;
use super::{Hook, Place, Settings};
use crate::core::duration::Written;
use crate::core::policy::{Hold, StopOn, StopSignal};
use crate::core::{Budget, Policy, Unready};
use std::fmt::Write as _;
use std::time::Duration;

/// The page.
pub(super) fn page(settings: &Settings, origins: &Origins, findings: &Findings) -> String {
    let mut text = String::from("Settings\n\n");
    let rows: Vec<[String; 3]> = OPTIONS
        .iter()
        .filter(|spec| spec.topic != Topic::About && spec.id != Id::Verbose)
        .map(|spec| [spec.long.to_owned(), shown(spec.id, settings, findings.grace), origin(spec, origins)])
        .collect();
    let width = |column: usize, most: usize| {
        rows.iter().map(|row| row[column].chars().count()).filter(|length| *length <= most).max().unwrap_or(0)
    };
    let (names, values) = (width(0, 40), width(1, 30));
    for [name, value, origin] in &rows {
        let _ = writeln!(text, "  {name:names$}   {value:values$}   {origin}");
    }
    let _ = writeln!(text, "  {:names$}   {}", "command", command(settings));

    if settings.policy.stops() {
        stop(&mut text, settings, findings);
    } else {
        text += "\nNo stop sequence: every signal is passed on as it comes, and nothing has a deadline.\n\
                 LAMEDUCK_DELAY=15s, or any other variable about the stop, switches it on.\n";
    }
    let health = settings.health.as_ref().map(|health| health.explained(&settings.policy)).unwrap_or_default();
    let others = health + &settings.extras.explained(&settings.policy);
    if !others.is_empty() {
        let _ = write!(text, "\nWhat others see of it\n\n{others}");
    }
    let refused = findings.refusal.iter().map(|why| format!("will not start: {why}"));
    let warnings: Vec<String> = refused.chain(settings.warnings.iter().cloned()).collect();
    if !warnings.is_empty() {
        text += "\nWarnings\n\n";
        for warning in &warnings {
            wrap(&mut text, warning);
        }
    }
    text
}

/// How long a stop can take, as a picture and as a sum.
fn stop(text: &mut String, settings: &Settings, findings: &Findings) {
    let budget = Budget::of(&settings.policy);
    let _ = writeln!(text, "\nThe stop, when everything takes as long as it may\n");
    *text += &timeline::draw(&settings.policy, findings.grace);
    traffic(text, &settings.policy, findings);
    let _ = writeln!(text, "\n  {budget}");
    if let (Some(total), Some(grace)) = (budget.total(), findings.grace)
        && findings.contradiction.is_none()
    {
        let spare = grace.saturating_sub(total);
        let _ = if spare.is_zero() {
            writeln!(text, "  uses the grace period of {} to the full", Written(grace))
        } else {
            writeln!(text, "  fits into the grace period of {}, with {} to spare", Written(grace), Written(spare))
        };
    }
}

/// What the traffic may change in it.
fn traffic(text: &mut String, policy: &Policy, findings: &Findings) {
    if let Some(quiet) = policy.quiet.filter(|_| findings.never_quiet.is_none()) {
        let (earliest, silence, latest) = (Written(quiet.earliest()), Written(quiet.silence), Written(policy.delay));
        let _ = writeln!(
            text,
            "\n  the delay ends between {earliest}, when there was no traffic for {silence}, and {latest}"
        );
    }
    let longest = policy.longest_hold();
    if !policy.watch || policy.hold == Hold::Never || longest.is_zero() {
        return;
    }
    let whom =
        if policy.hold == Hold::Auto { ",\n  unless the program is known to finish those by itself" } else { "" };
    let longest = Written(longest);
    let _ = writeln!(text, "\n  the graceful signal then waits for answers owed, {longest} of the drain at most{whom}");
}

fn hold(hold: Hold) -> &'static str {
    match hold {
        Hold::Auto => "auto",
        Hold::Always => "always",
        Hold::Never => "never",
    }
}

/// The value of an option, as one would write it.
pub(super) fn shown(id: Id, settings: &Settings, grace: Option<Duration>) -> String {
    let (policy, extras) = (&settings.policy, &settings.extras);
    let health = settings.health.as_ref();
    let switch = |on: bool| String::from(if on { "yes" } else { "no" });
    match id {
        Id::Delay => Written(policy.delay).to_string(),
        Id::Quiet => policy.quiet.map_or_else(|| "off".to_owned(), |quiet| Written(quiet.silence).to_string()),
        Id::MinDelay => policy.quiet.map_or_else(|| "none".to_owned(), |quiet| Written(quiet.min_delay).to_string()),
        Id::WaitIdle => String::from(hold(policy.hold)),
        Id::WatchPort if settings.watch_ports.is_empty() => "the server's".to_owned(),
        Id::WatchPort => list(settings.watch_ports.iter(), u16::to_string),
        Id::DrainTimeout => policy.drain.map_or_else(|| "none".to_owned(), |drain| Written(drain).to_string()),
        Id::Grace => grace.map_or_else(|| "not known".to_owned(), |grace| Written(grace).to_string()),
        Id::StopSignal => match policy.stop_signal {
            StopSignal::Auto => "auto".to_owned(),
            StopSignal::Same => "same".to_owned(),
            StopSignal::This(signal) => signal.to_string(),
        },
        Id::StopOn => match policy.stop_on {
            StopOn::Auto => "auto".to_owned(),
            StopOn::These(signals) => list(signals.iter(), |signal| signal.to_string()),
            StopOn::Nothing => "none".to_owned(),
        },
        Id::Repeat => String::from(if policy.hurry { "hurry" } else { "ignore" }),
        Id::Linger => policy.linger.map_or_else(|| Id::Linger.spec().default.to_owned(), |l| Written(l).to_string()),
        Id::HealthListen => health.map_or_else(|| "off".to_owned(), |health| health.listen.to_string()),
        Id::HealthPath => health.map_or(Id::HealthPath.spec().default, |health| &health.path).to_owned(),
        Id::HealthCheck => {
            health.map_or_else(|| Id::HealthCheck.spec().default.to_owned(), |health| health.check.to_string())
        }
        Id::ReadyFile => place(extras.ready_file.as_ref()),
        Id::DrainFile => place(extras.drain_file.as_ref()),
        Id::StateFile => place(extras.state_file.as_ref()),
        Id::Report => place(extras.report.as_ref()),
        Id::Unready => match policy.unready {
            Unready::Start => "start".to_owned(),
            Unready::End => "end".to_owned(),
            Unready::Never => "never".to_owned(),
        },
        Id::OnStop => hook(extras.on_stop.as_ref()),
        Id::OnExit => hook(extras.on_exit.as_ref()),
        Id::HookTimeout => policy
            .on_stop
            .or(policy.on_exit)
            .map_or_else(|| Id::HookTimeout.spec().default.to_owned(), |limit| Written(limit).to_string()),
        Id::Rewrite => list(policy.rewrite.iter(), |(from, to)| match to {
            Some(to) => format!("{from}:{to}"),
            None => format!("{from}:0"),
        }),
        Id::Group => switch(policy.group),
        Id::Subreaper => switch(settings.subreaper),
        Id::ParentDeathSignal => settings.parent_death_signal.map_or_else(|| "none".to_owned(), |s| s.to_string()),
        Id::WarnOnReap => switch(settings.warn_on_reap),
        Id::KeepEnv => switch(settings.keep_env),
        Id::MapExit => list(policy.map_exit.iter(), |(from, to)| format!("{from}={to}")),
        Id::Log => settings.log.name().to_owned(),
        Id::LogLevel => settings.log_level.name().to_owned(),
        Id::Verbose | Id::Explain | Id::Healthcheck | Id::Status | Id::Version | Id::Help => String::new(),
    }
}

fn place(place: Option<&Place>) -> String {
    place.map_or_else(|| "none".to_owned(), |place| on_one_line(&place.path.to_string_lossy()))
}

fn hook(hook: Option<&Hook>) -> String {
    hook.map_or_else(|| "none".to_owned(), |hook| on_one_line(&shell_words::join(&hook.words)))
}

fn list<T>(items: impl Iterator<Item = T>, one: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.map(one).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(",") }
}

fn origin(spec: &Spec, origins: &Origins) -> String {
    match origins[spec.id as usize] {
        Origin::Default => "default".to_owned(),
        Origin::From(other) => format!("from {}", name(other, origins[other as usize])),
        given => name(spec.id, given),
    }
}

/// The command, with quotes around what would not look like one word.
fn command(settings: &Settings) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let words = settings.command.iter().map(|word| match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        _ => quoted(word),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none given".to_owned() } else { words.join(" ") }
}

/// Adds a warning as an item, broken at blanks to fit 80 columns.
fn wrap(text: &mut String, warning: &str) {
    let mut column = 0;
    for word in warning.split(' ') {
        let length = word.chars().count();
        if column == 0 {
            text.push_str("  ! ");
            column = 4;
        } else if column + 1 + length > 80 {
            text.push_str("\n    ");
            column = 4;
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
