//! Where a lameduck tells of its server, and what it says there.

use super::Verdict;
use super::client::{self, Deadline};
use crate::cli::{Ask, Sources};
use crate::http::{Listen, Place};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The health port.
    Health(Listen),
    /// A file that exists while the server is ready.
    ReadyFile(PathBuf),
    /// The state as JSON.
    StateFile(PathBuf),
    /// A file that exists while the server is stopping.
    DrainFile(PathBuf),
}

/// All places that are known, those first that say most.
pub(super) struct All(Vec<Source>);

/// The places of which the flags of `ask` tell, then the flags of PID 1, then the environment: as a
/// flag beats its variable. (The environment of PID 1 is hidden from other users; ours is the same
/// where a container engine started us.)
pub(super) fn all(ask: &Ask) -> All {
    let process_one = Sources::of(&words_of_process_one(), &[]).unwrap_or_default();
    let mut all = Vec::new();
    for sources in [&ask.flags, &process_one, &ask.environ] {
        for source in Source::of(sources) {
            if !all.contains(&source) {
                all.push(source);
            }
        }
    }
    All(all)
}

/// The words PID 1 was started with, without its own name; none when they are not to be seen.
fn words_of_process_one() -> Vec<OsString> {
    let bytes = fs::read("/proc/1/cmdline").unwrap_or_default();
    let words = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
    words.skip(1).map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

// === impl All ===

impl All {
    /// Asks one after the other until one can tell.
    pub(super) fn ready(&self, deadline: &Deadline) -> Verdict {
        let mut reasons = Vec::new();
        for source in &self.0 {
            match source.ready(deadline) {
                Verdict::CannotTell(why) => reasons.push(why),
                verdict => return verdict,
            }
        }
        Verdict::CannotTell(Self::why(&reasons))
    }

    /// The state as JSON, from the first that has it.
    pub(super) fn status(&self, deadline: &Deadline) -> Result<String, String> {
        let mut reasons = Vec::new();
        for source in &self.0 {
            match source.status(deadline) {
                Some(Ok(state)) => return Ok(state),
                Some(Err(why)) => reasons.push(why),
                None => {}
            }
        }
        Err(Self::why(&reasons))
    }

    fn why(reasons: &[String]) -> String {
        if reasons.is_empty() {
            "nothing is known to ask, here or on the command line of PID 1: set LAMEDUCK_HEALTH_LISTEN".to_owned()
        } else {
            reasons.join("; ")
        }
    }
}

// === impl Source ===

impl Source {
    fn of(sources: &Sources) -> Vec<Self> {
        let Sources { health, ready_file, state_file, drain_file } = sources.clone();
        let files = [ready_file.map(Self::ReadyFile), state_file.map(Self::StateFile), drain_file.map(Self::DrainFile)];
        health.map(Self::Health).into_iter().chain(files.into_iter().flatten()).collect()
    }

    /// Whether the server is ready.
    pub(super) fn ready(&self, deadline: &Deadline) -> Verdict {
        match self {
            Self::Health(listen) => {
                let place = place(*listen);
                let url = format!("http://{}/readyz", place.authority);
                match client::get(&place, "/readyz", deadline) {
                    Ok(answer) if answer.code == 200 => Verdict::Ready(format!("{url} says so")),
                    Ok(answer) if answer.code == 503 => {
                        let said = answer.body.trim();
                        Verdict::NotReady(format!("{} ({url})", said.strip_prefix("not ready: ").unwrap_or(said)))
                    }
                    Ok(answer) => Verdict::CannotTell(format!("{url} answers {}: another server's?", answer.code)),
                    Err(error) => Verdict::CannotTell(format!("{url}: {error}")),
                }
            }
            Self::ReadyFile(path) => match path.try_exists() {
                Ok(true) => Verdict::Ready(format!("{} exists", path.display())),
                Ok(false) => Verdict::NotReady(format!("{} does not exist", path.display())),
                Err(error) => Verdict::CannotTell(format!("{}: {error}", path.display())),
            },
            Self::StateFile(path) => match read(path) {
                Ok(state) => match ready_in(&state) {
                    Some(true) => Verdict::Ready(format!("{} says so", path.display())),
                    Some(false) => Verdict::NotReady(format!("{} says so", path.display())),
                    None => Verdict::CannotTell(format!("{} holds no state", path.display())),
                },
                Err(error) => Verdict::CannotTell(format!("{}: {error}", path.display())),
            },
            Self::DrainFile(path) => match path.try_exists() {
                Ok(true) => Verdict::NotReady(format!("{} exists", path.display())),
                Ok(false) => Verdict::Ready(format!("{} does not exist", path.display())),
                Err(error) => Verdict::CannotTell(format!("{}: {error}", path.display())),
            },
        }
    }

    /// The state as JSON; `None` where there is none.
    fn status(&self, deadline: &Deadline) -> Option<Result<String, String>> {
        match self {
            Self::Health(listen) => {
                let place = place(*listen);
                let url = format!("http://{}/status", place.authority);
                Some(match client::get(&place, "/status", deadline) {
                    Ok(answer) if answer.code == 200 && ready_in(&answer.body).is_some() => Ok(answer.body),
                    Ok(answer) => Err(format!("{url} answers {}: another server's?", answer.code)),
                    Err(error) => Err(format!("{url}: {error}")),
                })
            }
            Self::StateFile(path) => Some(match read(path) {
                Ok(state) if ready_in(&state).is_some() => Ok(state),
                Ok(_) => Err(format!("{} holds no state", path.display())),
                Err(error) => Err(format!("{}: {error}", path.display())),
            }),
            Self::ReadyFile(_) | Self::DrainFile(_) => None,
        }
    }
}

fn place(listen: Listen) -> Place {
    let addresses = listen.to_ask();
    let authority = addresses.first().map_or_else(String::new, ToString::to_string);
    Place { addresses, authority }
}

/// A state is far shorter; a file that is not one may have no end.
const MOST_READ: u64 = 64 * 1024;

fn read(path: &std::path::Path) -> io::Result<String> {
    let mut text = String::new();
    // A pipe that nobody writes to would keep us for ever.
    let file = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    file.take(MOST_READ).read_to_string(&mut text)?;
    Ok(text)
}

/// What a state says of readiness. It is JSON as [`crate::core::State`] writes it, without blanks.
pub(super) fn ready_in(state: &str) -> Option<bool> {
    let (_, value) = state.split_once("\"ready\":")?;
    match value {
        _ if value.starts_with("true") => Some(true),
        _ if value.starts_with("false") => Some(false),
        _ => None,
    }
}
