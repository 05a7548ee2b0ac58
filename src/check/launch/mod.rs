//! What a container runs: which init, shell or wrapper is PID 1, whether lameduck is there and with what
//! settings, and which program all that is for.

pub(in crate::check) mod script;
mod settings;
mod shell;

#[cfg(test)]
mod tests;

pub use settings::Settings;

use super::fact::Fact;
use super::model::{Container, Variable, Word};
use super::source::Place;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a container runs.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What stands in front of the program, from PID 1 on; unknown when the image decides.
    pub front: Result<Vec<Front>, String>,
    /// lameduck's settings; `None` = it is known not to be there.
    pub lameduck: Result<Option<Settings>, String>,
    /// The program itself, by the base name of its file.
    pub program: Fact<String>,
    /// The words of the program, itself first.
    pub words: Vec<Word>,
    /// Why lameduck is taken to be there although no command names it.
    pub assumed: Option<String>,
}

/// One thing in front of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// What it is.
    pub kind: FrontKind,
    /// The word that names it, or the string that is its script.
    pub word: Word,
}

/// What stands in front of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontKind {
    /// lameduck.
    Lameduck,
    /// An init that knows no delay: `tini`, `dumb-init`, `catatonit`, `docker-init` …
    Init,
    /// A shell that stays, and waits for what its script runs.
    Shell {
        /// Whether its script starts something in the background, so that INT and QUIT are ignored there.
        background: bool,
        /// Whether its script handles signals.
        traps: bool,
    },
    /// A shell that replaces itself: `sh -c 'exec nginx'`. Not there any more when the signal comes.
    Exec,
    /// A script of its own, of which only the name is known.
    Script,
    /// Something that runs its arguments and is gone: `env`, `nice`.
    Transparent,
}

/// The inits that know no delay.
const INITS: [&str; 10] = [
    "tini",
    "tini-static",
    "docker-init",
    "dumb-init",
    "catatonit",
    "podman-init",
    "s6-svscan",
    "my_init",
    "pid1",
    "pid1-rs",
];

/// So many things stand in front of a program at the most.
const MOST_FRONTS: usize = 12;

/// The name of a variable's prefix by which lameduck is known to be meant.
const PREFIX: &str = "LAMEDUCK_";

/// Finds out what a container runs, from its words and its environment.
#[must_use]
pub fn read(container: &Container) -> Launch {
    let unknown_image = || {
        if let Some(base) = container.base.as_ref().and_then(|base| base.known()) {
            return format!(
                "what {base} runs, from which {} is built: give `docker image inspect {base}`",
                container.name
            );
        }
        let built = container.build.as_ref().and_then(|build| build.file.known());
        let file = built.map_or("its Dockerfile", String::as_str);
        format!(
            "what the image of {} runs: give {file} or `docker image inspect`, or write its entry point here",
            container.name
        )
    };
    let mut words = Vec::new();
    let mut missing = None;
    match &container.entrypoint {
        Some(entry) => match &entry.words {
            Ok(known) => words.extend(known.iter().cloned()),
            Err(why) => missing = Some(why.clone()),
        },
        None => missing = Some(unknown_image()),
    }
    match &container.command {
        Some(command) => match &command.words {
            Ok(known) => words.extend(known.iter().cloned()),
            Err(why) => missing = missing.or_else(|| Some(why.clone())),
        },
        None if container.entrypoint.is_none() => missing = Some(unknown_image()),
        None => {}
    }
    let mut reader = Reader {
        container: Cow::Borrowed(container),
        front: Vec::new(),
        lameduck: None,
        unresolved: None,
        open: BTreeMap::new(),
        blind: None,
    };
    let rest = reader.walk(words);
    let blind = reader.blind.take();
    missing = missing.or_else(|| blind.clone());
    let meant = container.environment.iter().find(|variable| variable.name.starts_with(PREFIX));
    let mut assumed = None;
    let lameduck = match (reader.lameduck.take().filter(|_| reader.unresolved.is_none()), meant, &missing) {
        // One of its own words is a variable that is only known later.
        (None, ..) if reader.unresolved.is_some() => Err(reader.unresolved.clone().unwrap_or_default()),
        (None, ..) if blind.is_some() => Err(blind.unwrap_or_default()),
        (Some(settings), ..) => Ok(Some(settings)),
        // Flags beat variables, and of these words nobody knows whether they are flags.
        (None, _, Some(why)) if container.entrypoint.as_ref().is_some_and(|entry| entry.words.is_err()) => {
            Err(why.clone())
        }
        (None, Some(variable), Some(_)) => {
            assumed = Some(format!(
                "{}: {} is set, so lameduck is taken to be the entry point of its image",
                container.name, variable.name
            ));
            Ok(Some(Settings::read(container, &[], 0).0))
        }
        (None, _, Some(why)) => Err(why.clone()),
        (None, _, None) => Ok(None),
    };
    let place = rest.first().map_or(container.place, |word| word.place);
    let program = match (rest.first(), &missing) {
        (Some(word), None) if reader.unresolved(word).is_some() => {
            Fact::unknown("program", reader.unresolved(word).unwrap_or_default(), Some(word.place))
        }
        (Some(word), missing) if missing.is_none() || !reader.front.is_empty() => {
            Fact::written("program", becomes(base(&word.text)).to_owned(), word.place)
        }
        (_, Some(why)) => Fact::unknown("program", why.clone(), Some(place)),
        _ => Fact::unknown("program", format!("{} runs nothing", container.name), Some(place)),
    };
    Launch { front: missing.map_or(Ok(reader.front), Err), lameduck, program, words: rest, assumed }
}

struct Reader<'a> {
    /// The container; its own where a script sets variables.
    container: Cow<'a, Container>,
    front: Vec<Front>,
    lameduck: Option<Settings>,
    /// Why lameduck's own words are not known, although it is there.
    unresolved: Option<String>,
    /// The words of scripts that are not known, each with why.
    open: BTreeMap<String, String>,
    /// Why nothing is known of what a script runs.
    blind: Option<String>,
}

/// What a script of the official images of httpd and php puts in its own place: `httpd-foreground`.
fn becomes(name: &str) -> &str {
    name.strip_suffix("-foreground").unwrap_or(name)
}

/// The base name of a file.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

// === impl Reader ===

impl Reader<'_> {
    /// Why a word is not known yet: a script makes it, or it names a variable, as Kubernetes puts it in, whose
    /// value is not.
    fn unresolved(&self, word: &Word) -> Option<String> {
        if let Some(why) = self.open.get(&word.text) {
            return Some(why.clone());
        }
        let is_in = |variable: &&Variable| word.text.contains(&format!("$({})", variable.name));
        let variable = self.container.environment.iter().filter(|variable| variable.value.is_err()).find(is_in)?;
        Some(format!("the value of {}: {}", variable.name, variable.value.as_ref().err()?))
    }

    /// Takes what stands in front off the words, one by one.
    fn walk(&mut self, mut words: Vec<Word>) -> Vec<Word> {
        while let Some(first) = words.first().cloned() {
            if self.front.len() >= MOST_FRONTS {
                break;
            }
            let name = base(&first.text);
            let (kind, rest) = if name == "lameduck" {
                let (settings, own) = Settings::read(&self.container, &words[1..], 1);
                // Of two, the outer one acts.
                if self.lameduck.is_none() {
                    // What comes next may be flags as well, unless a `--` says that it is the command.
                    let ended = words.get(own - 1).is_some_and(|word| word.text == "--");
                    let mut words = words.iter().take(own + usize::from(!ended));
                    self.unresolved = words.find_map(|word| self.unresolved(word));
                }
                self.lameduck.get_or_insert(settings);
                (FrontKind::Lameduck, words.split_off(own.min(words.len())))
            } else if INITS.contains(&name) {
                (FrontKind::Init, after_options(&words, &["-p", "-e", "-r", "--rewrite"]))
            } else if let Some(found) = shell::read(name, &words, &self.container.environment) {
                self.open.extend(found.open);
                self.blind = found.blind.map(|blind| blind.why(&self.container.name)).or(self.blind.take());
                if !found.sets.is_empty() {
                    self.container.to_mut().environment.extend(found.sets);
                }
                (found.kind, found.words)
            } else if let Some(rest) = runner(name, &words) {
                (FrontKind::Transparent, rest)
            } else if matches!(name, "env" | "nice" | "nohup" | "stdbuf" | "setpriv" | "gosu" | "su-exec") {
                (FrontKind::Transparent, transparent(name, &words))
            } else {
                break;
            };
            self.front.push(Front { kind, word: first });
            words = rest;
        }
        words
    }
}

/// The words behind an init's name and its options, of which these take a value.
fn after_options(words: &[Word], with_value: &[&str]) -> Vec<Word> {
    let mut rest = words.iter().skip(1).peekable();
    while let Some(word) = rest.next_if(|word| word.text.starts_with('-')) {
        if word.text == "--" {
            break;
        }
        if with_value.contains(&word.text.as_str()) {
            rest.next();
        }
    }
    rest.cloned().collect()
}

/// The words behind what runs a program of its own language in its own process: `bundle exec puma`,
/// `python -m gunicorn`.
fn runner(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let leads = match name {
        "bundle" => "exec",
        _ if name.starts_with("python") => "-m",
        _ => return None,
    };
    let rest = words.get(2..).filter(|rest| !rest.is_empty())?;
    (words[1].text == leads).then(|| rest.to_vec())
}

fn transparent(name: &str, words: &[Word]) -> Vec<Word> {
    let mut rest = after_options(words, &["-n", "-u", "-i", "-o"]);
    let leading = match name {
        // The user.
        "gosu" | "su-exec" => 1.min(rest.len()),
        "env" => rest.iter().take_while(|word| word.text.contains('=')).count(),
        _ => 0,
    };
    rest.split_off(leading)
}

// === impl Front ===

impl super::fact::Shown for Front {
    fn shown(&self) -> String {
        self.word.text.clone()
    }
}

// === impl Launch ===

impl Default for Launch {
    fn default() -> Self {
        let why = "what it runs was not looked at".to_owned();
        Self {
            front: Err(why.clone()),
            lameduck: Err(why.clone()),
            program: Fact::unknown("program", why, None),
            words: Vec::new(),
            assumed: None,
        }
    }
}

impl Launch {
    /// lameduck's settings, when it is known to be there.
    #[must_use]
    pub fn lameduck(&self) -> Option<&Settings> {
        self.lameduck.as_ref().ok()?.as_ref()
    }

    /// What is PID 1, when something stands in front of the program that stays.
    #[must_use]
    pub fn first(&self) -> Option<&Front> {
        let front = self.front.as_ref().ok()?;
        front.iter().find(|front| !matches!(front.kind, FrontKind::Exec | FrontKind::Transparent))
    }

    /// Whether anything in front is that.
    #[must_use]
    pub fn passes(&self, is: impl Fn(&FrontKind) -> bool) -> Option<&Front> {
        self.front.as_ref().ok()?.iter().find(|front| is(&front.kind))
    }

    /// The value behind an option of the program: `--timeout 5` or `--timeout=5`.
    #[must_use]
    pub fn option(&self, names: &[&str]) -> Option<Fact<String>> {
        self.words.iter().enumerate().find_map(|(at, word)| {
            let name = names.iter().find(|name| word.text.strip_prefix(**name).is_some_and(starts_value))?;
            let behind = &word.text[name.len()..];
            match behind.strip_prefix('=') {
                Some(value) => Some(Fact::written(*name, value.to_owned(), word.place)),
                None => self.words.get(at + 1).map(|next| Fact::written(*name, next.text.clone(), next.place)),
            }
        })
    }

    /// Where the program is named.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.program.place
    }
}

fn starts_value(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('=')
}
