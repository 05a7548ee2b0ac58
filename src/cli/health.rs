//! The options about the health port, and those that ask a lameduck that runs.

use super::extras::readiness_goes;
use super::given::{Given, Origin, name};
use super::options::Id;
use super::{line, resolve, value};
use crate::core::duration::Written;
use crate::core::{Policy, startup};
use crate::http::{Listen, Target};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// The health port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Where it is.
    pub listen: Listen,
    /// The flag or the variable.
    pub given_as: String,
    /// The path of the balancer, with its slash.
    pub path: String,
    /// What readiness takes beside a server that runs and is not being stopped.
    pub check: HealthCheck,
}

/// What a server is ready by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HealthCheck {
    /// It listens on a TCP port, or is seen to be one that will not.
    #[default]
    Listening,
    /// Nothing: it is as soon as it runs.
    Nothing,
    /// Its own check passes, each time it is asked.
    Target(Target),
}

/// A question to a lameduck that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// Where to ask, by the flags beside the question.
    pub flags: Sources,
    /// Where to ask, by the environment.
    pub environ: Sources,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether the server is ready.
    Ready,
    /// Whether this is well.
    Well(Probe),
    /// The state.
    Status,
}

/// What can be asked by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A page or a port.
    Target(Target),
    /// A file: well when it exists.
    File(PathBuf),
}

/// Where a lameduck tells of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The health port.
    pub health: Option<Listen>,
    /// A file that exists while the server is ready.
    pub ready_file: Option<PathBuf>,
    /// A file that exists while the server is stopping.
    pub drain_file: Option<PathBuf>,
    /// The state as JSON.
    pub state_file: Option<PathBuf>,
}

// === impl Health ===

impl Health {
    pub(super) fn read(given: &mut Given<'_>) -> Option<Self> {
        let listen = given.one(Id::HealthListen, Listen::parse);
        let path = given.one(Id::HealthPath, value::path).unwrap_or_else(|| Id::HealthPath.spec().default.to_owned());
        let check = given.one(Id::HealthCheck, HealthCheck::parse).unwrap_or_default();
        let listen = listen?;
        let own = |address| listen.to_ask().contains(address);
        if let HealthCheck::Target(target) = &check
            && target.place().addresses.iter().any(own)
        {
            let option = name(Id::HealthCheck, given.origins[Id::HealthCheck as usize]);
            given.errors.push(format!("{option}: this is the health port itself: name a port of the server"));
        }
        Some(Self { listen, given_as: name(Id::HealthListen, given.origins[Id::HealthListen as usize]), path, check })
    }

    /// What it will do, in lines for `--explain`.
    pub(super) fn explained(&self, policy: &Policy) -> String {
        let Self { listen, path, check, .. } = self;
        let until = readiness_goes(policy);
        let beside = if path == "/readyz" { String::new() } else { format!(" and {path}") };
        let mut text = format!(
            "  health-listen {listen}\n      /readyz{beside}: 200 until {until}, then 503; /livez: 200 as long as the\n      \
             server lives; /status: the state\n"
        );
        let rule = match check {
            HealthCheck::Nothing => "200 there as soon as the server runs, which is before it listens".to_owned(),
            HealthCheck::Listening => format!(
                "503 there until the server listens on a TCP port; one that never does counts as\n      \
                 ready once it has done next to nothing for {}, after {} at the latest",
                Written(startup::IDLE),
                Written(startup::LONGEST)
            ),
            HealthCheck::Target(_) => "503 there too when this fails or takes longer than 1s".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  health-check {check}\n      {rule}");
        text
    }

    /// What was given and has no effect.
    pub(super) fn warnings(health: Option<&Self>, origins: &super::given::Origins) -> Vec<String> {
        let unused = |id: &Id| health.is_none() && origins[*id as usize] != Origin::Default;
        let ids = [Id::HealthPath, Id::HealthCheck];
        let tell = |id| {
            format!("{}: nobody is answered without {}", name(id, origins[id as usize]), Id::HealthListen.spec().flag())
        };
        ids.into_iter().filter(unused).map(tell).collect()
    }
}

// === impl HealthCheck ===

impl HealthCheck {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "listening" => Ok(Self::Listening),
            "none" => Ok(Self::Nothing),
            url if url.contains("://") => Target::parse(url).map(Self::Target),
            _ => Err("write listening, none, http://127.0.0.1:8080/path or tcp://127.0.0.1:8080".to_owned()),
        }
    }
}

impl fmt::Display for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening => f.write_str("listening"),
            Self::Nothing => f.write_str("none"),
            Self::Target(target) => target.fmt(f),
        }
    }
}

// === impl Ask ===

impl Ask {
    /// The question on a command line, if there is one.
    pub(super) fn read(
        line: &line::Line,
        environ: &[(OsString, OsString)],
        args: &[OsString],
    ) -> Option<Result<Self, Vec<String>>> {
        let (ready, status) = (line.has(Id::Healthcheck), line.asks(Id::Status));
        if !ready && !status {
            return None;
        }
        let mut errors = line.errors.clone();
        if ready && status {
            errors.push("--healthcheck and --status: ask one at a time".to_owned());
        }
        if !line.command.is_empty() {
            errors.push("--healthcheck and --status run nothing: leave out the command".to_owned());
        }
        let mut question = if status { Question::Status } else { Question::Ready };
        for word in line.values(Id::Healthcheck) {
            let text = word.to_string_lossy();
            match Probe::parse(&text) {
                Ok(probe) => question = Question::Well(probe),
                Err(why) => errors.push(format!("--healthcheck: {text:?}: {why}")),
            }
        }
        let ask = || Self {
            question,
            flags: Sources::of(args, &[]).unwrap_or_default(),
            environ: Sources::of(&[], environ).unwrap_or_default(),
        };
        Some(if errors.is_empty() { Ok(ask()) } else { Err(errors) })
    }
}

// === impl Probe ===

impl Probe {
    fn parse(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix("file:") else {
            return Target::parse(text).map(Self::Target).map_err(|why| format!("{why}, or file:/run/ready"));
        };
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.starts_with('/') {
            Ok(Self::File(path.into()))
        } else {
            Err("write the file with its whole path, as in file:/run/ready".to_owned())
        }
    }
}

// === impl Sources ===

impl Sources {
    /// Where a lameduck tells of its server that was started with these words and this environment;
    /// `None` when it cannot have been one.
    #[must_use]
    pub fn of(args: &[OsString], environ: &[(OsString, OsString)]) -> Option<Self> {
        let line = line::read(args);
        if !line.errors.is_empty() {
            return Self::behind(args, environ);
        }
        let settings = resolve::resolve(line, environ, None).settings;
        let path = |place: Option<super::Place>| place.map(|place| place.path);
        let super::Extras { ready_file, drain_file, state_file, .. } = settings.extras;
        let found = Self {
            health: settings.health.map(|health| health.listen),
            ready_file: path(ready_file),
            drain_file: path(drain_file),
            state_file: path(state_file),
        };
        // Another init, or a lameduck that was told nothing of this, has the flags of one behind it.
        let behind = if found == Self::default() { Self::behind(&settings.command, environ) } else { None };
        Some(behind.unwrap_or(found))
    }

    /// Those of the first lameduck that these words start.
    fn behind(words: &[OsString], environ: &[(OsString, OsString)]) -> Option<Self> {
        let at = words.iter().position(|word| is_lameduck(word))?;
        Self::of(words.get(at + 1..)?, environ)
    }
}

/// Whether a command is this program, by its name.
fn is_lameduck(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("lameduck"))
}
