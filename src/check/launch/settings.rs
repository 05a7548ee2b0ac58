//! lameduck's own settings in the files of a deployment: flags among the words, `LAMEDUCK_*` in the
//! environment, read by the same code that reads them at the start.

use super::{PREFIX, Word};
use crate::check::fact::{Fact, Origin};
use crate::check::model::{Container, Variable};
use crate::cli::{GivenBy, Survey};
use crate::core::duration;
use crate::core::policy::{StopOn, StopSignal};
use std::ffi::OsString;
use std::time::Duration;

/// What lameduck will do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long the server serves on (D).
    pub delay: Fact<Duration>,
    /// The drain timeout (G); `None` = without limit.
    pub drain: Fact<Option<Duration>>,
    /// The platform's limit as lameduck was told it; `None` = it was not.
    pub grace: Option<Fact<Duration>>,
    /// How long leftovers may take.
    pub linger: Fact<Duration>,
    /// The time limit of the hooks that there are, together.
    pub hooks: Duration,
    /// Ends the delay early after so much silence; `None` = off.
    pub quiet: Option<Fact<Duration>>,
    /// The ports whose traffic counts; `None` = those that the server listens on.
    pub watched: Option<Fact<Vec<u64>>>,
    /// The signal that the server is sent.
    pub stop_signal: Fact<StopSignal>,
    /// The signals that begin a stop.
    pub stop_on: Fact<StopOn>,
    /// Exit statuses that are reported as others.
    pub map_exit: Vec<(u8, u8)>,
    /// The port of the health endpoints.
    pub health_port: Option<Fact<u64>>,
    /// A file that is there only while the server is ready.
    pub ready_file: Option<Fact<String>>,
    /// A file that is there only during the stop.
    pub drain_file: Option<Fact<String>>,
    /// When readiness flips: `start`, `end`, `never`.
    pub unready: Fact<String>,
    /// Why lameduck would not start.
    pub errors: Vec<Fact<String>>,
}

struct Reader<'a> {
    survey: Survey,
    words: &'a [Word],
    container: &'a Container,
}

// === impl Settings ===

impl Settings {
    /// Reads the words behind lameduck's name and the container's environment. `skipped` words came before;
    /// returned is also how many words are lameduck's, those included.
    pub(super) fn read(container: &Container, words: &[Word], skipped: usize) -> (Self, usize) {
        let args: Vec<OsString> = words.iter().map(|word| word.text.clone().into()).collect();
        let own = container.environment.iter().filter(|variable| variable.name.starts_with(PREFIX));
        // The last one of a name counts: the container's beats that of its image.
        let environ: Vec<(OsString, OsString)> = own
            .rev()
            .filter_map(|variable| Some((variable.name.clone().into(), variable.value.clone().ok()?.into())))
            .collect();
        let reader = Reader { survey: Survey::of(&args, &environ), words, container };
        let own_words = reader.survey.own_words + skipped;
        (reader.settings(), own_words)
    }
}

impl Reader<'_> {
    fn settings(&self) -> Settings {
        let survey = &self.survey;
        let policy = &survey.settings.policy;
        let hook = |long: &str| survey.given(long) != GivenBy::Default;
        let hook_timeout = self.duration("hook-timeout").and_then(|fact| fact.value.ok()).unwrap_or(HOOK_TIMEOUT);
        let hooks = hook_timeout * (u32::from(hook("on-stop")) + u32::from(hook("on-exit")));
        Settings {
            delay: self.fact("delay", policy.delay),
            drain: self.fact("drain-timeout", policy.drain),
            grace: survey.grace.map(|grace| self.fact("grace", grace)).or_else(|| self.unresolved("grace")),
            linger: self.fact("linger", policy.linger_after_stop()),
            hooks,
            quiet: self.duration("quiet"),
            watched: self.text("watch-port").map(|fact| fact.map(|ports| numbers(&ports))),
            stop_signal: self.fact("stop-signal", policy.stop_signal),
            stop_on: self.fact("stop-on", policy.stop_on),
            map_exit: policy.map_exit.clone(),
            health_port: self.text("health-listen").map(|fact| fact.and_then(|address| port(&address))),
            ready_file: self.text("ready-file"),
            drain_file: self.text("drain-file"),
            unready: self.text("unready").unwrap_or_else(|| self.fact("unready", "start".to_owned())),
            errors: survey.errors.iter().map(|error| self.error(error)).collect(),
        }
    }

    /// The value that the option came to, with its origin.
    fn fact<T>(&self, long: &str, value: T) -> Fact<T> {
        if let Some(unresolved) = self.unresolved(long) {
            return unresolved;
        }
        let variable = Survey::variable_name(long);
        let names = [format!("{variable}: "), format!("--{long}: ")];
        if self.survey.errors.iter().any(|error| names.iter().any(|name| error.starts_with(name))) {
            return Fact::unknown(
                variable.clone(),
                format!("{variable}, which cannot be read"),
                Some(self.container.place),
            );
        }
        match self.survey.given(long) {
            GivenBy::Default => {
                Fact::default_of("lameduck", Survey::variable_name(long), value, Some(self.container.place))
            }
            GivenBy::From(other) => {
                let how = format!("what --{other} leaves");
                Fact { origin: Origin::Derived(how), ..self.written(long, other, value) }
            }
            GivenBy::Flag | GivenBy::Variable => self.written(long, long, value),
        }
    }

    /// A value that stands where the option `at` was given.
    fn written<T>(&self, long: &str, at: &str, value: T) -> Fact<T> {
        if self.survey.given(at) == GivenBy::Flag
            && let Some(place) = self.flag_place(at)
        {
            return Fact::written(format!("--{long}"), value, place);
        }
        let name = Survey::variable_name(at);
        let variable = self.variable(&name);
        let place = variable.map_or(self.container.place, |variable| variable.place);
        let origin = variable.map_or(Origin::Written, |variable| variable.origin.clone());
        Fact { origin, ..Fact::written(if at == long { name } else { format!("--{long}") }, value, place) }
    }

    /// The option, when its variable is one of which the value is not known.
    fn unresolved<T>(&self, long: &str) -> Option<Fact<T>> {
        if self.survey.given(long) == GivenBy::Flag {
            return None;
        }
        let variable = self.variable(&Survey::variable_name(long))?;
        let why = variable.value.as_ref().err()?;
        Some(Fact::unknown(
            variable.name.clone(),
            format!("the value of {}: {why}", variable.name),
            Some(variable.place),
        ))
    }

    fn text(&self, long: &str) -> Option<Fact<String>> {
        self.survey.text(long).map(|text| self.written(long, long, text)).or_else(|| self.unresolved(long))
    }

    fn duration(&self, long: &str) -> Option<Fact<Duration>> {
        self.text(long).map(|fact| fact.and_then(|text| duration::parse(&text).map_err(|why| why.to_string())))
    }

    fn variable(&self, name: &str) -> Option<&Variable> {
        self.container.environment.iter().rev().find(|variable| variable.name == name)
    }

    /// The place of a flag's value: behind its `=` or its letter, or the next word.
    fn flag_place(&self, long: &str) -> Option<crate::check::source::Place> {
        let own = &self.words[..self.survey.own_words.min(self.words.len())];
        let texts: Vec<OsString> = own.iter().map(|word| word.text.clone().into()).collect();
        Survey::value_at(&texts, long).map(|at| own[at].place)
    }

    /// What lameduck would complain of, at the variable or the word it names.
    fn error(&self, error: &str) -> Fact<String> {
        let named = error.split(':').next().unwrap_or_default();
        let place = self
            .variable(named)
            .map(|variable| variable.place)
            .or_else(|| named.strip_prefix("--").and_then(|long| self.flag_place(long)))
            .or_else(|| self.words.iter().find(|word| word.text.starts_with(named)).map(|word| word.place))
            .unwrap_or(self.container.place);
        Fact::written(named, error.to_owned(), place)
    }
}

/// The time limit of a hook that has none of its own.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// The port of an address to listen on: `:8086`, `0.0.0.0:8086`, `8086`.
fn port(address: &str) -> Result<u64, String> {
    let digits = address.rsplit(':').next().unwrap_or(address);
    digits.parse().map_err(|_| format!("{address:?} names no port"))
}

/// The numbers of a list such as `80,443`.
fn numbers(list: &str) -> Vec<u64> {
    list.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

// === impl Fact ===

impl<T> Fact<T> {
    fn and_then<U>(self, with: impl FnOnce(T) -> Result<U, String>) -> Fact<U> {
        Fact { name: self.name, value: self.value.and_then(with), place: self.place, origin: self.origin }
    }
}
