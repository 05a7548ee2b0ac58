//! What to start, and where: a builder.

use super::files::TempDir;
use super::running::Running;
use super::tap::Tap;
use super::{PATH, fixtures, world};
use nix::pty::openpty;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where one of the three streams goes.
pub(crate) enum Stream {
    /// A pipe that the test reads.
    Pipe,
    /// Closed.
    Closed,
    /// This.
    To(OwnedFd),
}

/// A `lameduck` to be started.
pub(crate) struct Init {
    through: Vec<OsString>,
    program: Vec<OsString>,
    flags: Vec<OsString>,
    command: Vec<OsString>,
    environ: Vec<OsString>,
    stdout: Stream,
    stderr: Stream,
    more: Vec<OwnedFd>,
    terminal: bool,
    pid_one: bool,
    files: Vec<TempDir>,
}

/// The binary under test.
pub(crate) fn binary() -> OsString {
    let given = std::env::var_os("LAMEDUCK_TEST_BIN").and_then(|path| std::fs::canonicalize(path).ok());
    given.map_or_else(|| env!("CARGO_BIN_EXE_lameduck").into(), Into::into)
}

/// The static binary that is shipped, if there is one and it is of these sources.
pub(crate) fn shipped() -> Option<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = top.join("target/dist/lameduck");
    let sources = newest(&top.join("src")).max(newest(&top.join("Cargo.toml"))).max(newest(&top.join("Cargo.lock")));
    (newest(&shipped) > sources).then_some(shipped)
}

fn newest(path: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let below = entries.filter_map(|entry| newest(&entry.path())).max();
    below.max(fs::metadata(path).and_then(|metadata| metadata.modified()).ok())
}

// === impl Init ===

impl Init {
    /// `lameduck` as process 1, with no flags.
    pub(crate) fn new() -> Self {
        Self {
            through: Vec::new(),
            program: vec![binary()],
            flags: Vec::new(),
            command: Vec::new(),
            environ: vec![format!("PATH={PATH}").into()],
            stdout: Stream::Pipe,
            stderr: Stream::Pipe,
            more: Vec::new(),
            terminal: false,
            pid_one: true,
            files: Vec::new(),
        }
    }

    /// No lameduck: the command itself is process 1, to compare with.
    pub(crate) fn bare() -> Self {
        Self { program: Vec::new(), ..Self::new() }
    }

    /// Another file in the place of the binary.
    pub(crate) fn program(mut self, path: impl Into<OsString>) -> Self {
        self.program = vec![path.into()];
        self
    }

    /// Words before the command: flags and their values.
    pub(crate) fn flags<S: AsRef<OsStr>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(flags.into_iter().map(|flag| flag.as_ref().to_owned()));
        self
    }

    /// The command.
    pub(crate) fn cmd<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// The command is a program of the tests, in Python.
    pub(crate) fn python(self, script: &str, args: &[&str]) -> Self {
        self.cmd(fixtures::python(script, args))
    }

    /// The command is a line for `/bin/sh`, in which `$SERVER` is the server of the tests.
    pub(crate) fn shell(self, line: &str) -> Self {
        self.env("S", fixtures::SERVER).cmd(["/bin/sh", "-c", &line.replace("$SERVER", fixtures::SERVER_IN_SHELL)])
    }

    /// A program that runs lameduck in a changed world: `env --ignore-signal=…`, `setpriv`…
    pub(crate) fn through<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.through.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// In a network of its own, for whoever joins it: nobody else's connections are seen there. One who is
    /// gone was process 2.
    pub(crate) fn own_network(self) -> Self {
        self.through(["unshare", "--net", "sh", "-c", "ip link set lo up; exec \"$0\" \"$@\""])
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environ.push(format!("{name}={value}").into());
        self
    }

    /// The words of the environment, as they are.
    pub(crate) fn environ(mut self, words: &[&[u8]]) -> Self {
        self.environ = words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect();
        self
    }

    pub(crate) fn stdout(mut self, to: Stream) -> Self {
        self.stdout = to;
        self
    }

    pub(crate) fn stderr(mut self, to: Stream) -> Self {
        self.stderr = to;
        self
    }

    /// One more descriptor: 3, then 4…
    pub(crate) fn descriptor(mut self, fd: OwnedFd) -> Self {
        self.more.push(fd);
        self
    }

    /// All three streams are a new terminal, unless stderr was said to go elsewhere.
    pub(crate) fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Process 1 is another; lameduck is its child.
    pub(crate) fn not_pid_one(mut self) -> Self {
        self.pid_one = false;
        self
    }

    /// Files that are needed as long as it runs.
    pub(crate) fn files(mut self, dir: TempDir) -> Self {
        self.files.push(dir);
        self
    }

    /// Starts it.
    pub(crate) fn spawn(self) -> Running {
        let words = |words: Vec<OsString>| -> Vec<CString> {
            words.into_iter().map(|word| CString::new(word.into_vec()).unwrap()).collect()
        };
        let holder = if self.pid_one { Vec::new() } else { fixtures::python(fixtures::HOLDER, &[]) };
        let dashes = if self.program.is_empty() || self.command.is_empty() { None } else { Some(OsString::from("--")) };
        let argv: Vec<OsString> = [holder, self.through, self.program, self.flags]
            .into_iter()
            .flatten()
            .chain(dashes)
            .chain(self.command)
            .collect();
        let argv = [vec!["/usr/bin/env".into()], argv].concat();
        // `env` finds the program; one with a path needs no finding, and is process 1 at once.
        let argv = if argv[1].as_bytes().contains(&b'/') { argv[1..].to_vec() } else { argv };

        let mut running = Running::default();
        running.files = self.files;
        let null = || OwnedFd::from(File::options().read(true).write(true).open("/dev/null").unwrap());
        let mut fds = Vec::new();
        if self.terminal {
            let pty = openpty(None, None).unwrap();
            let slave = || Some(pty.slave.try_clone().unwrap());
            running.stdout = Tap::new(pty.master.try_clone().unwrap());
            running.stdin = Some(File::from(pty.master));
            fds.extend([slave(), slave()]);
            fds.push(match self.stderr {
                Stream::Pipe => slave(),
                Stream::Closed => None,
                Stream::To(fd) => Some(fd),
            });
        } else {
            fds.push(Some(null()));
            for (to, tap) in [(self.stdout, &mut running.stdout), (self.stderr, &mut running.stderr)] {
                fds.push(match to {
                    Stream::Pipe => {
                        let (ours, theirs) = io::pipe().unwrap();
                        *tap = Tap::new(ours.into());
                        Some(theirs.into())
                    }
                    Stream::Closed => None,
                    Stream::To(fd) => Some(fd),
                });
            }
        }
        fds.extend(self.more.into_iter().map(Some));
        let world = world::World { argv: words(argv), environ: words(self.environ), fds, terminal: self.terminal };
        running.process_one = world::start(&world).expect("the init cannot be started");
        drop(world);
        running.find(self.pid_one);
        running
    }

    /// Starts it with a recorder as its server, and waits until that is ready.
    pub(crate) fn recorder(self, args: &[&str]) -> Running {
        let mut running = self.python(fixtures::RECORDER, args).spawn();
        running.expect_stdout("ready");
        running
    }

    /// Starts it, and waits for its end.
    pub(crate) fn run(self) -> Running {
        let mut running = self.spawn();
        running.wait_exit();
        running
    }
}
