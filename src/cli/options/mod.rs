//! The one table of options. The command line, the environment, the help page and `--explain` are
//! all read off it, so that none of them can know an option the others do not.

mod table;

pub(super) use table::OPTIONS;

/// Which option; its place in [`OPTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Delay,
    Quiet,
    MinDelay,
    WaitIdle,
    WatchPort,
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
    Traffic,
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
    pub(super) const ALL: [Self; 8] = [
        Self::Stop,
        Self::Traffic,
        Self::World,
        Self::Signals,
        Self::Processes,
        Self::ExitStatus,
        Self::Logs,
        Self::About,
    ];

    /// Whether asking for an option of it is asking for a stop sequence.
    pub(super) const fn is_about_the_stop(self) -> bool {
        match self {
            // Who is to be shown a stop wants there to be one.
            Self::Stop | Self::Traffic | Self::World => true,
            Self::Signals | Self::Processes | Self::ExitStatus | Self::Logs | Self::About => false,
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Stop => "The stop",
            Self::Traffic => "Traffic during the delay",
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
