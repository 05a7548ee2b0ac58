//! In the place of tini, dumb-init and catatonit: the same table of situations for the originals, as
//! Debian ships them, and for lameduck under their names.
//!
//! Each situation is watched from outside and comes to a few facts, each with a name: exit status,
//! signals that arrived, groups and sessions, who wrote to which stream. All facts have to be equal,
//! but for those in [`differences`], which says what each side does and why; a difference that is
//! not there any more fails as well.

mod command_line;
mod differences;
mod docker;
mod ends;
mod engine;
mod place;
mod podman;
mod signals;
mod stop;
mod terminal;

use crate::support::files::{TempDir, tempdir};
use crate::support::{Init, PATH, Running, init, procfs};
use differences::DIFFERENCES;
use nix::libc;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

/// The facts of one situation, by name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen(BTreeMap<&'static str, String>);

/// How a situation is watched.
enum Watch {
    /// As process 1 of a namespace, or however the function changes that.
    Init(fn(Init) -> Seen),
    /// As an ordinary process: the words are those of the program and its options.
    Words(fn(&[OsString]) -> Seen),
}

/// One row of the table.
struct Situation {
    name: &'static str,
    /// The options for tini, dumb-init and catatonit; `None` where it does not apply.
    options: [Option<&'static str>; 3],
    environ: &'static [(&'static str, &'static str)],
    watch: Watch,
}

/// An original, and the place of its options in a row.
const PROGRAMS: [(&str, usize); 4] = [("tini", 0), ("tini-static", 0), ("dumb-init", 1), ("catatonit", 2)];

/// The same options for all.
const fn all(options: &'static str) -> [Option<&'static str>; 3] {
    [Some(options); 3]
}

const fn tini(options: &'static str) -> [Option<&'static str>; 3] {
    [Some(options), None, None]
}

const fn dumb_init(options: &'static str) -> [Option<&'static str>; 3] {
    [None, Some(options), None]
}

const fn catatonit(options: &'static str) -> [Option<&'static str>; 3] {
    [None, None, Some(options)]
}

fn situation(name: &'static str, options: [Option<&'static str>; 3], watch: fn(Init) -> Seen) -> Situation {
    Situation { name, options, environ: &[], watch: Watch::Init(watch) }
}

fn of_words(name: &'static str, options: [Option<&'static str>; 3], watch: fn(&[OsString]) -> Seen) -> Situation {
    Situation { name, options, environ: &[], watch: Watch::Words(watch) }
}

/// lameduck under all names, in a directory of its own.
struct StandIns(TempDir);

/// Runs situations with both programs and fails with all that differs and may not.
#[track_caller]
fn compare(situations: &[Situation]) {
    let stand_ins = StandIns::new();
    let mut complaints = String::new();
    let mut compared = 0;
    for situation in situations {
        for (program, place) in PROGRAMS {
            let Some(options) = situation.options[place] else { continue };
            let original = situation.see(&format!("/usr/bin/{program}"), options);
            let ours = situation.see(&stand_ins.path(program), options);
            compared += 1;
            judge(program, situation.name, &original, &ours, &mut complaints);
        }
    }
    assert!(compared > 0 && complaints.is_empty(), "{compared} compared\n{complaints}");
}

fn judge(program: &str, situation: &str, original: &Seen, ours: &Seen, complaints: &mut String) {
    let of_it = |listed: &&differences::Difference| listed.is_of(program) && listed.situations.contains(&situation);
    let listed = || DIFFERENCES.iter().filter(of_it).flat_map(|listed| listed.facts);
    // Those that are listed too: one that is not seen by anybody is none.
    let keys = original.0.keys().chain(ours.0.keys()).chain(listed().map(|(fact, ..)| fact));
    let keys = keys.collect::<std::collections::BTreeSet<_>>();
    for key in keys {
        let fact = |seen: &Seen| seen.0.get(key).cloned().unwrap_or_else(|| "(no such fact)".to_owned());
        let (theirs, ours) = (fact(original), fact(ours));
        let listed = DIFFERENCES
            .iter()
            .filter(of_it)
            .find_map(|listed| Some((listed.facts.iter().find(|(fact, ..)| fact == key)?, listed.why)));
        let as_expected = match listed {
            Some(((_, theirs_listed, ours_listed), _)) => (*theirs_listed, *ours_listed) == (&*theirs, &*ours),
            None => theirs == ours,
        };
        if !as_expected {
            let why = listed.map_or(String::new(), |((_, theirs, ours), why)| {
                format!(" (listed: {theirs:?}, lameduck {ours:?}: {why})")
            });
            let _ = writeln!(complaints, "{program}: {situation}: {key}: {theirs:?}, lameduck {ours:?}{why}");
        }
    }
}

/// Whether a stream was used, where the words are each program's own.
fn speaks(text: &str) -> &'static str {
    if text.is_empty() { "silent" } else { "speaks" }
}

/// Whether it ends, or has done all that it will do and waits.
fn settles(run: &mut Running) -> String {
    let mut since: Option<Instant> = None;
    loop {
        if run.ended() {
            return format!("ends with {}", run.wait_exit());
        }
        let waits = |pid: i32| matches!(procfs::state(pid), Some('S' | 'T' | 't'));
        let all_wait = waits(run.pid) && procfs::descendants(run.pid).into_iter().all(waits);
        if !all_wait || procfs::holds(run.pid, "ShdPnd", libc::SIGTERM) {
            since = None;
        } else if since.get_or_insert_with(Instant::now).elapsed() > Duration::from_millis(300) {
            return "stays".to_owned();
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Leaves a test that needs an original which is not installed.
macro_rules! needs_originals {
    () => {
        needs!("tini", "tini-static", "dumb-init", "catatonit", "setpriv", "env");
    };
}
use needs_originals;

// === impl Seen ===

impl Seen {
    fn with(mut self, fact: &'static str, value: impl Display) -> Self {
        self.0.insert(fact, value.to_string());
        self
    }
}

// === impl Situation ===

impl Situation {
    fn environ(self, environ: &'static [(&'static str, &'static str)]) -> Self {
        Self { environ, ..self }
    }

    fn see(&self, path: &str, options: &str) -> Seen {
        let options = options.split(' ').filter(|word| !word.is_empty());
        match self.watch {
            Watch::Init(watch) => {
                let init = Init::new().program(path).flags(options);
                watch(self.environ.iter().fold(init, |init, (name, value)| init.env(name, value)))
            }
            Watch::Words(watch) => {
                let mut words: Vec<OsString> =
                    vec!["/usr/bin/env".into(), "-i".into(), "--default-signal".into(), format!("PATH={PATH}").into()];
                words.extend(self.environ.iter().map(|(name, value)| format!("{name}={value}").into()));
                words.push(path.into());
                words.extend(options.map(OsString::from));
                watch(&words)
            }
        }
    }
}

// === impl StandIns ===

impl StandIns {
    fn new() -> Self {
        let dir = tempdir();
        for name in PROGRAMS.map(|(name, _)| name).into_iter().chain(["docker-init", "podman-init"]) {
            symlink(Path::new(&init::binary()), dir.path.join(name)).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.path.join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn the_table_has_no_situation_twice_and_every_difference_is_of_one() {
    let situations: Vec<Situation> =
        [command_line::table(), ends::table(), place::table(), signals::table(), terminal::table()]
            .into_iter()
            .flatten()
            .collect();
    for (program, place) in PROGRAMS {
        let count = situations.iter().filter(|situation| situation.options[place].is_some()).count();
        assert!(count >= 60, "only {count} situations for {program}");
    }
    for (at, situation) in situations.iter().enumerate() {
        assert!(situations[..at].iter().all(|other| other.name != situation.name), "twice: {}", situation.name);
    }
    for listed in DIFFERENCES {
        for name in listed.situations {
            let watched = |place: usize| {
                situations.iter().any(|situation| situation.name == *name && situation.options[place].is_some())
            };
            let (_, place) = PROGRAMS.into_iter().find(|(program, _)| listed.is_of(program)).expect(listed.program);
            assert!(watched(place), "{}: no {name:?}", listed.program);
        }
        assert!(listed.facts.iter().all(|(_, theirs, ours)| theirs != ours) && !listed.why.is_empty());
    }
}
