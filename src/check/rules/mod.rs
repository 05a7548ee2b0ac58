//! The rules: what has to hold between the numbers of a deployment.
//!
//! To add a rule, write one file with a `pub const RULE: Rule` and name it in `rules!` below. Its text
//! is all the documentation there is: `lameduckctl rules`, the help and the reports show it. Its `check`
//! gets a [`Case`] and answers one of three ways: it holds (no [`Broken`]), it does not (one `Broken` each),
//! or something is missing ([`Needs`]): then it counts as not checked, and what would be needed is said.
//! Facts are opened with [`one`] and [`all`], which make a `Needs` of what is not known, all of it at once.
//! A rule is written against the model only: it holds for every format that fills those facts.

#![allow(clippy::many_single_char_names, reason = "they are the letters of the formulas")]

use super::case::Case;
use super::fact::{Cited, Fact, Shown, seconds};
use super::flow::Flow;
use super::model::{Platform, Rollout, TargetGroup};
use std::time::Duration;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will go wrong sooner or later.
    Warning,
    /// Loses requests, or is killed in the middle of its drain.
    Error,
}

/// One rule.
pub struct Rule {
    /// `LD001`.
    pub id: &'static str,
    /// Its name in words joined by dashes.
    pub name: &'static str,
    /// What must hold.
    pub formula: &'static str,
    /// How bad it is when it does not, and on which platform.
    pub severity: &'static str,
    /// The worst of these.
    pub worst: Severity,
    /// Why it must hold.
    pub about: &'static str,
    /// What to do when it does not.
    pub fix: &'static str,
    /// How it is known.
    pub source: &'static str,
    /// A case in which it does not hold.
    pub example: &'static str,
    /// How often it is looked at.
    pub over: Over,
    /// Looks at one case.
    pub check: fn(&Case<'_>) -> Verdict,
}

/// How often a rule is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// For each container whose stop is looked at.
    Containers,
    /// Once a workload, with the first of these containers.
    Workloads,
}

/// What came of looking.
pub type Verdict = Result<Vec<Broken>, Needs>;

/// The shortest interval that ELB takes. An ALB refuses a time-out that is not below its interval.
pub const SHORT: Duration = Duration::from_secs(5);

/// The time-out to go with the shortest interval: as it is, where it fits in.
#[must_use]
pub fn short_timeout(timeout: Duration) -> Duration {
    if timeout < SHORT { timeout } else { Duration::from_secs(3) }
}

/// What a rule would need to be checked: half a sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs(pub Vec<String>);

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// How bad it is here.
    pub severity: Severity,
    /// What is wrong, with the sum written out.
    pub message: String,
    /// The cheapest way out.
    pub fix: String,
    /// All values of the relation.
    pub places: Vec<Cited>,
}

macro_rules! rules {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every rule, in the order of their ids.
        pub const RULES: &[Rule] = &[$($name::RULE),*];
    };
}

rules! {
    ld001,
    ld002,
    ld003,
    ld004,
    ld005,
    ld006,
    ld007,
    ld008,
    ld009,
    ld010,
    ld011,
    ld012,
    ld013,
    ld014,
    ld015,
    ld016,
    ld017,
    ld018,
    ld019,
    ld020,
    ld021,
    ld022,
    ld023,
    ld024,
    ld025,
    ld026,
    ld027,
    ld028,
    ld029,
    ld030,
    ld031,
    ld032,
    ld033,
    ld034,
    ld035,
    ld036,
    ld037,
    ld038,
    ld039,
    ld040,
    ld041,
    ld043,
    ld044,
    ld045,
    ld047,
    ld049,
}

/// The value of a fact.
///
/// # Errors
/// What would tell it.
pub fn one<T: Clone>(fact: &Fact<T>) -> Result<T, Needs> {
    fact.value.clone().map_err(Needs::one)
}

/// The values of several facts.
///
/// # Errors
/// What would tell those that are missing, all at once.
pub fn all<T: Copy + Default, const N: usize>(facts: [&Fact<T>; N]) -> Result<[T; N], Needs> {
    let missing: Vec<String> = facts.iter().filter_map(|fact| fact.value.as_ref().err().cloned()).collect();
    if missing.is_empty() {
        Ok(facts.map(|fact| fact.known().copied().unwrap_or_default()))
    } else {
        Err(Needs(missing))
    }
}

/// How the time of a pre-stop hook begins a sum; nothing where there is none.
#[must_use]
pub fn hook(time: Duration) -> String {
    if time.is_zero() { String::new() } else { format!("P {} + ", seconds(time)) }
}

/// The time of a pre-stop hook, at least: of one that takes as long as it takes nobody knows how long.
#[must_use]
pub fn hook_at_least(pre_stop: &Fact<Duration>) -> Duration {
    pre_stop.known().copied().unwrap_or_default()
}

/// Hook and delay, when they are shorter together than that. One that is long enough alone is enough.
///
/// # Errors
/// What would tell the one that is not known.
pub fn shorter(
    pre_stop: &Fact<Duration>,
    delay: &Fact<Duration>,
    wanted: Duration,
) -> Result<Option<(Duration, Duration)>, Needs> {
    if [pre_stop, delay].iter().any(|fact| fact.known().is_some_and(|time| *time >= wanted)) {
        return Ok(None);
    }
    let [p, d] = all([pre_stop, delay])?;
    Ok((p + d < wanted).then_some((p, d)))
}

/// What comes before the server's own signal, as a sum.
#[must_use]
pub fn hook_and_delay(pre_stop: Duration, delay: Duration) -> String {
    let total = if pre_stop.is_zero() { String::new() } else { format!(" = {}", seconds(pre_stop + delay)) };
    format!("{}D {}{total}", hook(pre_stop), seconds(delay))
}

/// How one is kept running while it is replaced, in the words of its platform.
#[must_use]
pub fn keeps_one(platform: Platform, rollout: &Rollout) -> &'static str {
    match platform {
        Platform::Kubernetes if rollout.most_percent.known().is_some_and(|most| *most > 100) => {
            "set maxUnavailable to 0"
        }
        // What replaces in place has no new one to wait for.
        Platform::Kubernetes => "run two or more",
        Platform::Compose => "set update_config.order to start-first",
        _ => "set minimumHealthyPercent to 100 and maximumPercent to 200",
    }
}

/// Looks at each target group where this is the flow.
///
/// # Errors
/// What would tell the flow, the groups, or what `look` needs of one of them.
pub fn each_group(
    case: &Case<'_>,
    flow: Flow,
    look: impl FnMut(&TargetGroup) -> Result<Option<Broken>, Needs>,
) -> Verdict {
    if !case.flows(flow)? {
        return holds();
    }
    case.groups()?.into_iter().map(look).filter_map(Result::transpose).collect()
}

/// It holds, or it has nothing to say here.
///
/// # Errors
/// Never.
pub const fn holds() -> Verdict {
    Ok(Vec::new())
}

/// The rule of that id, in any case.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

// === impl Severity ===

impl Severity {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

// === impl Needs ===

impl Needs {
    /// One thing is missing.
    #[must_use]
    pub fn one(what: String) -> Self {
        Self(vec![what])
    }
}

// === impl Broken ===

impl Broken {
    /// A finding of that severity; the fix is that of the rule unless [`Broken::fix`] knows better.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self { severity, message: message.into(), fix: String::new(), places: Vec::new() }
    }

    /// The cheapest way out.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// A value of the relation.
    #[must_use]
    pub fn with<T: Shown>(mut self, fact: &Fact<T>) -> Self {
        self.places.push(fact.cite());
        self
    }

    /// The time of a pre-stop hook, when there is one.
    #[must_use]
    pub fn with_hook(self, pre_stop: &Fact<Duration>) -> Self {
        if pre_stop.known().is_some_and(Duration::is_zero) { self } else { self.with(pre_stop) }
    }

    /// As the only finding.
    ///
    /// # Errors
    /// Never.
    pub fn found(self) -> Verdict {
        Ok(vec![self])
    }
}
