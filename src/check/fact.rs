//! One value of a deployment, with the place it comes from, or the reason why it is not known.

use super::source::Place;
use crate::core::Signal;
use crate::core::duration::Written;
use std::time::Duration;

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact<T> {
    /// The field, flag or variable as its writer knows it: `stopTimeout`, `LAMEDUCK_DELAY`.
    pub name: String,
    /// The value, or why it is not known and what would tell: half a sentence.
    pub value: Result<T, String>,
    /// Where it is written; of a default: where it would be written; `None` = in no file.
    pub place: Option<Place>,
    /// Who says so.
    pub origin: Origin,
}

/// Who says a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The file, at this place.
    Written,
    /// Nobody: it is the default of this platform or program.
    Default(&'static str),
    /// `--set` on the command line of the check.
    Set,
    /// It follows from others, in this way.
    Derived(String),
}

/// A fact for a report: everything as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cited {
    /// Where; `None` = in no file.
    pub place: Option<Place>,
    /// The name of the fact.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Who says so: `written`, `default of Fargate`, `--set`.
    pub origin: String,
}

/// A value as reports show it.
pub trait Shown {
    /// As one would write it.
    fn shown(&self) -> String;
}

// === impl Fact ===

impl<T> Fact<T> {
    /// A value that stands in a file.
    pub fn written(name: impl Into<String>, value: T, place: Place) -> Self {
        Self { name: name.into(), value: Ok(value), place: Some(place), origin: Origin::Written }
    }

    /// The value that `whose` takes when none is written at `place`.
    pub fn default_of(whose: &'static str, name: impl Into<String>, value: T, place: Option<Place>) -> Self {
        Self { name: name.into(), value: Ok(value), place, origin: Origin::Default(whose) }
    }

    /// A value that follows from others.
    pub fn derived(how: impl Into<String>, name: impl Into<String>, value: T, place: Option<Place>) -> Self {
        Self { name: name.into(), value: Ok(value), place, origin: Origin::Derived(how.into()) }
    }

    /// A value from `--set`.
    pub fn set(name: impl Into<String>, value: T) -> Self {
        Self { name: name.into(), value: Ok(value), place: None, origin: Origin::Set }
    }

    /// A value that is not known; `why` says what would tell.
    pub fn unknown(name: impl Into<String>, why: impl Into<String>, place: Option<Place>) -> Self {
        Self { name: name.into(), value: Err(why.into()), place, origin: Origin::Written }
    }

    /// The value, or nothing.
    pub fn known(&self) -> Option<&T> {
        self.value.as_ref().ok()
    }

    /// Whether it is known and that.
    pub fn is(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.known() == Some(value)
    }

    /// Whether somebody wrote it down, and it is no default.
    pub const fn is_written(&self) -> bool {
        matches!(self.origin, Origin::Written | Origin::Set)
    }

    /// The same, of another value.
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Fact<U> {
        Fact { name: self.name, value: self.value.map(with), place: self.place, origin: self.origin }
    }
}

impl<T: Shown> Fact<T> {
    /// For a report.
    pub fn cite(&self) -> Cited {
        Cited {
            place: self.place,
            name: self.name.clone(),
            value: self.value.as_ref().map_or_else(|_| "not known".to_owned(), Shown::shown),
            origin: self.origin.shown(),
        }
    }
}

// === impl Origin ===

impl Shown for Origin {
    fn shown(&self) -> String {
        match self {
            Self::Written => "written".to_owned(),
            Self::Default(whose) => format!("default of {whose}"),
            Self::Set => "--set".to_owned(),
            Self::Derived(how) => how.clone(),
        }
    }
}

// === impl Shown ===

impl Shown for Duration {
    fn shown(&self) -> String {
        Written(*self).to_string()
    }
}

impl Shown for Option<Duration> {
    fn shown(&self) -> String {
        self.map_or_else(|| "none".to_owned(), |duration| duration.shown())
    }
}

impl Shown for bool {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for u64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for String {
    fn shown(&self) -> String {
        self.clone()
    }
}

impl Shown for Signal {
    fn shown(&self) -> String {
        self.to_string()
    }
}

/// Seconds as they stand in a sum: `15`, `1.5`.
#[must_use]
pub fn seconds(duration: Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
