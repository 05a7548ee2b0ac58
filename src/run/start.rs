//! Starting the server: finding it, giving it its environment, and saying why it could not be run.

use crate::cli::{self, Settings};
use crate::core::Pid;
use crate::sys::signals::{self, Mask};
use crate::sys::spawn::{self, Child};
use crate::{exit, sys};
use nix::errno::Errno;
use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Why the server could not be started.
pub(super) struct Failure {
    /// The status to exit with: see [`exit`].
    pub(super) code: u8,
    command: OsString,
    /// The file that was tried last, when there was one.
    path: Option<PathBuf>,
    error: io::Error,
}

/// The search path when there is none in the environment: glibc's own.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Runs a script that names no interpreter, as `execvp` and every shell do.
const SHELL: &str = "/bin/sh";

/// Starts the command of `settings`.
pub(super) fn server(settings: &Settings, mask: &Mask, own_pid: Pid) -> Result<Pid, Failure> {
    let name = settings.command.first().map_or(OsStr::new(""), OsString::as_os_str);
    let ignores_chld = signals::chld_was_ignored();
    if ignores_chld {
        signals::unignore_chld();
    }
    let environ = Environ::of(settings.keep_env, own_pid);
    let argv = settings.command.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>();
    let child = argv.map_err(io::Error::from).map(|argv| Child {
        argv,
        environ: environ.changed,
        mask,
        foreground: sys::process::owns_the_terminal(),
        listen_pid: environ.names_us,
        ignores_chld,
        streams: None,
    });
    launch(name, child)
}

/// Finds the program called `name` and runs it.
pub(super) fn launch(name: &OsStr, child: io::Result<Child<'_>>) -> Result<Pid, Failure> {
    let failure = |path: Option<PathBuf>, error: io::Error| Failure {
        code: exit::for_start_error(&error),
        command: name.to_owned(),
        path,
        error,
    };
    let mut child = child.map_err(|error| failure(None, error))?;
    let mut last = failure(None, Errno::ENOENT.into());
    for path in candidates(name) {
        let error = match try_to_run(&path, &mut child) {
            Ok(pid) => return Ok(pid),
            Err(error) => error,
        };
        match error.raw_os_error().map(Errno::from_raw) {
            // Elsewhere on the search path there may still be one. A file that was found but may
            // not be run is the better thing to tell of than one that was not found.
            Some(Errno::ENOENT | Errno::ENOTDIR) => {
                if last.path.is_none() && (path.exists() || name.as_bytes().contains(&b'/')) {
                    last = failure(Some(path), error);
                }
            }
            Some(Errno::EACCES) => last = failure(Some(path), error),
            _ => return Err(failure(Some(path), error)),
        }
    }
    Err(last)
}

/// The base name of the command, which is what a process is called until it says otherwise.
pub(super) fn base_name(settings: &Settings) -> String {
    let name = settings.command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether there is a program of that name to be run.
pub(super) fn is_there(name: &OsStr) -> bool {
    candidates(name).iter().any(|path| spawn::may_execute(path).is_ok() && !path.is_dir())
}

/// The files that a command name may stand for, in the order in which they are tried.
fn candidates(name: &OsStr) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(name)];
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    // An empty entry is the current directory.
    std::env::split_paths(&path)
        .map(|dir| if dir.as_os_str().is_empty() { Path::new(".").join(name) } else { dir.join(name) })
        .collect()
}

fn try_to_run(path: &Path, child: &mut Child<'_>) -> io::Result<Pid> {
    // Asking first is much cheaper than making a process for each entry of the search path.
    spawn::may_execute(path)?;
    match spawn::spawn(path, child) {
        Err(error) if error.raw_os_error() == Some(Errno::ENOEXEC as i32) => {
            let script = CString::new(path.as_os_str().as_bytes())?;
            let shell = CString::new(SHELL)?;
            let rest = child.argv.drain(..).skip(1).collect::<Vec<_>>();
            child.argv = [shell, script].into_iter().chain(rest).collect();
            spawn::spawn(Path::new(SHELL), child)
        }
        result => result,
    }
}

/// What the server's environment is made of.
struct Environ {
    /// The words, when they are not simply ours.
    changed: Option<Vec<CString>>,
    /// Whether `LISTEN_PID` names us, and is to name the server instead.
    names_us: bool,
}

// === impl Environ ===

impl Environ {
    fn of(keep_ours: bool, own_pid: Pid) -> Self {
        let names_us =
            std::env::var_os("LISTEN_PID").is_some_and(|pid| pid.as_bytes() == own_pid.to_string().as_bytes());
        let words = spawn::environ();
        let is_ours = |word: &CString| {
            let name = word.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
            cli::is_own_variable(name)
        };
        let changed = (!keep_ours && words.iter().any(is_ours))
            .then(|| words.into_iter().filter(|word| !is_ours(word)).collect());
        Self { changed, names_us }
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
            (Some(Errno::ENOENT), None) => f.write_str(": no such program in PATH"),
            (Some(Errno::ENOENT), Some(path)) if path.exists() => match interpreter(path) {
                Some(interpreter) => write!(f, ": its interpreter {} does not exist", interpreter.display()),
                None => f.write_str(": the program loader it was built for does not exist here (a glibc program in a musl image, or the other way round?)"),
            },
            (Some(Errno::ENOENT), Some(_)) => f.write_str(": no such file"),
            (Some(Errno::EACCES), Some(path)) if path.is_dir() => f.write_str(": permission denied: it is a directory"),
            (Some(Errno::EACCES), _) => f.write_str(": permission denied: is it executable, and its interpreter too?"),
            (Some(errno), _) => write!(f, ": {}", errno.desc()),
            (None, _) => write!(f, ": {}", self.error),
        }
    }
}

/// What a script names on its first line.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsString::from_vec(word.to_vec())))
}
