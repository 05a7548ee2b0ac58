//! What the command line of the check adds to the files: values that nobody wrote down, and which things
//! belong together.

use super::fact::Fact;
use super::flow::Flow;
use crate::core::duration;
use std::time::Duration;

/// Everything that was given besides the files.
#[derive(Clone, Debug, Default)]
pub struct Given {
    set: Vec<(String, String)>,
    /// Things that belong together, by name, ARN or file.
    pub links: Vec<(String, String)>,
    /// The flow, when it was said.
    pub flow: Option<Flow>,
}

/// A value that can be set.
struct Name {
    word: &'static str,
    what: &'static str,
    is: Is,
}

enum Is {
    Time,
    Number,
    Text,
}

const NAMES: [Name; 12] = [
    name("p99", "the longest usual request", Is::Time),
    name("hook", "what the program does after its last request", Is::Time),
    name("buffer", "what a stop is given to spare (5s)", Is::Time),
    name("start", "from the start to the first request", Is::Time),
    name("watchdog-strikes", "failures after which a watchdog acts", Is::Number),
    name("watchdog-period", "time between two looks of the watchdog", Is::Time),
    name("keepalive", "the server's keep-alive time-out", Is::Time),
    name("lb-idle", "the balancer's idle time-out", Is::Time),
    name("dns-ttl", "how long clients keep an address", Is::Time),
    name("process-control-timeout", "php-fpm's process_control_timeout", Is::Time),
    name("inner-timeout", "the program's own limit to its drain", Is::Time),
    name("platform", "fly, render, cloud-run, heroku, systemd", Is::Text),
];

const fn name(word: &'static str, what: &'static str, is: Is) -> Name {
    Name { word, what, is }
}

/// What `--set` takes, for the help page: a line each.
#[must_use]
pub fn names() -> String {
    NAMES.iter().fold(String::new(), |text, name| format!("{text}  {:<25}{}\n", name.word, name.what))
}

// === impl Given ===

impl Given {
    /// Takes `NAME=VALUE`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let wrong = |why: String| format!("--set {text}: {why}");
        let (given, value) = text.split_once('=').ok_or_else(|| wrong("write NAME=VALUE, as in p99=2s".to_owned()))?;
        let known = NAMES.iter().find(|name| name.word == given);
        let known = known.ok_or_else(|| {
            let all: Vec<&str> = NAMES.iter().map(|name| name.word).collect();
            wrong(format!("unknown; there are {}", all.join(", ")))
        })?;
        match known.is {
            Is::Time => drop(duration::parse(value).map_err(|why| wrong(why.to_string()))?),
            Is::Number => drop(value.parse::<u32>().map_err(|_| wrong("a whole number is wanted".to_owned()))?),
            Is::Text => {}
        }
        self.set.retain(|(name, _)| name != given);
        self.set.push((given.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Takes `A=B`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn link(&mut self, text: &str) -> Result<(), String> {
        // An ARN holds no `=`, a path may.
        let pair = text.rsplit_once('=').filter(|(left, right)| !left.is_empty() && !right.is_empty());
        let (left, right) = pair.ok_or_else(|| format!("--link {text}: write A=B: two names, ARNs or files"))?;
        self.links.push((left.to_owned(), right.to_owned()));
        Ok(())
    }

    /// A time, or what to set.
    #[must_use]
    pub fn time(&self, name: &str) -> Fact<Duration> {
        self.read(name, |text| duration::parse(text).ok())
    }

    /// A number, or what to set.
    #[must_use]
    pub fn number(&self, name: &str) -> Fact<u64> {
        self.read(name, |text| text.parse().ok())
    }

    /// A text, if it was set.
    #[must_use]
    pub fn text(&self, name: &str) -> Fact<String> {
        self.read(name, |text| Some(text.to_owned()))
    }

    fn read<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Fact<T> {
        let given = self.set.iter().find(|(known, _)| known == name).and_then(|(_, text)| read(text));
        given.map_or_else(
            || {
                let what = NAMES.iter().find(|known| known.word == name).map_or("", |known| known.what);
                Fact::unknown(name, format!("{what}: --set {name}=…"), None)
            },
            |value| Fact::set(name, value),
        )
    }

    /// Whether these two were said to belong together.
    #[must_use]
    pub fn linked(&self, one: &[&str], other: &[&str]) -> bool {
        self.links.iter().any(|(left, right)| {
            let (left, right) = (left.as_str(), right.as_str());
            (one.contains(&left) && other.contains(&right)) || (one.contains(&right) && other.contains(&left))
        })
    }
}
