//! `--state-file` and its lock, and the watchdog of the examples that goes by them.

use crate::support::files::{TempDir, tempdir};
use crate::support::{Init, NO_DUPLICATE, Running, fixtures, http, until};
use nix::libc;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A state file in a directory of its own.
struct State {
    dir: TempDir,
    path: PathBuf,
}

impl State {
    fn new() -> Self {
        let dir = tempdir();
        Self { path: dir.path.join("state.json"), dir }
    }

    fn flags(&self) -> [&str; 2] {
        ["--state-file", self.path.to_str().unwrap()]
    }

    fn read(&self) -> Value {
        read(&self.path)
    }

    fn phase(&self) -> String {
        self.read()["phase"].as_str().unwrap().to_owned()
    }

    fn lock(&self) -> File {
        OpenOptions::new().read(true).open(self.dir.path.join("state.json.lock")).unwrap()
    }

    /// Whether a planned stop runs, as a watchdog would ask.
    fn locked(&self) -> bool {
        self.lock().try_lock().is_err()
    }

    /// The server of the tests, and its port.
    fn serve(&self, flags: &[&str], drain: &str) -> (Running, u32) {
        let init = Init::new().flags(self.flags()).flags(flags).env("DRAIN", drain).env("STATUS", "4");
        let mut run = init.python(fixtures::SERVER, &[]).spawn();
        let port = run.told("port");
        (run, port)
    }
}

/// A state, whole.
fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text:?}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_state_follows_the_phases_and_the_lock_is_held_through_the_stop() {
    needs!();
    let state = State::new();
    let mut run = Init::new().flags(state.flags()).flags(["--delay", "10m"]).recorder(&["10=4"]);
    until("it serves", || state.phase() == "serving");
    let serving = state.read();
    assert_eq!((&serving["ready"], &serving["pid"], &serving["signal"]), (&true.into(), &2.into(), &Value::Null));
    assert!(!state.locked());
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    assert!(state.locked());
    until("the state is lame-duck", || state.phase() == "lame-duck");
    let delay = state.read();
    assert_eq!(
        (&delay["ready"], &delay["signal"], &delay["sender"]["pid"]),
        (&false.into(), &"SIGTERM".into(), &0.into())
    );
    assert!(delay["remaining_s"].as_f64().is_some_and(|left| left > 629.0 && left <= 630.0), "{delay}");
    run.hurry();
    run.expect_stdout("got 15\n");
    until("the state is draining", || state.phase() == "draining");
    assert!(state.locked());
    run.signal(libc::SIGUSR1);
    run.expect_exit(4);
    let gone = state.read();
    assert_eq!((&gone["phase"], &gone["exit_code"], &gone["pid"]), (&"gone".into(), &4.into(), &Value::Null));
    assert!(!state.locked());
    let mut left: Vec<_> = fs::read_dir(&state.dir.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["state.json", "state.json.lock"]);
}

/// Ends with 4 on TERM, and leaves a helper that does not end.
const LEAVES: &str = "signal.signal(15, signal.SIG_IGN)\nif os.fork() == 0:\n  while True: signal.pause()\n\
                      signal.signal(15, lambda *_: os._exit(4))";

#[test]
fn the_lock_is_held_while_what_is_left_and_the_last_hook_are_waited_for() {
    needs!();
    let state = State::new();
    let flags = ["--linger", "10m", "--hook-timeout", "10m", "--on-exit", "sh -c 'echo stuck; sleep 600'"];
    let mut run = Init::new().flags(state.flags()).flags(flags).python(&fixtures::handling(LEAVES), &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    until("the state is sweeping", || state.phase() == "sweeping");
    assert_eq!((&state.read()["exit_code"], &state.read()["pid"]), (&4.into(), &Value::Null));
    assert!(state.locked());
    run.hurry();
    run.expect_stderr("stuck\n");
    until("the state is gone", || state.phase() == "gone");
    assert!(state.locked());
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    assert!(!state.locked());
}

#[test]
fn a_reader_finds_the_old_or_the_new_and_never_half_of_it() {
    needs!();
    let state = State::new();
    let mut run = Init::new().flags(state.flags()).flags(["--delay", "10m"]).recorder(&["10=4"]);
    let (reading, over) = (state.path.clone(), AtomicBool::new(false));
    let seen = std::thread::scope(|threads| {
        // All the time, whatever else this machine has to do.
        let reader = threads.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::SeqCst) {
                seen.insert(read(&reading)["phase"].as_str().unwrap().to_owned());
            }
            seen
        });
        for signal in [libc::SIGTERM, libc::SIGTERM, libc::SIGUSR1] {
            run.goes_on_for(NO_DUPLICATE);
            run.signal(signal);
        }
        run.expect_exit(4);
        over.store(true, Ordering::SeqCst);
        reader.join().unwrap()
    });
    assert!(seen.len() > 1, "{seen:?}");
    assert_eq!(state.phase(), "gone");
}

#[test]
fn a_server_that_ends_by_itself_takes_no_lock() {
    needs!();
    let state = State::new();
    let (mut run, _) = state.serve(&["--linger", "10m"], "0.1");
    let server = run.descendant("python3");
    run.signal_to(server, libc::SIGKILL);
    run.expect_exit(137);
    assert_eq!((state.phase().as_str(), &state.read()["exit_code"]), ("gone", &137.into()));
    assert!(!state.locked());
}

#[test]
fn what_could_not_be_started_is_gone_with_its_status() {
    needs!();
    let state = State::new();
    let mut run = Init::new().flags(state.flags()).cmd(["/no/such/server"]).run();
    run.expect_exit(127);
    assert_eq!((&state.read()["phase"], &state.read()["exit_code"]), (&"gone".into(), &127.into()));
}

#[test]
fn a_lock_that_somebody_else_holds_is_told_of_and_taken_as_soon_as_it_is_free() {
    needs!();
    let state = State::new();
    let (mut run, _) = state.serve(&["--delay", "10m"], "0.1");
    let watchdog = state.lock();
    watchdog.try_lock().unwrap();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    run.expect_stderr("cannot be locked: somebody else holds it");
    drop(watchdog);
    until("the lock is taken", || state.locked());
    // Nothing else has happened: it was not the phase that made it try again.
    assert_eq!(state.phase(), "lame-duck");
}

#[test]
fn a_lock_file_that_was_cleaned_up_is_made_again() {
    needs!();
    let state = State::new();
    let (mut run, _) = state.serve(&["--delay", "10m"], "0.1");
    fs::remove_file(state.dir.path.join("state.json.lock")).unwrap();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    assert!(state.locked());
}

#[test]
fn a_file_that_is_a_mount_of_its_own_is_written_in_place() {
    needs!();
    let state = State::new();
    fs::write(&state.path, "x".repeat(3_000)).unwrap();
    let mount = "mount --bind \"$STATE\" \"$STATE\" && exec \"$@\"";
    let mut run = Init::new()
        .env("STATE", state.path.to_str().unwrap())
        .through(["/bin/sh", "-c", mount, "sh"])
        .flags(state.flags())
        .env("DRAIN", "0.1")
        .python(fixtures::SERVER, &[])
        .spawn();
    run.told("port");
    // Between the writing and the cutting the end of what was there before is seen.
    let whole = || serde_json::from_str::<Value>(&fs::read_to_string(&state.path).unwrap());
    until("it serves", || whole().is_ok_and(|state| state["phase"] == "serving"));
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    assert_eq!(state.phase(), "gone");
    assert!(!run.stderr().contains("warning"), "{}", run.stderr());
}

/// The watchdog of the examples, quick: what it says, and a repair that says `repaired`.
struct Watchdog(Child);

impl Watchdog {
    fn start(state: &State, port: u32) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/watchdog/watchdog.sh");
        let check = format!("python3 -I -S -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'");
        let said = File::create(state.dir.path.join("watchdog")).unwrap();
        let child = Command::new(script)
            .args([state.path.to_str().unwrap(), &check, "echo repaired"])
            .envs([("INTERVAL", "0.1"), ("STRIKES", "4")])
            .stdin(Stdio::null())
            .stderr(said.try_clone().unwrap())
            .stdout(said)
            .spawn()
            .unwrap();
        Self(child)
    }

    fn said(state: &State) -> String {
        fs::read_to_string(state.dir.path.join("watchdog")).unwrap()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_watchdog_leaves_a_long_planned_stop_alone() {
    needs!("flock");
    let state = State::new();
    let (mut run, port) = state.serve(&["--delay", "300ms"], "4");
    assert!(http::answers(port, "/"));
    let _watchdog = Watchdog::start(&state, port);
    // A few checks that go well.
    run.goes_on_for(Duration::from_millis(500));
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    // The port is closed for four seconds: some twenty failed checks.
    until("the drain is over", || run.ended());
    let said = Watchdog::said(&state);
    assert!(!said.contains("repaired"), "{said}");
    // What comes after the stop is the replacement's business, and missing if there is none.
    let mut said = String::new();
    until("it is missed", || {
        said = Watchdog::said(&state);
        said.contains("repaired")
    });
    assert_eq!(said.matches("strike 4 of 4").count(), 1, "{said}");
}

#[test]
fn the_watchdog_misses_no_death() {
    needs!("flock");
    let state = State::new();
    let (mut run, port) = state.serve(&["--delay", "10m"], "4");
    let _watchdog = Watchdog::start(&state, port);
    let server = run.descendant("python3");
    run.signal_to(server, libc::SIGKILL);
    run.expect_exit(137);
    until("the server is repaired", || {
        Watchdog::said(&state).contains("strike 4 of 4\nwatchdog: down: repairing\nrepaired")
    });

    // And none of lameduck itself in the midst of a planned stop.
    let state = State::new();
    let (mut run, port) = state.serve(&["--delay", "10m"], "4");
    let _watchdog = Watchdog::start(&state, port);
    run.signal(libc::SIGTERM);
    until("the lock is taken", || state.locked());
    drop(run);
    until("the server is repaired", || Watchdog::said(&state).contains("repaired"));
}
