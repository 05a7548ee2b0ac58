//! The help page, at most 80 columns wide.

use super::options::{OPTIONS, Spec, Takes, Topic};
use std::fmt::Write as _;

const HEAD: &str = "\
lameduck: a tiny init for containers that stops servers in the right order

Usage: lameduck [OPTIONS] [--] COMMAND [ARGUMENTS]

Runs COMMAND as the server of a container. When the platform asks for a stop,
the server first serves on for the delay, then gets its graceful signal and
drains, and is killed only after the drain timeout. The exit status is its own.
";

const FOOT: &str = "
TIME is 15s, 1m30s, 500ms, 1.5s, or bare seconds as in 15. SIGNAL is TERM,
SIGTERM, 15 or RTMIN+3. SIGNAL, FROM:TO and A=B may be lists: TERM,QUIT.
A flag beats its variable, which beats the default. An empty variable is unset;
switches are 1 or 0 there, LAMEDUCK_VERBOSE also 2.

Exit status: the command's own; 128+n when signal n ended it; 127 not found,
126 not executable, 125 when lameduck itself was asked for something wrong.

Examples:
  lameduck --delay 15s -- nginx -g 'daemon off;'
  lameduck --delay 15s --grace 60s -- gunicorn app:app
  lameduck --delay 15s --grace 60s --explain
  LAMEDUCK_DELAY=15s LAMEDUCK_MAP_EXIT=143 lameduck java -jar app.jar
";

/// Where the descriptions begin.
const COLUMN: usize = 29;

/// The page.
pub(super) fn page() -> String {
    let mut text = HEAD.to_owned();
    for topic in Topic::ALL {
        let _ = writeln!(text, "\n{}:", topic.title());
        for spec in OPTIONS.iter().filter(|spec| spec.topic == topic) {
            entry(&mut text, spec);
        }
    }
    text + FOOT
}

fn entry(text: &mut String, spec: &Spec) {
    let short = spec.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let mut left = format!("  {short}--{} {}", spec.long, spec.wanted());
    let default = if spec.default.is_empty() { String::new() } else { format!("default {}; ", spec.default) };
    let known_as = spec.variable().map(|variable| format!("[{default}{variable}]"));
    for line in spec.help.iter().copied().chain(known_as.as_deref()) {
        if left.trim_end().len() + 2 > COLUMN {
            let _ = writeln!(text, "{}", left.trim_end());
            left.clear();
        }
        let _ = writeln!(text, "{left:COLUMN$}{line}");
        left.clear();
    }
}

// === impl Spec ===

impl Spec {
    /// What the flag wants as its value.
    pub(super) const fn wanted(&self) -> &'static str {
        match self.takes {
            Takes::One(what) | Takes::List(what) => what,
            Takes::Maybe(_) => "[URL]",
            Takes::Nothing | Takes::Count => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_fits_a_terminal_and_has_no_loose_ends() {
        for line in page().lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert_eq!(line, line.trim_end());
        }
    }

    #[test]
    fn every_option_is_on_the_page_with_its_variable_and_default() {
        let page = page();
        for spec in &OPTIONS {
            assert!(page.contains(&format!("--{}", spec.long)), "{}", spec.long);
            assert!(spec.variable().is_none_or(|variable| page.contains(&format!("{variable}]"))), "{}", spec.long);
            assert!(page.contains(spec.default));
        }
    }
}
