//! One container: started, waited for, stopped, and always removed.

use super::image::Slot;
use super::log::Log;
use crate::support::until;
use std::net::TcpStream;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A container with lameduck as PID 1. It is removed when this is dropped.
pub(super) struct Container {
    name: String,
}

/// What a container came to.
pub(super) struct Stopped {
    /// Its exit status.
    pub(super) code: i32,
    /// What lameduck logged.
    pub(super) log: Log,
    /// How long `docker stop`, or `docker wait`, took.
    pub(super) took: Duration,
}

/// Runs `docker` and returns what it printed; its complaint when it failed.
pub(super) fn docker(args: &[&str]) -> Result<Output, String> {
    let output = Command::new("docker").args(args).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(output) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

// === impl Container ===

impl Container {
    /// Starts `command` under lameduck with `flags`, in a container with `options`, and waits until
    /// the port of `slot` is open.
    pub(super) fn start(slot: Slot, options: &[&str], flags: &[&str], command: &[&str]) -> Self {
        Self::start_from(slot.image, slot, options, flags, command)
    }

    /// The same, from another image.
    pub(super) fn start_from(image: &str, slot: Slot, options: &[&str], flags: &[&str], command: &[&str]) -> Self {
        Self::start_words(image, slot, options, &[&["--log", "json"], flags, &["--"], command].concat())
    }

    /// The same, with these words after the image's name.
    pub(super) fn start_words(image: &str, slot: Slot, options: &[&str], words: &[&str]) -> Self {
        let name = format!("lameduck-it-{}-{}", std::process::id(), slot.number);
        let container = Self { name };
        let own = ["run", "--detach", "--network", "host", "--name", &container.name];
        let args = [&own, options, &[image], words].concat();
        docker(&args).unwrap_or_else(|why| panic!("docker run: {why}"));
        until("the server comes up", || {
            assert!(container.runs(), "it has ended: {}", container.words());
            TcpStream::connect(("127.0.0.1", slot.port)).is_ok()
        });
        container
    }

    /// Starts a process in it that outlives everything, beside the server.
    pub(super) fn exec_something_that_stays(&self) {
        docker(&["exec", "--detach", &self.name, "/bin/busybox", "sleep", "1000"]).expect("docker exec");
        until("it runs", || self.processes().contains("sleep 1000"));
    }

    fn runs(&self) -> bool {
        let state = docker(&["inspect", "--format", "{{.State.Running}}", &self.name]).expect("docker inspect");
        state.stdout.starts_with(b"true")
    }

    /// Stops it as an operator does. The grace is far above what any test needs: whatever ends
    /// before it was not ended by the engine.
    pub(super) fn stop(&self) -> Stopped {
        let began = Instant::now();
        docker(&["stop", "--time", "60", &self.name]).expect("docker stop");
        self.stopped(began.elapsed())
    }

    /// Waits for its end, which was asked for in some other way.
    pub(super) fn wait(&self) -> Stopped {
        let began = Instant::now();
        docker(&["wait", &self.name]).expect("docker wait");
        self.stopped(began.elapsed())
    }

    fn stopped(&self, took: Duration) -> Stopped {
        let state = docker(&["inspect", "--format", "{{.State.ExitCode}}", &self.name]).expect("docker inspect");
        let code = String::from_utf8_lossy(&state.stdout).trim().parse().expect("an exit status");
        Stopped { code, log: Log::read(&self.words()), took }
    }

    /// What the engine's own check says: `starting`, `healthy`, `unhealthy`; and its last words.
    pub(super) fn health(&self) -> (String, String) {
        let format = "{{.State.Health.Status}} {{with .State.Health.Log}}{{range .}}{{.Output}}{{end}}{{end}}";
        let output = docker(&["inspect", "--format", format, &self.name]).expect("docker inspect");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (status, said) = text.split_once(' ').expect("a status");
        (status.to_owned(), said.trim_end().lines().next_back().unwrap_or_default().to_owned())
    }

    /// Sends it a signal, as an orchestrator does.
    pub(super) fn signal(&self, signal: &str) {
        docker(&["kill", "--signal", signal, &self.name]).expect("docker kill");
    }

    /// Freezes it.
    pub(super) fn pause(&self) {
        docker(&["pause", &self.name]).expect("docker pause");
    }

    /// Lets it go on.
    pub(super) fn unpause(&self) {
        docker(&["unpause", &self.name]).expect("docker unpause");
    }

    fn processes(&self) -> String {
        let output = docker(&["top", &self.name, "-eo", "pid,args"]).expect("docker top");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Its standard error.
    pub(super) fn words(&self) -> String {
        let output = docker(&["logs", &self.name]).expect("docker logs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

// === impl Drop ===

impl Drop for Container {
    fn drop(&mut self) {
        // When it was never made there is nothing to remove. One that is frozen cannot be.
        let _ = docker(&["unpause", &self.name]);
        let _ = docker(&["rm", "--force", "--volumes", &self.name]);
    }
}
