//! Health: what the server's balancers, platforms and engineers may ask over HTTP.
//!
//! `listener` opens the port before the server is started, `serve` takes connections, `connection`
//! holds one of them to its limits, `answer` knows the pages, `check` asks the server itself whether
//! it is well, `startup` whether it has come up. An extra: all of it may fail, and costs nobody but those who ask.

mod answer;
mod check;
mod connection;
mod listener;
mod serve;
mod startup;
mod stream;

pub(super) use listener::bind;
pub(super) use startup::Startup;

use super::clock::Clock;
use crate::cli::{self, HealthCheck, LogFormat, LogLevel};
use crate::core::{Phase, State, Tick};
use crate::log;
use crate::sys::accept_queue::waiting;
use check::Checks;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tokio::task::JoinHandle;
use tracing::{info, warn};

/// The health port, before anybody is answered there.
pub(super) struct Health {
    listener: TcpListener,
    asked: Asked,
}

/// Starts a task, which may panic alone. All are of one type, so that the runtime's part of each is in the binary once.
fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
    tokio::spawn(task)
}

/// What it takes to answer.
struct Asked {
    /// The path of the balancer.
    path: String,
    told: Arc<Told>,
    readiness: Readiness,
    log: (LogFormat, LogLevel),
}

/// What readiness takes beside a server that runs and is not stopped.
enum Readiness {
    /// Nothing.
    Nothing,
    /// That it has come up.
    Startup(Startup),
    /// That it says itself that it is well.
    Checks(Checks),
}

/// What the shell has told of the server, for those who are asked.
pub(super) struct Told {
    clock: Clock,
    last: Mutex<(Tick, State)>,
    /// So many connections were taken here: the network namespace counts them with the server's.
    taken: AtomicU64,
    /// The port, once it is open, for those that wait to be taken.
    listener: OnceLock<Weak<tokio::net::TcpListener>>,
}

// === impl Health ===

impl Health {
    pub(super) fn new(
        listener: TcpListener,
        settings: &cli::Health,
        startup: impl FnOnce() -> Startup,
        told: Arc<Told>,
        log: (LogFormat, LogLevel),
    ) -> Self {
        let readiness = match settings.check.clone() {
            HealthCheck::Nothing => Readiness::Nothing,
            HealthCheck::Listening => Readiness::Startup(startup()),
            HealthCheck::Target(target) => Readiness::Checks(Checks::new(target)),
        };
        Self { listener, asked: Asked { path: settings.path.clone(), told, readiness, log } }
    }

    /// Answers until that cannot be gone on with, and returns why.
    pub(super) async fn serve(self) -> io::Error {
        match tokio::net::TcpListener::from_std(self.listener) {
            Ok(listener) => {
                let listener = Arc::new(listener);
                let _ = self.asked.told.listener.set(Arc::downgrade(&listener));
                serve::serve(&listener, &Arc::new(self.asked)).await
            }
            Err(error) => error,
        }
    }
}

// === impl Asked ===

impl Asked {
    /// One line in the log, about something that is as it may be.
    fn inform(&self, about: &str) {
        log::set_up(self.log.0, self.log.1);
        info!("health: {about}");
    }

    /// One line in the log.
    fn complain(&self, about: &str) {
        log::set_up(self.log.0, self.log.1);
        warn!("health: {about}");
    }
}

// === impl Told ===

impl Told {
    pub(super) fn new(clock: Clock, state: State) -> Self {
        let last = Mutex::new((clock.now(), state));
        Self { clock, last, taken: AtomicU64::new(0), listener: OnceLock::new() }
    }

    /// The state as it is at `now`.
    pub(super) fn tell(&self, now: Tick, state: State) {
        // A panic while it was held left a whole state behind: it is replaced in one go.
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (now, state);
    }

    /// So many connections came to the health port. One that the kernel has counted is not taken at
    /// once, and must not look like the server's meanwhile.
    pub(super) fn came(&self) -> u64 {
        let listener = self.listener.get().and_then(Weak::upgrade);
        let waiting = listener.and_then(|listener| waiting(&*listener).ok()).unwrap_or(0);
        self.taken.load(Ordering::Relaxed) + u64::from(waiting)
    }

    /// Whether the server was told to drain. It closes its ports then and fails any check, which is not to take
    /// away the readiness that `--unready never` keeps.
    fn drains(&self) -> bool {
        self.state().phase >= Phase::Draining
    }

    /// The state by now: only its times have gone on since it was told.
    fn state(&self) -> State {
        let (told_at, state) = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        state.after(self.clock.now().saturating_sub(told_at))
    }
}
