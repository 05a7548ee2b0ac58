//! The one table of options. The command line, the environment, the help page and `--explain` are
//! all read off it, so that none of them can know an option the others do not.

/// Which option; its place in [`OPTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Delay,
    DrainTimeout,
    Grace,
    StopSignal,
    StopOn,
    Repeat,
    Linger,
    HealthListen,
    HealthPath,
    HealthCheck,
    ReadyFile,
    DrainFile,
    Unready,
    OnStop,
    OnExit,
    HookTimeout,
    StateFile,
    Report,
    Rewrite,
    Group,
    Subreaper,
    ParentDeathSignal,
    WarnOnReap,
    KeepEnv,
    MapExit,
    Log,
    LogLevel,
    Verbose,
    Explain,
    Healthcheck,
    Status,
    Version,
    Help,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing on the command line; yes or no in the environment.
    Nothing,
    /// Nothing on the command line, where it may be repeated; a number in the environment.
    Count,
    /// One value, described by this word.
    One(&'static str),
    /// One value or none, on the command line only.
    Maybe(&'static str),
    /// Values separated by commas; the flag may be repeated as well.
    List(&'static str),
}

/// The groups of the help page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Stop,
    World,
    Signals,
    Processes,
    ExitStatus,
    Logs,
    About,
}

/// One option.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) id: Id,
    pub(super) short: Option<char>,
    /// Without its dashes. The variable is `LAMEDUCK_` and this in capitals, `-` written as `_`.
    pub(super) long: &'static str,
    pub(super) takes: Takes,
    /// The default as the help page shows it; empty where there is nothing to show.
    pub(super) default: &'static str,
    pub(super) topic: Topic,
    /// What it does, in lines of at most 51 characters.
    pub(super) help: &'static [&'static str],
}

/// What every variable of ours begins with.
pub(super) const PREFIX: &str = "LAMEDUCK_";

/// The variables that a hook finds beside those of the server.
pub(crate) const OF_HOOKS: [&str; 4] = ["LAMEDUCK_PHASE", "LAMEDUCK_SIGNAL", "LAMEDUCK_MAIN_PID", "LAMEDUCK_EXIT_CODE"];

/// All options, in the order of [`Id`].
pub(super) const OPTIONS: [Spec; 33] = {
    use Takes::{Count, List, Maybe, Nothing, One};
    use Topic::{About, ExitStatus, Logs, Processes, Signals, Stop, World};
    [
        option(
            Id::Delay,
            Some('d'),
            "delay",
            One("TIME"),
            "0s",
            Stop,
            &["serve on this long after the stop signal, so that", "load balancers notice before the server stops"],
        ),
        option(
            Id::DrainTimeout,
            Some('t'),
            "drain-timeout",
            One("TIME"),
            "30s",
            Stop,
            &["from the graceful signal to SIGKILL; \"none\": never"],
        ),
        option(
            Id::Grace,
            None,
            "grace",
            One("TIME"),
            "",
            Stop,
            &["the platform's own limit: warns when the stop does", "not fit, and fills in a drain timeout not given"],
        ),
        option(
            Id::StopSignal,
            None,
            "stop-signal",
            One("SIGNAL"),
            "auto",
            Stop,
            &["what stops the server: \"auto\" goes by the program,", "\"same\" passes on what came"],
        ),
        option(
            Id::StopOn,
            None,
            "stop-on",
            List("SIGNAL"),
            "auto",
            Stop,
            &["what begins a stop: \"auto\" is TERM, QUIT and the", "program's graceful signal from outside"],
        ),
        option(
            Id::Repeat,
            None,
            "repeat",
            One("WHAT"),
            "hurry",
            Stop,
            &["a second stop signal: \"hurry\" ends the delay,", "\"ignore\" changes nothing"],
        ),
        option(
            Id::Linger,
            None,
            "linger",
            One("TIME"),
            "5s, 0s without a stop",
            Stop,
            &["time for what the server left behind"],
        ),
        option(
            Id::HealthListen,
            None,
            "health-listen",
            One("ADDRESS"),
            "",
            World,
            &["answer /readyz, /livez and /status over HTTP there:", ":8080, 127.0.0.1:8080, [::1]:8080"],
        ),
        option(Id::HealthPath, None, "health-path", One("PATH"), "/", World, &["one more path for what /readyz says"]),
        option(
            Id::HealthCheck,
            None,
            "health-check",
            One("URL"),
            "",
            World,
            &["ready there only while this passes within 1s:", "http://127.0.0.1:80/up (2xx, 3xx) or tcp://..."],
        ),
        option(Id::ReadyFile, None, "ready-file", One("FILE"), "", World, &["exists while new requests are welcome"]),
        option(Id::DrainFile, None, "drain-file", One("FILE"), "", World, &["exists from the stop signal to the end"]),
        option(
            Id::Unready,
            None,
            "unready",
            One("WHEN"),
            "start",
            World,
            &["readiness goes at the \"start\" of the stop, at its", "\"end\" (when draining begins), or \"never\""],
        ),
        option(
            Id::OnStop,
            None,
            "on-stop",
            One("COMMAND"),
            "",
            World,
            &["run this at the stop signal; the delay counts from", "its end"],
        ),
        option(Id::OnExit, None, "on-exit", One("COMMAND"), "", World, &["run this when the server has gone"]),
        option(
            Id::HookTimeout,
            None,
            "hook-timeout",
            One("TIME"),
            "5s",
            World,
            &["each of the two is killed after this"],
        ),
        option(
            Id::StateFile,
            None,
            "state-file",
            One("FILE"),
            "",
            World,
            &["the state as JSON, new at each phase; FILE.lock is", "locked while a stop runs"],
        ),
        option(
            Id::Report,
            None,
            "report",
            One("FILE"),
            "",
            World,
            &["write what happened as JSON at the end, at most", "4096 bytes; /dev/termination-log will do"],
        ),
        option(Id::Rewrite, Some('r'), "rewrite", List("FROM:TO"), "", Signals, &["pass FROM on as TO; TO 0 drops it"]),
        option(
            Id::Group,
            Some('g'),
            "group",
            Nothing,
            "",
            Signals,
            &["signal the server's process group, not it alone"],
        ),
        option(Id::Subreaper, Some('s'), "subreaper", Nothing, "", Processes, &["reap orphans though not PID 1"]),
        option(
            Id::ParentDeathSignal,
            Some('p'),
            "parent-death-signal",
            One("SIGNAL"),
            "",
            Processes,
            &["get this signal when our own parent dies"],
        ),
        option(Id::WarnOnReap, Some('w'), "warn-on-reap", Nothing, "", Processes, &["log every orphan that is reaped"]),
        option(
            Id::KeepEnv,
            None,
            "keep-env",
            Nothing,
            "",
            Processes,
            &["leave the LAMEDUCK_* variables to the server too"],
        ),
        option(
            Id::MapExit,
            Some('e'),
            "map-exit",
            List("A=B"),
            "",
            ExitStatus,
            &["exit with B when the server exits with A;", "A alone stands for A=0"],
        ),
        option(Id::Log, None, "log", One("FORMAT"), "text", Logs, &["\"text\" or \"json\", on stderr"]),
        option(
            Id::LogLevel,
            None,
            "log-level",
            One("LEVEL"),
            "info",
            Logs,
            &["\"error\", \"warn\", \"info\", \"debug\" or \"trace\""],
        ),
        option(Id::Verbose, Some('v'), "verbose", Count, "", Logs, &["-v is --log-level debug, -vv is trace"]),
        option(
            Id::Explain,
            None,
            "explain",
            Nothing,
            "",
            About,
            &["print every setting, where it comes from, and how a", "stop goes; run nothing"],
        ),
        option(
            Id::Healthcheck,
            None,
            "healthcheck",
            Maybe("URL"),
            "",
            About,
            &["ask a running lameduck (or http://, tcp://, file:)", "whether it is ready; exits with 0 or 1"],
        ),
        option(Id::Status, None, "status", Nothing, "", About, &["print the state of a running lameduck as JSON"]),
        option(Id::Version, Some('V'), "version", Nothing, "", About, &["print the version"]),
        option(Id::Help, Some('h'), "help", Nothing, "", About, &["print this page"]),
    ]
};

const fn option(
    id: Id,
    short: Option<char>,
    long: &'static str,
    takes: Takes,
    default: &'static str,
    topic: Topic,
    help: &'static [&'static str],
) -> Spec {
    Spec { id, short, long, takes, default, topic, help }
}

/// The option of that flag, `--delay` or `-d`.
pub(super) fn by_flag(flag: &str) -> Option<&'static Spec> {
    let mut short = flag.strip_prefix('-')?.chars();
    match (flag.strip_prefix("--"), short.next(), short.next()) {
        (Some(long), ..) => OPTIONS.iter().find(|spec| spec.long == long),
        (None, Some(letter), None) => OPTIONS.iter().find(|spec| spec.short == Some(letter)),
        _ => None,
    }
}

// === impl Topic ===

impl Topic {
    /// All of them, in the order of the help page.
    pub(super) const ALL: [Self; 7] =
        [Self::Stop, Self::World, Self::Signals, Self::Processes, Self::ExitStatus, Self::Logs, Self::About];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Stop => "The stop",
            Self::World => "What others see of it",
            Self::Signals => "Signals",
            Self::Processes => "Processes",
            Self::ExitStatus => "Exit status",
            Self::Logs => "Logs",
            Self::About => "About",
        }
    }
}

// === impl Id ===

impl Id {
    pub(super) fn spec(self) -> &'static Spec {
        &OPTIONS[self as usize]
    }
}

// === impl Spec ===

impl Spec {
    /// `--delay`.
    pub(super) fn flag(&self) -> String {
        format!("--{}", self.long)
    }

    /// `LAMEDUCK_DELAY`, for every option that makes sense in an environment.
    pub(super) fn variable(&self) -> Option<String> {
        self.has_variable().then(|| format!("{PREFIX}{}", self.long.to_ascii_uppercase().replace('-', "_")))
    }

    /// Whether `name` is the variable of this option. Called before every start, so without building
    /// that name.
    pub(super) fn is_variable(&self, name: &[u8]) -> bool {
        let upper = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_uppercase() };
        self.has_variable()
            && name
                .strip_prefix(PREFIX.as_bytes())
                .is_some_and(|rest| rest.iter().copied().eq(self.long.bytes().map(upper)))
    }

    /// Whether the word after the flag belongs to it.
    pub(super) const fn takes_value(&self) -> bool {
        matches!(self.takes, Takes::One(_) | Takes::List(_))
    }

    const fn has_variable(&self) -> bool {
        !matches!(self.id, Id::Healthcheck | Id::Status | Id::Version | Id::Help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_stands_in_the_place_of_its_id() {
        for (at, spec) in OPTIONS.iter().enumerate() {
            assert_eq!(spec.id as usize, at, "{}", spec.long);
            assert_eq!(spec.id.spec().long, spec.long);
        }
    }

    #[test]
    fn no_two_options_share_a_name_or_a_letter() {
        for (at, spec) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[at + 1..] {
                assert_ne!(spec.long, other.long);
                assert!(spec.short.is_none() || spec.short != other.short, "{} and {}", spec.long, other.long);
            }
        }
    }

    #[test]
    fn each_option_knows_its_own_variable_and_no_other() {
        for spec in &OPTIONS {
            let Some(variable) = spec.variable() else {
                assert!(matches!(spec.long, "healthcheck" | "status" | "help" | "version"));
                continue;
            };
            for other in &OPTIONS {
                assert_eq!(other.is_variable(variable.as_bytes()), other.long == spec.long, "{variable}");
            }
            assert!(!spec.is_variable(variable.to_ascii_lowercase().as_bytes()));
            assert!(!spec.is_variable(format!("{variable}X").as_bytes()));
        }
        assert_eq!(Id::ParentDeathSignal.spec().variable().as_deref(), Some("LAMEDUCK_PARENT_DEATH_SIGNAL"));
    }

    #[test]
    fn flags_are_found_by_both_of_their_names() {
        assert_eq!(by_flag("--delay").map(|spec| spec.id), Some(Id::Delay));
        assert_eq!(by_flag("-d").map(|spec| spec.id), Some(Id::Delay));
        for none in ["", "-", "--", "d", "delay", "-delay", "--d", "-q", "-dd"] {
            assert!(by_flag(none).is_none(), "{none}");
        }
    }
}
