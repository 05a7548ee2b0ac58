//! The pages of `lameduckctl rules`.

use crate::check::rules::{RULES, Rule};
use std::fmt::Write as _;

/// The letters of the formulas.
const LETTERS: [(&str, &str); 10] = [
    ("P", "pre-stop hook of Kubernetes"),
    ("D", "delay: how long the server serves on after the stop signal"),
    ("G", "drain timeout: from the graceful signal to SIGKILL"),
    ("B", "buffer: what is to be left over"),
    ("K", "what the platform waits before it kills"),
    ("I", "interval of the balancer's health check"),
    ("U", "its unhealthy threshold: so many failures in a row"),
    ("T", "its time-out"),
    ("R", "deregistration delay of the target group"),
    ("A", "idle time-out of the balancer"),
];

/// What the letters stand for, a line each.
#[must_use]
pub fn letters() -> String {
    LETTERS.iter().fold(String::new(), |text, (letter, what)| format!("{text}  {letter}  {what}\n"))
}

/// All rules, a line each, and the letters.
#[must_use]
pub fn list() -> String {
    let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for rule in RULES {
        let _ = writeln!(out, "{}  {:width$}  {}", rule.id, rule.name, rule.formula);
    }
    let _ = write!(out, "\n{}", letters());
    out
}

/// Everything about one rule.
#[must_use]
pub fn page(rule: &Rule) -> String {
    let mut out = format!("{} {}\n\n", rule.id, rule.name);
    for (title, text) in [
        ("Must hold", rule.formula),
        ("Severity", rule.severity),
        ("Why", rule.about),
        ("Fix", rule.fix),
        ("Known from", rule.source),
        ("Example", rule.example),
    ] {
        wrap(&mut out, title, text);
    }
    out
}

fn wrap(out: &mut String, title: &str, text: &str) {
    let mut line = format!("{title:12}");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > 96 {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(12);
        }
        line = line + " " + word;
    }
    let _ = writeln!(out, "{line}");
}
