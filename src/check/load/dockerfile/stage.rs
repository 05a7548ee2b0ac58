//! One stage of a Dockerfile, instruction by instruction.

use super::{Reader, TOO_MUCH, pairs};
use crate::check::expand::{Dialect, Value, expand};
use crate::check::fact::{Fact, Origin};
use crate::check::load::image_config::{INTERVAL, RETRIES, TIMEOUT};
use crate::check::load::{Loading, go_duration};
use crate::check::model::{Asks, Container, Probe, Variable, Word, Words};
use crate::check::source::Place;
use crate::core::Signal;
use parse_dockerfile::{ArgInstruction, Command, HealthcheckArguments, HealthcheckInstruction, Instruction};
use std::collections::HashMap;
use std::time::Duration;

/// What a `$` can mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// The arguments with their defaults, which may be overridden when the image is built; `None` = without
    /// one, so that nobody knows it.
    args: HashMap<String, Option<String>>,
    /// Which variable of the environment was the last to set a name.
    latest: HashMap<String, usize>,
}

/// A stage.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) name: Option<String>,
    /// The image that the first of its stages begins with.
    pub(super) base: Option<Fact<String>>,
    /// What it runs so far.
    pub(super) container: Container,
    scope: Scope,
    shell: Vec<String>,
    /// Whether the command was set in this very stage.
    own_command: bool,
}

/// What Docker knows by itself, and nobody here.
const BY_ITSELF: [&str; 8] = [
    "TARGETPLATFORM", "TARGETOS", "TARGETARCH", "TARGETVARIANT", "BUILDPLATFORM", "BUILDOS", "BUILDARCH", "BUILDVARIANT",
];

// === impl Scope ===

impl Scope {
    /// Takes the arguments that an `ARG` declares. One without a default has that of `outside`: it is
    /// declared before the first stage, and again in this one.
    pub(super) fn declare(
        &mut self,
        reader: &Reader<'_>,
        arg: &ArgInstruction<'_>,
        outside: &Self,
        environment: &[Variable],
    ) {
        for pair in pairs::read(reader.text, arg.arguments.span.clone(), reader.escape, false) {
            let value = match pair.value {
                Some(value) => self.text(&value, environment).ok().map(|(text, _)| text),
                None => outside.args.get(&pair.name).cloned().flatten(),
            };
            self.args.insert(pair.name, value.filter(|value| reader.spend(value.len())));
        }
    }

    /// A text with its variables put in.
    pub(super) fn text(&self, text: &str, environment: &[Variable]) -> Result<(String, Origin), String> {
        let lookup = |name: &str| {
            if let Some(variable) = self.latest.get(name).and_then(|at| environment.get(*at)) {
                return match &variable.value {
                    Ok(value) => Value::Known(value.clone(), variable.origin != Origin::Written),
                    Err(_) => Value::Open,
                };
            }
            match self.args.get(name) {
                Some(Some(value)) => Value::Known(value.clone(), true),
                Some(None) => Value::Open,
                None if BY_ITSELF.contains(&name) => Value::Open,
                None => Value::Empty,
            }
        };
        let expanded = expand(text, Dialect::Dockerfile, &lookup)?;
        Ok((expanded.text, expanded.origin))
    }
}

// === impl Stage ===

impl Stage {
    pub(super) fn new(container: Container, name: Option<String>, base: Option<Fact<String>>) -> Self {
        let shell = vec!["/bin/sh".to_owned(), "-c".to_owned()];
        Self { name, base, container, scope: Scope::default(), shell, own_command: false }
    }

    /// One that begins with what this one ended with.
    pub(super) fn inherited(&self, name: Option<String>, place: Place) -> Self {
        Self {
            name,
            base: self.base.clone(),
            container: Container { place, ..self.container.clone() },
            // Arguments do not reach over.
            scope: Scope { latest: self.scope.latest.clone(), ..Scope::default() },
            shell: self.shell.clone(),
            own_command: false,
        }
    }

    /// How many bytes a stage on top of this one would have from it.
    pub(super) fn weight(&self) -> usize {
        let weigh = |variable: &Variable| size_of::<Variable>() + variable.value.as_ref().map_or(0, String::len);
        self.container.environment.iter().map(weigh).sum()
    }

    pub(super) fn take(
        &mut self,
        reader: &Reader<'_>,
        instruction: &Instruction<'_>,
        outside: &Scope,
        loading: &mut Loading<'_>,
    ) {
        match instruction {
            Instruction::Arg(arg) => self.scope.declare(reader, arg, outside, &self.container.environment),
            Instruction::Env(env) => {
                let pairs = pairs::read(reader.text, env.arguments.span.clone(), reader.escape, true);
                let read = |pair: pairs::Pair| {
                    // In one ENV all see what was before it.
                    let value = self.text(&pair.value.unwrap_or_default());
                    let (value, origin) = match value {
                        Ok((text, _)) if !reader.spend(text.len()) => (Err(TOO_MUCH.to_owned()), Origin::Written),
                        Ok((text, origin)) => (Ok(text), origin),
                        Err(why) => (Err(why), Origin::Written),
                    };
                    Variable { name: pair.name, value, place: reader.place(pair.range), origin }
                };
                let variables: Vec<Variable> = pairs.into_iter().map(read).collect();
                for variable in variables {
                    self.scope.latest.insert(variable.name.clone(), self.container.environment.len());
                    self.container.environment.push(variable);
                }
            }
            Instruction::Entrypoint(entrypoint) => {
                self.container.entrypoint = Some(self.words(reader, &entrypoint.arguments));
                // Whoever sets the entry point takes away a command that is not its own.
                if !self.own_command {
                    let place = reader.place(entrypoint.entrypoint.span.clone());
                    self.container.command = Some(Words { words: Ok(Vec::new()), place });
                }
            }
            Instruction::Cmd(cmd) => {
                self.container.command = Some(self.words(reader, &cmd.arguments));
                self.own_command = true;
            }
            Instruction::Shell(shell) => {
                self.shell = shell.arguments.iter().map(|word| word.value.to_string()).collect();
            }
            Instruction::Stopsignal(signal) => {
                let place = reader.place(signal.arguments.span.clone());
                let unknown = |why: String| Fact::unknown("STOPSIGNAL", why, Some(place));
                self.container.stop_signal = match self.text(&signal.arguments.value) {
                    Err(why) => unknown(format!("STOPSIGNAL: {why}")),
                    Ok((text, origin)) => Signal::parse(&text).map_or_else(
                        |_| {
                            loading.wrong.push((place, format!("STOPSIGNAL: no signal is called {text:?}")));
                            unknown("a STOPSIGNAL that is one".to_owned())
                        },
                        |signal| Fact { origin, ..Fact::written("STOPSIGNAL", signal, place) },
                    ),
                };
            }
            Instruction::Healthcheck(check) => self.check(reader, check, loading),
            _ => {}
        }
    }

    /// Everything was read. Built from `scratch`, it has nothing that is not said here.
    pub(super) fn finish(mut self, bare: bool) -> Container {
        self.container.base = self.base;
        if bare {
            let place = self.container.place;
            let nothing = || Words { words: Ok(Vec::new()), place };
            self.container.entrypoint.get_or_insert_with(nothing);
            self.container.command.get_or_insert_with(nothing);
        }
        self.container
    }

    fn text(&self, written: &str) -> Result<(String, Origin), String> {
        self.scope.text(written, &self.container.environment)
    }

    fn words(&self, reader: &Reader<'_>, command: &Command<'_>) -> Words {
        let (words, span) = match command {
            Command::Exec(exec) => {
                let word = |word: &parse_dockerfile::UnescapedString<'_>| Word {
                    text: word.value.to_string(),
                    place: reader.place(word.span.clone()),
                };
                (exec.value.iter().map(word).collect(), exec.span.clone())
            }
            Command::Shell(shell) => {
                let place = reader.place(shell.span.clone());
                let script = pairs::without_line_ends(shell.value, reader.escape);
                let words = self.shell.iter().cloned().chain([script]);
                (words.map(|text| Word { text, place }).collect(), shell.span.clone())
            }
            _ => (Vec::new(), 0..0),
        };
        Words { words: Ok(words), place: reader.place(span) }
    }

    fn check(&mut self, reader: &Reader<'_>, check: &HealthcheckInstruction<'_>, loading: &mut Loading<'_>) {
        let HealthcheckArguments::Cmd { arguments, .. } = &check.arguments else {
            self.container.liveness = None;
            self.container.image_check = false;
            return;
        };
        let place = reader.place(check.healthcheck.span.clone());
        let words = self.words(reader, arguments);
        let is_shell = matches!(arguments, Command::Shell(_));
        let skip = if is_shell { self.shell.len() } else { 0 };
        let command =
            words.words.map(|words| words.iter().skip(skip).map(|word| word.text.clone()).collect::<Vec<_>>().join(" "));
        let mut time = |name: &str, default: Duration| {
            let value = check.options.iter().rev().find(|flag| flag.name.value == name).and_then(|flag| flag.value.as_ref());
            let shown = format!("--{name}");
            let Some(value) = value else { return Fact::default_of("Docker", shown, default, Some(place)) };
            let at = reader.place(value.span.clone());
            match go_duration(&value.value) {
                // Docker takes 0 for the default.
                Ok(Duration::ZERO) => Fact::default_of("Docker", shown, default, Some(at)),
                Ok(time) => Fact::written(shown, time, at),
                Err(why) => {
                    loading.wrong.push((at, format!("{shown}: {why}")));
                    Fact::unknown(shown, format!("--{name} of HEALTHCHECK cannot be read"), Some(at))
                }
            }
        };
        let (interval, timeout) = (time("interval", INTERVAL), time("timeout", TIMEOUT));
        let retries = check.options.iter().rev().find(|flag| flag.name.value == "retries");
        let retries = retries.and_then(|flag| flag.value.as_ref()).map(|value| {
            let at = reader.place(value.span.clone());
            match value.value.parse() {
                Ok(0) => Fact::default_of("Docker", "--retries", RETRIES, Some(at)),
                Ok(count) => Fact::written("--retries", count, at),
                Err(_) => {
                    loading.wrong.push((at, format!("--retries: a whole number is wanted, not {:?}", value.value)));
                    Fact::unknown("--retries", "--retries of HEALTHCHECK cannot be read", Some(at))
                }
            }
        });
        self.container.image_check = true;
        self.container.liveness = Some(Probe {
            name: "HEALTHCHECK",
            place,
            interval,
            timeout,
            failures: retries.unwrap_or_else(|| Fact::default_of("Docker", "--retries", RETRIES, Some(place))),
            asks: Asks::Command(Fact { value: command, ..Fact::written("HEALTHCHECK", String::new(), words.place) }),
        });
    }
}
