//! A first stop to watch: `cargo run --example first_stop`, about seven seconds, nothing to install.
//!
//! A tiny HTTP server runs under lameduck. A balancer, which is this program, sends it requests the
//! whole time. Then the server is stopped as a platform stops a container: SIGTERM. The balancer
//! needs a second and a half to notice that, as real ones do (often far longer), and goes on sending
//! until then. That is done twice: without a delay and with one.
//!
//! The program is all three at once: it starts itself again as lameduck (`--as-init`, through the
//! library's own entry, so that no other binary has to be built) and that starts it once more as the
//! server (`--as-server`).

#![allow(clippy::print_stdout, reason = "this program is there to be read")]
#![allow(clippy::disallowed_methods, reason = "the rules about time are those of PID 1, not of its callers")]

mod balancer;
mod picture;
mod server;

use balancer::Request;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long the server is left in peace before the stop.
const PEACE: Duration = Duration::from_millis(750);

/// How long the balancer takes to notice that the server is stopping.
const NOTICE: Duration = Duration::from_millis(1_500);

/// A stop that was watched.
pub(crate) struct Stop {
    /// When SIGTERM was sent; all times are told from here.
    pub(crate) began: Instant,
    /// What the balancer sent, and what became of it.
    pub(crate) requests: Vec<Request>,
    /// What lameduck logged, and when.
    pub(crate) log: Vec<(Instant, String)>,
    /// When lameduck was gone.
    pub(crate) gone: Instant,
    /// How it ended, in words.
    pub(crate) status: String,
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some("--as-init") => {
            let args: Vec<OsString> = std::iter::once("lameduck".into()).chain(args).collect();
            ExitCode::from(lameduck::run_as_init(&args))
        }
        Some("--as-server") => told(server::serve().map_err(Into::into)),
        _ => told(show()),
    }
}

fn told(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("first_stop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Both stops, one after the other.
fn show() -> Result<(), Box<dyn Error>> {
    println!(
        "A balancer sends a server {} requests a second; one in ten takes {:.1} s to answer.\n\
         When the server is told to stop, the balancer notices it {:.1} s later, and sends until then.\n",
        balancer::PER_SECOND,
        server::SLOW.as_secs_f64(),
        NOTICE.as_secs_f64(),
    );
    let plain = watch("1. Stopped at once", &["--drain-timeout", "3s"])?;
    let delayed = watch("2. Stopped after a delay", &["--delay", "3s", "--drain-timeout", "3s"])?;
    let (lost_plain, lost_delayed) = (lost(&plain), lost(&delayed));
    println!(
        "Without a delay {lost_plain} of {} requests were lost: all that were sent between the stop and the moment\n\
         the balancer noticed. With a delay that is longer than that, {lost_delayed} of {} were lost.\n\n\
         Next: lameduck --delay 3s --explain   shows what would happen, and when\n",
        plain.requests.len(),
        delayed.requests.len(),
    );
    if lost_delayed > 0 {
        return Err("requests were lost in spite of the delay: is this machine very busy?".into());
    }
    Ok(())
}

fn lost(stop: &Stop) -> usize {
    stop.requests.iter().filter(|request| request.answered.is_none()).count()
}

/// Starts the server under lameduck with these options, stops it, and shows what that was like.
fn watch(title: &str, options: &[&str]) -> Result<Stop, Box<dyn Error>> {
    println!("{title}: lameduck {} -- server\n", options.join(" "));
    let mut child = start(options)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("no pipes".into());
    };
    let port = port_of(stdout)?;
    let log = thread::spawn(move || timed_lines(stderr));
    let (end, ended) = mpsc::channel();
    let balancer = thread::spawn(move || balancer::send_until(&ended, port));

    let first = Instant::now();
    thread::sleep(PEACE);
    let began = Instant::now();
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM)?;
    thread::sleep(NOTICE);
    // It fails only when the balancer has stopped by itself, which the next line tells.
    let _ = end.send(());
    let requests = balancer.join().map_err(|_| "the balancer failed")?;
    let (log, gone) = log.join().map_err(|_| "the log could not be read")?;
    let status = child.wait()?;
    let stop = Stop { began, requests, log, gone, status: status.to_string() };
    picture::print(&stop, first);
    Ok(stop)
}

/// This program as lameduck, which runs this program as the server.
fn start(options: &[&str]) -> Result<Child, Box<dyn Error>> {
    let me = std::env::current_exe()?;
    let mut command = Command::new(&me);
    command.arg("--as-init").args(options).arg("--").arg(&me).arg("--as-server");
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// The server's first line is the port on which it listens.
fn port_of(stdout: ChildStdout) -> Result<u16, Box<dyn Error>> {
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    Ok(line.trim().parse().map_err(|_| "the server did not start")?)
}

/// The lines of the log with their times, and the time of its end: that of lameduck.
fn timed_lines(stderr: ChildStderr) -> (Vec<(Instant, String)>, Instant) {
    let lines = BufReader::new(stderr).lines().map_while(Result::ok).map(|line| (Instant::now(), line)).collect();
    (lines, Instant::now())
}

/// Prints at once, also into a pipe.
pub(crate) fn flush() {
    // A reader that has gone away is no reason to fail.
    let _ = std::io::stdout().flush();
}
