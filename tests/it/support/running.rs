//! An init that runs: waiting for what it says, signalling it, seeing how it ends.

use super::files::TempDir;
use super::tap::Tap;
use super::{LIMIT, NO_DUPLICATE, procfs, scaled, world};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios;
use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// No init lives longer, whatever a test waits for.
const LIFETIME: Duration = Duration::from_secs(300);

/// A started init. Dropping it kills everything in its namespace.
pub(crate) struct Running {
    /// Its process id, as we see it.
    pub(crate) pid: i32,
    pub(super) process_one: i32,
    pub(super) stdin: Option<File>,
    pub(super) stdout: Tap,
    pub(super) stderr: Tap,
    status: Option<i32>,
    began: Instant,
    /// What is needed as long as it runs.
    pub(super) files: Vec<TempDir>,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            pid: 0,
            process_one: 0,
            stdin: None,
            stdout: Tap::default(),
            stderr: Tap::default(),
            status: None,
            began: Instant::now(),
            files: Vec::new(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() && self.process_one != 0 {
            let _ = world::kill(self.process_one, libc::SIGKILL);
            world::wait(self.process_one, true);
        }
    }
}

// === impl Running ===

impl Running {
    pub(super) fn find(&mut self, pid_one: bool) {
        self.pid = self.process_one;
        if !pid_one {
            super::until("process 1 starts lameduck", || {
                self.pid = procfs::children(self.process_one).first().copied().unwrap_or(self.pid);
                self.pid != self.process_one || self.ended()
            });
        }
    }

    // --- waiting

    /// Takes in what has been written, for at most so long.
    fn pump(&mut self, limit: Duration) {
        let mut polled = Vec::new();
        let taps = [&self.stdout, &self.stderr];
        for (which, tap) in taps.into_iter().enumerate() {
            polled.extend(tap.fd().map(|fd| (which, PollFd::new(fd, PollFlags::POLLIN))));
        }
        if polled.is_empty() {
            return std::thread::sleep(limit);
        }
        let (which, mut fds): (Vec<usize>, Vec<PollFd<'_>>) = polled.into_iter().unzip();
        let _ = poll(&mut fds, PollTimeout::try_from(limit).unwrap_or(PollTimeout::ZERO));
        let ready: Vec<usize> = which
            .into_iter()
            .zip(&fds)
            .filter(|(_, fd)| fd.any().unwrap_or_default())
            .map(|(which, _)| which)
            .collect();
        for which in ready {
            [&mut self.stdout, &mut self.stderr][which].read();
        }
    }

    /// Waits until `holds`, taking in what is written meanwhile.
    fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let deadline = (Instant::now() + scaled(LIMIT)).min(self.began + scaled(LIFETIME));
        loop {
            if holds(self) {
                return;
            }
            assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}\n{}", self.so_far());
            self.pump(Duration::from_millis(5));
        }
    }

    /// Waits until `text` is on standard output (or the terminal).
    pub(crate) fn expect_stdout(&mut self, text: &str) {
        self.expect_stdout_times(text, 1);
    }

    /// Waits until `text` is there so many times.
    pub(crate) fn expect_stdout_times(&mut self, text: &str, times: usize) {
        self.wait_until(&format!("{text:?} on standard output"), |this| {
            let there = this.stdout.count(text) >= times;
            assert!(there || this.stdout.fd().is_some(), "standard output ended without {text:?}\n{}", this.so_far());
            there
        });
    }

    /// Waits until `text` is on standard error.
    pub(crate) fn expect_stderr(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} on standard error"), |this| {
            let there = this.stderr.count(text) >= 1;
            assert!(there || this.stderr.fd().is_some(), "standard error ended without {text:?}\n{}", this.so_far());
            there
        });
    }

    /// Waits for its end, and for all that was written before; returns its exit status.
    pub(crate) fn wait_exit(&mut self) -> i32 {
        self.wait_until("the init has ended", Self::ended);
        // What is in the pipes; somebody else may hold them open for longer.
        self.wait_until("the streams have ended", |this| {
            (this.stdout.fd().is_none() && this.stderr.fd().is_none()) || {
                let before = (this.stdout.text().len(), this.stderr.text().len());
                this.pump(Duration::from_millis(50));
                before == (this.stdout.text().len(), this.stderr.text().len())
            }
        });
        let status = self.status.unwrap();
        assert!(libc::WIFEXITED(status), "the init was ended by signal {}\n{}", libc::WTERMSIG(status), self.so_far());
        libc::WEXITSTATUS(status)
    }

    /// Waits for its end, with this exit status.
    #[track_caller]
    pub(crate) fn expect_exit(&mut self, expected: i32) {
        let status = self.wait_exit();
        assert_eq!(status, expected, "exit status\n{}", self.so_far());
    }

    /// Whether it has ended.
    pub(crate) fn ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = world::wait(self.process_one, false);
        }
        self.status.is_some()
    }

    /// Watches for so long that it goes on running.
    pub(crate) fn goes_on_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            assert!(!self.ended(), "the init has ended\n{}", self.so_far());
            self.pump(Duration::from_millis(5));
        }
    }

    // --- signals

    /// Sends a signal as a container engine does: from outside of the namespace.
    pub(crate) fn signal(&mut self, signal: i32) {
        self.try_signal(signal).unwrap_or_else(|error| panic!("signal {signal}: {error}\n{}", self.so_far()));
    }

    /// The same; the queue of a real-time signal may be full.
    pub(crate) fn try_signal(&mut self, signal: i32) -> std::io::Result<()> {
        assert!(!self.ended(), "the init ended before signal {signal} was sent\n{}", self.so_far());
        world::kill(self.pid, signal)
    }

    /// A second wish to stop, once the first one, which has been heard, is old enough not to be taken for
    /// the same.
    pub(crate) fn hurry(&mut self) {
        self.goes_on_for(NO_DUPLICATE);
        self.signal(libc::SIGTERM);
    }

    /// Sends a signal to one of the processes, by its outer pid.
    pub(crate) fn signal_to(&self, pid: i32, signal: i32) {
        world::kill(pid, signal).unwrap_or_else(|error| panic!("signal {signal} to {pid}: {error}\n{}", self.so_far()));
    }

    /// Sends a signal to process 1 from a process inside, as `docker exec` would.
    pub(crate) fn signal_from_inside(&mut self, signal: &str) {
        let status = self.inside(&["/bin/kill", "-s", signal, "1"]).status().unwrap();
        // A process 1 that ends of it takes everybody inside along, the sender too.
        assert!(status.success() || status.signal() == Some(libc::SIGKILL), "{status}\n{}", self.so_far());
    }

    /// A command that joins the namespace, as `docker exec` does.
    pub(crate) fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.process_one.to_string(), "--pid", "--mount", "--"]).args(words);
        command
    }

    /// A command that joins the network of the main process.
    pub(crate) fn inside_its_network(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.process_one.to_string(), "--net", "--"]).args(words);
        command
    }

    /// Connects from within the network of the main process, whose loopback is not ours.
    pub(crate) fn connect(&self, address: &str) -> TcpStream {
        let network = File::open(format!("/proc/{}/ns/net", self.process_one)).unwrap();
        let address = address.to_owned();
        // A socket stays where it was made; the thread that went there is gone.
        let connect = move || {
            world::enter_network(&network).unwrap();
            TcpStream::connect(address).unwrap()
        };
        std::thread::spawn(connect).join().unwrap()
    }

    // --- the terminal

    /// Types on the terminal.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.stdin.as_mut().expect("no terminal").write_all(text.as_bytes()).unwrap();
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        world::resize(self.stdin.as_ref().expect("no terminal").as_raw_fd(), rows, columns);
    }

    /// From now on the terminal stops those in its background who write to it (`stty tostop`).
    pub(crate) fn stop_background_output(&self) {
        let terminal = self.stdin.as_ref().expect("no terminal");
        let mut modes = termios::tcgetattr(terminal).unwrap();
        modes.local_flags.insert(termios::LocalFlags::TOSTOP);
        termios::tcsetattr(terminal, termios::SetArg::TCSANOW, &modes).unwrap();
    }

    /// The terminal goes away.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
        self.stdout.close();
    }

    // --- looking

    /// The main process, by its outer pid.
    pub(crate) fn main(&mut self) -> i32 {
        let mut main = None;
        self.wait_until("there is a main process", |this| {
            main = procfs::children(this.pid).into_iter().find(|child| procfs::state(*child) != Some('Z'));
            main.is_some()
        });
        main.unwrap()
    }

    /// Waits until one of its descendants is called so, and returns it.
    pub(crate) fn descendant(&mut self, comm: &str) -> i32 {
        let mut found = None;
        self.wait_until(&format!("a {comm} runs"), |this| {
            found = procfs::descendants(this.pid).into_iter().find(|pid| procfs::comm(*pid) == comm);
            found.is_some()
        });
        found.unwrap()
    }

    /// The number after `word` in standard output, where a fixture told it.
    pub(crate) fn told(&mut self, word: &str) -> u32 {
        let mut told = None;
        self.wait_until(&format!("{word:?} and a number"), |this| {
            let text = this.stdout.text();
            // Whole lines only: half a number is a number too.
            told = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .find_map(|line| line.trim().strip_prefix(word)?.trim().parse().ok());
            told.is_some()
        });
        told.unwrap()
    }

    /// What is on standard output so far.
    pub(crate) fn stdout(&mut self) -> String {
        self.pump(Duration::ZERO);
        self.stdout.text()
    }

    /// What is on standard error so far.
    pub(crate) fn stderr(&mut self) -> String {
        self.pump(Duration::ZERO);
        self.stderr.text()
    }

    fn so_far(&self) -> String {
        let tail =
            |text: String| text.chars().rev().take(2_000).collect::<Vec<_>>().into_iter().rev().collect::<String>();
        format!("--- stdout\n{}\n--- stderr\n{}", tail(self.stdout.text()), tail(self.stderr.text()))
    }
}
