//! Starting the server: finding it, giving it its environment, and saying why it could not be run.

use super::say::Reason;
use crate::cli::{self, Settings};
use crate::core::{Pid, Place};
use crate::exit::StartErrors;
use crate::sys;
use crate::sys::signals::{self, Mask};
use crate::sys::spawn::{self, Ignores, World};
use nix::errno::Errno;
use std::ffi::{CStr, CString, NulError, OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Why the server could not be started.
pub(super) struct Failure {
    /// The status to exit with.
    pub(super) code: u8,
    command: OsString,
    /// The file that was tried last, when there was one.
    path: Option<PathBuf>,
    error: io::Error,
}

/// A path is shorter than this.
const LONGEST_PATH: usize = nix::libc::PATH_MAX as usize;

/// The search path when there is none in the environment: glibc's own.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Starts the command of `settings`.
pub(super) fn server(settings: &Settings, mask: &Mask, own_pid: Pid) -> Result<Pid, Failure> {
    let environ = Environ::of(settings.keep_env, own_pid);
    let no_mask = Mask::none();
    let place = settings.policy.place;
    if place == Place::OwnSession {
        sys::terminal::give_up();
    }
    let world = World {
        environ: &environ.words,
        mask: if settings.clean_signals { &no_mask } else { mask },
        place,
        foreground: true,
        listen_pid: environ.names_us,
        ignores: match signals::unignore_chld() {
            _ if settings.clean_signals => Ignores::Nothing,
            true => Ignores::ChldToo,
            false => Ignores::WhatWeDo,
        },
        streams: None,
    };
    launch(&settings.command, &world, settings.start_errors)
}

/// Finds the program that the first of `words` names and runs it with them. `statuses` are those by
/// which it is told that there was none to run.
pub(super) fn launch(words: &[impl AsRef<OsStr>], world: &World<'_>, statuses: StartErrors) -> Result<Pid, Failure> {
    let name = words.first().map_or(OsStr::new(""), AsRef::as_ref);
    let failure = |path: Option<&CString>, error: io::Error| Failure {
        code: statuses.status(&error),
        command: name.to_owned(),
        path: path.map(|path| PathBuf::from(OsStr::from_bytes(path.as_bytes()))),
        error,
    };
    let argv = words.iter().map(|word| CString::new(word.as_ref().as_bytes())).collect::<Result<Vec<_>, _>>();
    let (argv, files) = match (argv, candidates(name)) {
        (Ok(argv), Ok(files)) => (argv, files),
        (Err(error), _) | (_, Err(error)) => return Err(failure(None, error.into())),
    };
    let errors = match spawn::spawn(&files, &argv, world) {
        Ok(pid) => return Ok(pid),
        Err(spawn::Error::NoProcess(error)) => {
            return Err(Failure { code: statuses.own, ..failure(None, error) });
        }
        Err(spawn::Error::NoProgram(errors)) => errors,
    };
    let mut last = failure(None, Errno::ENOENT.into());
    for (path, error) in files.iter().zip(errors) {
        let exists = || Path::new(OsStr::from_bytes(path.as_bytes())).exists();
        match error {
            // A file that was found but may not be run is the better thing to tell of than one that
            // was not found.
            Errno::ENOENT | Errno::ENOTDIR => {
                if last.path.is_none() && (exists() || name.as_bytes().contains(&b'/')) {
                    last = failure(Some(path), error.into());
                }
            }
            _ => last = failure(Some(path), error.into()),
        }
    }
    Err(last)
}

/// The base name of the command, which is what a process is called until it says otherwise.
pub(super) fn base_name(settings: &Settings) -> String {
    let name = settings.command.first().map_or(&[][..], |name| name.as_bytes());
    String::from_utf8_lossy(name.rsplit(|byte| *byte == b'/').next().unwrap_or_default()).into_owned()
}

/// Whether there is a program of that name to be run.
pub(super) fn is_there(name: &OsStr) -> bool {
    let may_run = |path: &CString| spawn::may_execute(path) && !Path::new(OsStr::from_bytes(path.as_bytes())).is_dir();
    candidates(name).is_ok_and(|files| files.iter().any(may_run))
}

/// The files that a command name may stand for, in the order in which they are tried.
fn candidates(name: &OsStr) -> Result<Vec<CString>, NulError> {
    let name = name.as_bytes();
    if name.is_empty() {
        return Ok(Vec::new());
    }
    if name.contains(&b'/') {
        return Ok(vec![CString::new(name)?]);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let dirs = path.as_bytes().split(|byte| *byte == b':');
    // An empty entry is the current directory; one that is too long for a path leads nowhere.
    dirs.map(|dir| [if dir.is_empty() { b"." } else { dir }, name].join(&b'/'))
        .filter(|path| path.len() < LONGEST_PATH || name.len() >= LONGEST_PATH)
        .map(CString::new)
        .collect()
}

/// What the server's environment is made of.
struct Environ {
    /// Our own, less what is meant for us.
    words: Vec<&'static CStr>,
    /// The word of it that names us, and is to name the server instead.
    names_us: Option<usize>,
}

/// The name of a variable; all of a word that has no `=`.
pub(super) fn name_of(word: &CStr) -> &[u8] {
    word.to_bytes().split(|byte| *byte == b'=').next().unwrap_or_default()
}

// === impl Environ ===

impl Environ {
    fn of(keep_ours: bool, own_pid: Pid) -> Self {
        let words = sys::args::environ().filter(|word| keep_ours || !cli::is_own_variable(name_of(word)));
        let words: Vec<_> = words.collect();
        let (at, word) = words.iter().enumerate().find(|(_, word)| name_of(word) == b"LISTEN_PID").unzip();
        let names_us =
            at.filter(|_| word.is_some_and(|word| word.to_bytes() == format!("LISTEN_PID={own_pid}").as_bytes()));
        Self { words, names_us }
    }
}

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot run {:?}", self.command.to_string_lossy())?;
        if let Some(path) = self.path.as_ref().filter(|path| path.as_os_str() != self.command) {
            write!(f, " ({})", path.display())?;
        }
        let errno = self.error.raw_os_error().map(Errno::from_raw);
        match (errno, &self.path) {
            (Some(Errno::ENOENT), None) if self.command.is_empty() => f.write_str(": the name is empty"),
            (Some(Errno::ENOENT), _) if self.command.as_bytes().contains(&b' ') && !self.exists() => {
                f.write_str(": no such program; it is one word: each argument has to be a word of its own")
            }
            (Some(Errno::ENOENT), None) => f.write_str(": no such program in PATH"),
            (Some(Errno::ENOENT), Some(path)) if path.exists() => match interpreter(path) {
                Some(interpreter) => write!(f, ": its interpreter {} does not exist", interpreter.display()),
                None => f.write_str(": the program loader it was built for does not exist here (a glibc program in a musl image, or the other way round?)"),
            },
            (Some(Errno::ENOENT), Some(_)) => f.write_str(": no such file"),
            (Some(Errno::EAGAIN), _) => f.write_str(
                ": no process can be made: a limit is reached (the container's pids limit, or ulimit -u of its user)",
            ),
            (Some(Errno::ENOMEM), _) => f.write_str(": no process can be made: there is no memory for one"),
            (Some(Errno::EACCES), Some(path)) if fs::metadata(path).is_err() => f.write_str(
                ": permission denied: this user may not search a directory above it, and cannot know whether it is there",
            ),
            (Some(Errno::EACCES), Some(path)) if path.is_dir() => f.write_str(": permission denied: it is a directory"),
            (Some(Errno::EACCES), _) => f.write_str(": permission denied: is it executable, and its interpreter too?"),
            _ => write!(f, ": {}", Reason(&self.error)),
        }
    }
}

impl Failure {
    /// Whether the file is there, so that something about it is missing.
    fn exists(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.exists())
    }
}

/// What a script names on its first line.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsString::from_vec(word.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str, path: Option<&str>, error: Errno) -> String {
        let path = path.map(PathBuf::from);
        Failure { code: 0, command: command.into(), path, error: error.into() }.to_string()
    }

    #[test]
    fn a_program_that_cannot_be_started_is_told_with_what_to_look_at() {
        for (told, expected) in [
            (told("nginx", None, Errno::ENOENT), "\"nginx\": no such program in PATH"),
            (told("", None, Errno::ENOENT), "\"\": the name is empty"),
            (told("nginx -g x", None, Errno::ENOENT), "it is one word: each argument has to be a word of its own"),
            (told("/bin/nginx -g x", Some("/bin/nginx -g x"), Errno::ENOENT), "it is one word"),
            (told("nginx", Some("/bin/nginx"), Errno::EAGAIN), "(/bin/nginx): no process can be made: a limit"),
            (told("/bin/nginx", Some("/bin/nginx"), Errno::ENOMEM), "\"/bin/nginx\": no process can be made"),
            (told("/", Some("/"), Errno::EACCES), "it is a directory"),
            (told("/no/where", Some("/no/where"), Errno::ENOENT), ": no such file"),
        ] {
            assert!(told.contains(expected), "{told}");
        }
    }
}
