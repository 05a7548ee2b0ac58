//! What a command line and an environment *would* come to: for tools that read a deployment's files and
//! run nothing. Each option keeps its words and who gave them, so that a tool can point at them.

use super::given::Origin;
use super::options::{OPTIONS, PREFIX};
use super::{Settings, line, resolve};
use std::ffi::OsString;
use std::time::Duration;

/// The settings of a lameduck that is not running.
#[derive(Debug)]
pub struct Survey {
    /// Everything resolved, as the init itself would.
    pub settings: Settings,
    /// The platform's limit, as lameduck was told.
    pub grace: Option<Duration>,
    /// What could not be read: lameduck would not start.
    pub errors: Vec<String>,
    /// How many of the words were lameduck's own: the command begins behind them.
    pub own_words: usize,
    given: Vec<(&'static str, GivenBy, String)>,
    environ: Vec<(OsString, OsString)>,
}

/// Who gave an option its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenBy {
    /// Nobody.
    Default,
    /// A flag.
    Flag,
    /// A variable.
    Variable,
    /// It follows from the option of this name.
    From(&'static str),
}

// === impl Survey ===

impl Survey {
    /// Reads the words after lameduck's own name, and those variables that begin with `LAMEDUCK_`.
    #[must_use]
    pub fn of(words: &[OsString], environ: &[(OsString, OsString)]) -> Self {
        let line = line::read(words);
        let own_words = words.len() - line.command.len().min(words.len());
        let raw: Vec<Vec<OsString>> =
            OPTIONS.iter().map(|spec| if spec.takes_value() { line.values(spec.id) } else { Vec::new() }).collect();
        let resolved = resolve::resolve(line, environ, None);
        let given = OPTIONS.iter().zip(raw).map(|(spec, words)| {
            let by = match resolved.origins[spec.id as usize] {
                // There is no other program whose words these could be.
                Origin::Default | Origin::StandIn(_) => GivenBy::Default,
                Origin::Flag => GivenBy::Flag,
                Origin::Variable => GivenBy::Variable,
                Origin::From(id) => GivenBy::From(id.spec().long),
            };
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (spec.long, by, words.join(","))
        });
        Self {
            given: given.collect(),
            settings: resolved.settings,
            grace: resolved.findings.grace,
            errors: resolved.errors.into_iter().chain(resolved.findings.refusal).collect(),
            own_words,
            environ: environ.to_vec(),
        }
    }

    /// Who gave the option of that long name its value.
    #[must_use]
    pub fn given(&self, long: &str) -> GivenBy {
        let known = self.given.iter().find(|(name, ..)| *name == long).map(|(_, by, _)| *by);
        match known {
            Some(by) if by != GivenBy::Default => by,
            _ if self.variable(long).is_some() => GivenBy::Variable,
            _ => GivenBy::Default,
        }
    }

    /// The text given for the option of that long name; `None` when there was none.
    #[must_use]
    pub fn text(&self, long: &str) -> Option<String> {
        match self.given(long) {
            GivenBy::Flag => self.given.iter().find(|(name, ..)| *name == long).map(|(.., text)| text.clone()),
            GivenBy::Variable => self.variable(long),
            GivenBy::Default | GivenBy::From(_) => None,
        }
    }

    /// Where the value of the flag of that long name stands among lameduck's own words.
    #[must_use]
    pub fn value_at(own_words: &[OsString], long: &str) -> Option<usize> {
        line::value_at(own_words, OPTIONS.iter().find(|spec| spec.long == long)?)
    }

    /// The name of an option's variable.
    #[must_use]
    pub fn variable_name(long: &str) -> String {
        format!("{PREFIX}{}", long.to_ascii_uppercase().replace('-', "_"))
    }

    fn variable(&self, long: &str) -> Option<String> {
        let wanted = Self::variable_name(long);
        let (_, text) = self.environ.iter().find(|(name, _)| *name == *wanted)?;
        Some(text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(words: &[&str], environ: &[(&str, &str)]) -> Survey {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let environ: Vec<_> = environ.iter().map(|(name, text)| (name.into(), text.into())).collect();
        Survey::of(&words, &environ)
    }

    #[test]
    fn every_value_is_known_with_who_gave_it() {
        let survey = survey(&["-d", "5s", "--grace=40", "nginx", "-g"], &[("LAMEDUCK_LINGER", "1s")]);
        assert_eq!(survey.errors, Vec::<String>::new());
        assert_eq!(survey.own_words, 3);
        assert_eq!((survey.given("delay"), survey.text("delay")), (GivenBy::Flag, Some("5s".to_owned())));
        assert_eq!((survey.given("linger"), survey.text("linger")), (GivenBy::Variable, Some("1s".to_owned())));
        assert_eq!(survey.given("drain-timeout"), GivenBy::From("grace"));
        assert_eq!(survey.settings.policy.drain, Some(Duration::from_secs(32)));
        assert_eq!((survey.given("group"), survey.text("group")), (GivenBy::Default, None));
    }

    #[test]
    fn the_value_of_a_flag_is_found_where_it_stands() {
        for (words, long, wanted) in [
            (&["-t", "25", "-d", "12s"] as &[&str], "delay", Some(3)),
            (&["-t", "25", "-d", "12s"], "drain-timeout", Some(1)),
            (&["-g", "-d12s", "-t25"], "delay", Some(1)),
            (&["-gt", "25", "-d=12"], "drain-timeout", Some(1)),
            (&["-gt", "25", "-d=12"], "group", Some(1)),
            (&["--drain-timeout=5", "--delay", "3"], "delay", Some(2)),
            (&["--drain-timeout=5", "--delay", "3"], "drain-timeout", Some(0)),
            (&["--on-stop", "-d", "-t", "5"], "delay", None),
            (&["-d", "1", "--delay=2"], "delay", Some(2)),
            (&["-d"], "delay", None),
            (&[], "delay", None),
        ] {
            let own: Vec<OsString> = words.iter().map(Into::into).collect();
            assert_eq!(Survey::value_at(&own, long), wanted, "{long} in {words:?}");
        }
    }
}
