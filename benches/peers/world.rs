//! Where the inits run: namespaces, the server, the clock, and what the kernel counts.

use super::inits::Init;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, setns, unshare};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

pub(crate) type Result<T> = std::result::Result<T, String>;

/// Nothing here takes as long as this, in milliseconds.
const LIMIT: u16 = 20_000;

/// The inits, and what is needed to start them.
pub(crate) struct World<'a> {
    pub(crate) inits: &'a [Init],
    server: PathBuf,
    /// Our own PID namespace.
    home: File,
}

/// An init with its server.
pub(crate) struct Running<'a> {
    init: &'a Init,
    /// Just before it was started.
    pub(crate) began: Duration,
    process: Child,
    records: ChildStdout,
}

/// What the server tells.
pub(crate) struct Record {
    /// Its first instructions.
    pub(crate) first: Duration,
    /// When it told.
    pub(crate) now: Duration,
}

/// On one core, until dropped.
pub(crate) struct OneCore(CpuSet);

/// The clock that the server reads as well.
pub(crate) fn now() -> Result<Duration> {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).map_err(|why| format!("no clock: {why}"))
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The one at this part of them, in hundredths.
pub(crate) fn quantile(values: &[f64], hundredths: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = sorted.len() * hundredths / 100;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied()
}

// === impl World ===

impl<'a> World<'a> {
    pub(crate) fn new(inits: &'a [Init]) -> Result<Self> {
        let home = File::open("/proc/self/ns/pid").map_err(|why| format!("/proc/self/ns/pid: {why}"))?;
        Ok(Self { inits, server: compile_server()?, home })
    }

    /// Whose turn it is, by number: A B C, then C B A, so that each has both its neighbours before it.
    pub(crate) fn turns(&self, round: usize) -> impl Iterator<Item = (usize, &'a Init)> + use<'a> {
        let last = self.inits.len().saturating_sub(1);
        let inits = self.inits;
        let place = move |at| if round.is_multiple_of(2) { at } else { last - at };
        (0..inits.len()).filter_map(move |at| inits.get(place(at)).map(|init| (place(at), init)))
    }

    /// Starts an init as process 1 of a PID namespace, with the server at this work.
    pub(crate) fn start(&self, init: &'a Init, work: &[&str]) -> Result<Running<'a>> {
        let refused = |why: &dyn std::fmt::Display| format!("{}: cannot be started: {why}", init.name);
        let mut command = Command::new(init.program.as_ref().unwrap_or(&self.server));
        if !init.is_bare() {
            command.args(&init.flags).arg(&self.server);
        }
        command.args(work).env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // The next child begins the new namespace. Once that child is gone no other can be had in
        // there, so that each needs its own, made from home.
        unshare(CloneFlags::CLONE_NEWPID).map_err(|why| refused(&why))?;
        let began = now()?;
        let spawned = command.spawn();
        setns(&self.home, CloneFlags::CLONE_NEWPID).map_err(|why| refused(&why))?;
        let mut process = spawned.map_err(|why| refused(&why))?;
        let records = process.stdout.take().ok_or_else(|| refused(&"no pipe"))?;
        Ok(Running { init, began, process, records })
    }

    /// All of them with the server at this work, once they are ready for signals.
    pub(crate) fn start_all(&self, work: &[&str]) -> Result<Vec<Running<'a>>> {
        let start = |init| {
            let mut running = self.start(init, work)?;
            running.record()?;
            Ok(running)
        };
        self.inits.iter().map(start).collect()
    }
}

/// Compiles `server.rs`; where the program is.
fn compile_server() -> Result<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/server.rs");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers-server");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "-O", "-C", "panic=abort", "-C", "strip=symbols"]);
    // No library, no loader, and nothing to relocate.
    rustc.args(["-C", "relocation-model=static", "-C", "link-arg=-static", "-C", "link-arg=-nostartfiles"]);
    let output = rustc.arg("-o").arg(&program).arg(source).output();
    let output = output.map_err(|why| format!("rustc, for the server under the inits: {why}"))?;
    if !output.status.success() {
        return Err(format!("{source} does not compile:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(program)
}

// === impl Running ===

impl Running<'_> {
    fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Something is not as it has to be.
    pub(crate) fn wrong(&self, what: &dyn std::fmt::Display) -> String {
        format!("{}: {what}", self.init.name)
    }

    /// The next one.
    pub(crate) fn record(&mut self) -> Result<Record> {
        let ready = poll(&mut [PollFd::new(self.records.as_fd(), PollFlags::POLLIN)], LIMIT);
        if !ready.is_ok_and(|ready| ready == 1) {
            return Err(self.wrong(&"nothing is heard of the server"));
        }
        let (mut first, mut now) = ([0; 8], [0; 8]);
        let read = self.records.read_exact(&mut first).and_then(|()| self.records.read_exact(&mut now));
        read.map_err(|why| self.wrong(&format!("the server has ended: {why}")))?;
        let time = |bytes| Duration::from_nanos(u64::from_ne_bytes(bytes));
        Ok(Record { first: time(first), now: time(now) })
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        self.process.wait().map_err(|why| self.wrong(&why))
    }

    /// Sends the signal that the server waits for.
    pub(crate) fn signal(&self) -> Result<()> {
        let pid = i32::try_from(self.pid()).map_err(|why| self.wrong(&why))?;
        kill(Pid::from_raw(pid), Signal::SIGUSR1).map_err(|why| self.wrong(&why))
    }

    /// Numbers from `/proc/PID/FILE`: what stands behind these words and a colon.
    pub(crate) fn numbers<const N: usize>(&self, file: &str, words: [&str; N]) -> Result<[u32; N]> {
        let text = self.read(file)?;
        let mut numbers = [0; N];
        for (word, number) in words.iter().zip(&mut numbers) {
            let value = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(':'));
            let value = value.and_then(|value| value.split_ascii_whitespace().next()?.parse().ok());
            *number = value.ok_or_else(|| self.wrong(&format!("no {word} in {file}")))?;
        }
        Ok(numbers)
    }

    /// The processor time that it has had, in all threads.
    pub(crate) fn busy(&self) -> Result<Duration> {
        let own = |thread: &String| self.read(&format!("task/{thread}/schedstat"));
        let texts: Vec<String> = self.threads()?.iter().map(own).collect::<Result<_>>()?;
        let nanos = texts.iter().filter_map(|text| text.split(' ').next()?.parse::<u64>().ok());
        Ok(Duration::from_nanos(nanos.sum()))
    }

    /// How often it was given a processor, in all threads.
    pub(crate) fn switches(&self) -> Result<u32> {
        let words = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
        let own = |thread: &String| Ok(self.numbers(&format!("task/{thread}/status"), words)?.iter().sum::<u32>());
        self.threads()?.iter().map(own).sum()
    }

    fn threads(&self) -> Result<Vec<String>> {
        let all = fs::read_dir(format!("/proc/{}/task", self.pid())).map_err(|why| self.wrong(&why))?;
        Ok(all.flatten().map(|thread| thread.file_name().to_string_lossy().into_owned()).collect())
    }

    /// How many children it has, alive or still to be reaped.
    pub(crate) fn children(&self) -> Result<usize> {
        Ok(self.read(&format!("task/{}/children", self.pid()))?.split_ascii_whitespace().count())
    }

    fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.pid())).map_err(|why| self.wrong(&format!("{file}: {why}")))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Its namespace ends with it, and all that is in there. It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// === impl OneCore ===

impl OneCore {
    /// This process, and what it starts from here on.
    pub(crate) fn enter() -> Result<Self> {
        let refused = |why| format!("cannot keep to one core: {why}");
        let all = sched_getaffinity(Pid::from_raw(0)).map_err(refused)?;
        let mut one = CpuSet::new();
        if let Some(core) = (0..CpuSet::count()).find(|core| all.is_set(*core).unwrap_or(false)) {
            one.set(core).map_err(refused)?;
        }
        sched_setaffinity(Pid::from_raw(0), &one).map_err(refused)?;
        Ok(Self(all))
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
    }
}
