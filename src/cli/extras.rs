//! What others are to see of a stop: files, hooks, state and report.

use super::given::{Given, Origin, Origins, name, on_one_line};
use super::options::{Id, OPTIONS, Topic};
use super::{Settings, explain, value};
use crate::core::duration::Written;
use crate::core::{Policy, Unready};
use std::fmt::Write as _;
use std::path::{self, PathBuf};
use std::time::Duration;

/// What was asked for beside the stop itself. Each may fail, and then fails alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Exists while new requests are welcome.
    pub ready_file: Option<Place>,
    /// Exists while a stop runs.
    pub drain_file: Option<Place>,
    /// Holds the state.
    pub state_file: Option<Place>,
    /// Gets the report of the stop.
    pub report: Option<Place>,
    /// Runs when a stop begins.
    pub on_stop: Option<Hook>,
    /// Runs when the server has gone.
    pub on_exit: Option<Hook>,
    /// The settings that the report repeats, as one would write them; empty without a report.
    pub shown: Vec<(&'static str, String)>,
}

/// A file, and where its name was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The flag or the variable.
    pub given_as: String,
}

// === impl Place ===

impl Place {
    /// What is locked for a state file: `FILE.lock`.
    #[must_use]
    pub fn lock(&self) -> Self {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        Self { path: path.into(), given_as: format!("{} (its lock)", self.given_as) }
    }
}

/// A command of the user's, and where it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The flag or the variable.
    pub given_as: String,
}

/// The time a hook has when nothing else was said.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(5);

// === impl Extras ===

impl Extras {
    /// Whether there is any.
    #[must_use]
    pub fn any(&self) -> bool {
        self.hooked() || self.files().next().is_some()
    }

    /// Whether something here is found from the working directory.
    pub(super) fn need_the_working_directory(&self) -> bool {
        self.hooked() || self.files().any(|place| place.path.is_relative())
    }

    fn hooked(&self) -> bool {
        self.on_stop.is_some() || self.on_exit.is_some()
    }

    fn files(&self) -> impl Iterator<Item = &Place> {
        [&self.ready_file, &self.drain_file, &self.state_file, &self.report].into_iter().flatten()
    }

    /// Reads the options; hooks and readiness become part of the policy too.
    #[inline(never)]
    pub(super) fn read(given: &mut Given<'_>, policy: &mut Policy) -> Self {
        let hook_timeout = given.one(Id::HookTimeout, value::hook_timeout);
        let mut place = |id| {
            let path = given.one(id, value::file)?;
            Some(Place { path, given_as: name(id, given.origins[id as usize]) })
        };
        let [ready_file, drain_file, state_file, report] = FILES.map(&mut place);
        let mut hook = |id| {
            let words = given.one(id, value::command)?;
            Some(Hook { words, given_as: name(id, given.origins[id as usize]) })
        };
        let (on_stop, on_exit) = (hook(Id::OnStop), hook(Id::OnExit));
        policy.unready = given.one(Id::Unready, value::unready).unwrap_or(Unready::Start);
        let limit = hook_timeout.unwrap_or(DEFAULT_HOOK_TIMEOUT);
        policy.on_stop = on_stop.as_ref().map(|_| limit);
        policy.on_exit = on_exit.as_ref().map(|_| limit);
        let extras = Self { ready_file, drain_file, state_file, report, on_stop, on_exit, shown: Vec::new() };
        if let Some((first, second)) = extras.same_file() {
            given.errors.push(format!("{second}: the same file as {first}: each needs one of its own"));
        }
        extras
    }

    /// Two options that name one file, however each spells it.
    fn same_file(&self) -> Option<(String, String)> {
        let lock = self.state_file.as_ref().map(Place::lock);
        let files = [&self.ready_file, &self.drain_file, &self.state_file, &lock, &self.report];
        let whole = |place: &Place| path::absolute(&place.path).unwrap_or_else(|_| place.path.clone());
        let places: Vec<_> = files.into_iter().flatten().map(|place| (whole(place), &place.given_as)).collect();
        places.iter().enumerate().find_map(|(at, (path, second))| {
            let (_, first) = places.iter().take(at).find(|(first, _)| first == path)?;
            Some(((*first).clone(), (*second).clone()))
        })
    }

    /// What can be read but is hardly meant.
    pub(super) fn warnings(&self, origins: &Origins, health: bool) -> Vec<String> {
        let seen = health || self.ready_file.is_some() || self.state_file.is_some();
        [
            (Id::HookTimeout, self.hooked(), "there is no hook to limit"),
            (Id::Unready, seen, "nobody sees readiness without --health-listen or --ready-file"),
        ]
        .into_iter()
        .map(|(id, used, why)| (id, origins[id as usize], used, why))
        .filter(|(_, origin, used, _)| *origin != Origin::Default && !used)
        .map(|(id, origin, _, why)| format!("{}: {why}", name(id, origin)))
        .collect()
    }

    /// What the report repeats: what bounds the stop, and whatever else was given.
    #[inline(never)]
    pub(super) fn show(settings: &Settings, origins: &Origins, grace: Option<Duration>) -> Vec<(&'static str, String)> {
        let told = |id: Id| !matches!(origins[id as usize], Origin::Default);
        OPTIONS
            .iter()
            .filter(|spec| match spec.topic {
                Topic::Stop => spec.id != Id::Grace || told(spec.id),
                Topic::About => false,
                _ => told(spec.id) && spec.id != Id::Verbose,
            })
            .map(|spec| (spec.long, explain::shown(spec.id, settings, grace)))
            .collect()
    }

    /// What each will do, in lines for `--explain`; nothing when none was asked for.
    #[inline(never)]
    pub(super) fn explained(&self, policy: &Policy) -> String {
        let until = readiness_goes(policy);
        let limit = |limit: Option<Duration>| Written(limit.unwrap_or_default()).to_string();
        let mut text = String::new();
        let mut line = |id: Id, what: Option<String>, does: String| {
            if let Some(what) = what {
                let _ = writeln!(text, "  {} {}\n      {does}", id.spec().long, on_one_line(&what));
            }
        };
        let words = |hook: &Option<Hook>| hook.as_ref().map(|hook| shell_words::join(&hook.words));
        let path = |place: &Option<Place>| place.as_ref().map(|place| place.path.to_string_lossy().into_owned());
        line(
            Id::OnStop,
            words(&self.on_stop),
            format!("runs at the stop signal, {} at the most; the delay follows", limit(policy.on_stop)),
        );
        line(Id::ReadyFile, path(&self.ready_file), format!("exists from the start until {until}"));
        line(Id::DrainFile, path(&self.drain_file), "exists from the stop signal to the end".to_owned());
        line(
            Id::StateFile,
            path(&self.state_file),
            "the state, new at each phase; .lock beside it is locked while a stop runs".to_owned(),
        );
        line(
            Id::OnExit,
            words(&self.on_exit),
            format!("runs when the server has gone, {} at the most", limit(policy.on_exit)),
        );
        line(Id::Report, path(&self.report), "the report, written at the end".to_owned());
        text
    }
}

/// When readiness goes, in words.
pub(super) fn readiness_goes(policy: &Policy) -> &'static str {
    match policy.unready {
        Unready::Start => "the stop signal",
        Unready::End => "draining begins",
        Unready::Never => "the server has gone",
    }
}

/// The options that name files.
const FILES: [Id; 4] = [Id::ReadyFile, Id::DrainFile, Id::StateFile, Id::Report];
