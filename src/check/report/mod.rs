//! What the check found, and how it is written.

mod github;
mod json;
pub mod rules;
mod sarif;
mod text;

use super::fact::Cited;
use super::rules::{Broken, Rule, Severity};
use super::source::{Problem, Sources};
use std::cmp::Ordering;

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Report {
    /// What does not hold, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be checked.
    pub not_checked: Vec<NotChecked>,
    /// What was taken to be so.
    pub assumed: Vec<String>,
    /// What does not hold and was said to be known.
    pub suppressed: Vec<Suppressed>,
    /// What could not be read.
    pub errors: Vec<Problem>,
    /// Kinds of things that were passed over, with how many there were.
    pub passed_over: Vec<(String, usize)>,
    /// How many files were looked at.
    pub files: usize,
}

/// A rule that does not hold.
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is.
    pub severity: Severity,
    /// Whose stop it is about, and what is wrong.
    pub message: String,
    /// The cheapest way out.
    pub fix: String,
    /// All values of the relation.
    pub places: Vec<Cited>,
}

/// A rule that could not be checked.
#[derive(Debug)]
pub struct NotChecked {
    /// Its id.
    pub rule: &'static str,
    /// What would be needed.
    pub needs: Vec<String>,
}

/// A finding that was said to be known.
#[derive(Debug)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// Which file says so, or `--ignore`.
    pub by: String,
    /// Why; empty when nobody said.
    pub reason: String,
    /// Whether a file says so.
    pub in_file: bool,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people, with the lines of the files.
    Text,
    /// For programs.
    Json,
    /// For code scanning.
    Sarif,
    /// As annotations of a GitHub workflow.
    Github,
}

/// Writes a report.
#[must_use]
pub fn write(report: &Report, sources: &Sources, format: Format, colour: bool) -> String {
    match format {
        Format::Text => text::write(report, sources, colour),
        Format::Json => format!("{}\n", json::value(report, sources)),
        Format::Sarif => format!("{}\n", sarif::value(report, sources)),
        Format::Github => github::write(report, sources),
    }
}

/// With a capital in front and a full stop behind.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

// === impl Format ===

impl Format {
    /// Reads the word of the command line.
    ///
    /// # Errors
    /// Which words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "sarif" => Ok(Self::Sarif),
            "github" => Ok(Self::Github),
            _ => Err(format!("--format {text}: write text, json, sarif or github")),
        }
    }
}

// === impl Finding ===

impl Finding {
    /// What a rule found about `subject`.
    #[must_use]
    pub fn new(rule: &'static Rule, subject: &str, broken: Broken) -> Self {
        let Broken { severity, message, fix, places } = broken;
        let fix = if fix.is_empty() { rule.fix.to_owned() } else { sentence(&fix) };
        Self { rule, severity, message: format!("{subject}: {message}"), fix, places }
    }

    /// The worst first, then by rule, then by place.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |finding: &Self| (std::cmp::Reverse(finding.severity), finding.rule.id);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.places.cmp(&other.places))
            .then_with(|| self.message.cmp(&other.message))
    }
}

impl PartialEq for Finding {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}

impl std::fmt::Debug for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.rule.id, self.message)
    }
}

// === impl Report ===

impl Report {
    /// How many findings there are of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The exit status: 2 when something could not be read, 1 when something is found that is at least so
    /// bad.
    #[must_use]
    pub fn status(&self, fail_on: Severity) -> u8 {
        if self.errors.is_empty() {
            u8::from(self.findings.iter().any(|finding| finding.severity >= fail_on))
        } else {
            2
        }
    }
}
