//! What a preStop hook takes, as far as that can be seen: the time it sleeps.

use crate::check::fact::Fact;
use crate::check::launch::script::{MOST, Scope, commands};
use crate::check::load::{Loading, seconds, text};
use crate::check::model::{Container, Variable};
use crate::check::source::Place;
use crate::check::tree::Node;
use std::time::Duration;

const NAME: &str = "preStop";

/// Commands that take no time worth counting.
const QUICK: [&str; 19] = [
    "echo", "printf", "true", ":", "date", "touch", "rm", "kill", "pkill", "killall", "set", "exec", "exit", "cd",
    "export", "sync", "wait", "trap", "tee",
];

/// Servers whose own program sends a signal to the one that runs, with this option.
const SIGNALLING: [(&str, &str); 4] = [("nginx", "-s"), ("openresty", "-s"), ("apachectl", "-k"), ("apache2ctl", "-k")];

/// Reads a hook into the container: how long it takes, and which program it runs.
pub(super) fn read(node: &Node, container: &mut Container, loading: &mut Loading<'_>) {
    if let Some(sleep) = node.get("sleep") {
        let asked = sleep.get("seconds").filter(|asked| !asked.is_null());
        container.pre_stop = asked.map_or_else(
            || Fact::default_of("Kubernetes", NAME, Duration::ZERO, Some(sleep.place)),
            |asked| loading.fact(asked, NAME, seconds),
        );
    } else if let Some(command) = node.at(&["exec", "command"]) {
        let words: Result<Vec<&str>, &str> = command.items().iter().map(|word| word.text().ok_or("")).collect();
        let Ok(words) = words else {
            loading.wrong.push((command.place, format!("{NAME}: a list of texts is wanted here")));
            return;
        };
        container.pre_stop_program = command.items().first().map(|word| loading.fact(word, "preStop.exec.command", text));
        // The place of the sleep itself, where it has one of its own.
        let at = command.items().iter().find(|word| word.text().is_some_and(|word| word.contains("sleep")));
        let place = match (at, command.items()) {
            (Some(_), [first, last]) if first.text().is_some_and(|first| first.ends_with("sleep")) => last.place,
            (Some(word), _) => word.place,
            (None, _) => command.anchor(),
        };
        container.pre_stop = match takes(&words, &container.environment, place) {
            Ok(time) => Fact::written(NAME, time, place),
            Err(why) => Fact::unknown(NAME, why, Some(place)),
        };
    } else {
        let what = node.entries().first().map_or("hook", |entry| entry.key.as_str());
        let why = format!("how long the preStop hook of {} takes: its {what} takes as long as it takes", container.name);
        container.pre_stop = Fact::unknown(NAME, why, Some(node.anchor()));
    }
}

/// The time that a command takes; unknown when there is more in it than sleeping and what is quick.
fn takes(words: &[&str], environment: &[Variable], place: Place) -> Result<Duration, String> {
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let (first, rest) = words.split_first().ok_or("what the preStop hook runs: its command is empty")?;
    if matches!(base(first).as_str(), "sh" | "bash" | "ash" | "dash" | "busybox") {
        let option = rest.iter().position(|word| word.starts_with('-') && word.contains('c'));
        if let Some(script) = option.and_then(|at| rest.get(at + 1)) {
            return script_takes(script, environment, place);
        }
    }
    command_takes(words)
}

/// The sleeps of a script together. A loop or a condition is beyond this.
fn script_takes(script: &str, environment: &[Variable], place: Place) -> Result<Duration, String> {
    if script.len() > MOST {
        return Err("how long the preStop hook takes: its script is longer than is read".to_owned());
    }
    let commands = commands(script);
    let mut scope = Scope::new(environment, place, &[]);
    scope.set(&commands);
    let mut total = Duration::ZERO;
    for command in &commands {
        if command.nested {
            return Err(unknown(command.text));
        }
        // Of a pipe all run at once; there is hardly one that sleeps.
        let runs = command.runs();
        let parts: Vec<&str> = if command.piped { runs.split('|').collect() } else { vec![runs] };
        for part in parts {
            let words = scope.words(part).words;
            let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            if !words.is_empty() {
                total += command_takes(&words)?;
            }
        }
        if command.exec().is_some() {
            break;
        }
    }
    Ok(total)
}

fn unknown(shown: &str) -> String {
    format!("how long the preStop hook takes: `{shown}` takes as long as it takes")
}

fn command_takes(words: &[&str]) -> Result<Duration, String> {
    let unknown = || unknown(&words.join(" "));
    let (first, rest) = words.split_first().ok_or_else(unknown)?;
    let name = first.rsplit('/').next().unwrap_or(first);
    if name == "exec" && !rest.is_empty() {
        return command_takes(rest);
    }
    if name != "sleep" {
        // A server that is started is none; one that is sent a signal is.
        let signals = SIGNALLING.iter().any(|(server, option)| *server == name && rest.contains(option));
        return if QUICK.contains(&name) || signals { Ok(Duration::ZERO) } else { Err(unknown()) };
    }
    let times: Option<Vec<Duration>> = rest.iter().map(|word| time(word)).collect();
    times.filter(|times| !times.is_empty()).map(|times| times.iter().sum()).ok_or_else(unknown)
}

/// A time as sleep(1) takes it: seconds unless a letter says otherwise.
fn time(text: &str) -> Option<Duration> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 's') => (text.get(..at)?, 1.0),
        (at, 'm') => (text.get(..at)?, 60.0),
        (at, 'h') => (text.get(..at)?, 3600.0),
        (at, 'd') => (text.get(..at)?, 86_400.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().filter(|_| number.starts_with(|c: char| c.is_ascii_digit() || c == '.'))?;
    Duration::try_from_secs_f64(seconds * unit).ok().filter(|time| *time <= crate::core::duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fact::Origin;
    use crate::check::source::{Source, Sources};

    fn taken(words: &[&str]) -> Result<Duration, String> {
        let file = Sources::default().add(Source::new("a".to_owned(), String::new()));
        let place = Place { file, start: 0, end: 0 };
        let time = Variable { name: "TIME".to_owned(), value: Ok("8".to_owned()), place, origin: Origin::Written };
        takes(words, &[time], place)
    }

    #[test]
    fn a_hook_takes_what_it_sleeps() {
        for (words, seconds) in [
            (&["sleep", "10"] as &[&str], 10.0),
            (&["/bin/sleep", "10s"], 10.0),
            (&["sleep", "1m", "30"], 90.0),
            (&["sleep", "0.5"], 0.5),
            (&["/bin/sh", "-c", "sleep 15"], 15.0),
            (&["bash", "-ec", "sleep 5; /usr/sbin/nginx -s quit"], 5.0),
            (&["sh", "-c", "echo going && sleep 20 && kill -QUIT 1"], 20.0),
            (&["sh", "-c", "exec sleep 7"], 7.0),
            (&["sh", "-c", "sleep 2\nsleep 3\n"], 5.0),
            (&["sh", "-c", "kill -QUIT 1"], 0.0),
            (&["sh", "-c", "sleep 15; exit 0"], 15.0),
            (&["sh", "-c", "sleep 15 # till all know; at least"], 15.0),
            (&["sh", "-c", "echo 'going; down' && sleep 4 2>/dev/null || true"], 4.0),
            (&["sh", "-c", "sleep \"$TIME\" && kill -QUIT $(pidof nginx)"], 8.0),
            (&["sh", "-c", "N=3; sleep $N ${NONE:-4}"], 7.0),
            (&["sh", "-c", "apachectl -k graceful-stop; sleep 1"], 1.0),
            (&["sh", "-c", "echo 'a | b'; echo down | tee /log; exec sleep 2; /never"], 2.0),
        ] {
            assert_eq!(taken(words).map(|time| time.as_secs_f64()), Ok(seconds), "{words:?}");
        }
    }

    #[test]
    fn what_does_more_than_sleep_takes_nobody_knows_how_long() {
        for words in [
            &["/wait-shutdown"] as &[&str],
            &["sh", "-c", "sleep 15; /drain"],
            &["sh", "-c", "while pgrep nginx; do sleep 1; done"],
            &["sh", "-c", "sleep $DELAY"],
            &["sleep", "infinity"],
            &["sleep", "-1"],
            &["sleep"],
            &["sh", "-c", "nginx"],
            &["sh", "-c", "if a; then sleep 1; fi"],
            &["sh", "-c", "sleep $(cat time)"],
            &["sh", "script.sh"],
            &[],
        ] {
            assert!(taken(words).is_err(), "{words:?}");
        }
    }
}
