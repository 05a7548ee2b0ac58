//! Health: what the server's balancers, platforms and engineers may ask over HTTP.
//!
//! `listener` opens the port before the server is started, `serve` takes connections, `connection`
//! holds one of them to its limits, `answer` knows the pages, `check` asks the server itself whether
//! it is well. An extra: all of it may fail, and costs nobody but those who ask.

mod answer;
mod check;
mod connection;
mod listener;
mod serve;
mod stream;

pub(super) use listener::bind;

use super::clock::Clock;
use crate::cli::{self, LogFormat, LogLevel};
use crate::core::{State, Tick};
use crate::log;
use check::Checks;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::warn;

/// The health port, before anybody is answered there.
pub(super) struct Health {
    listener: TcpListener,
    asked: Asked,
}

/// What it takes to answer.
struct Asked {
    /// The path of the balancer.
    path: String,
    told: Arc<Told>,
    checks: Option<Checks>,
    log: (LogFormat, LogLevel),
}

/// What the shell has told of the server, for those who are asked.
pub(super) struct Told {
    clock: Clock,
    last: Mutex<(Tick, State)>,
}

// === impl Health ===

impl Health {
    pub(super) fn new(
        listener: TcpListener,
        settings: &cli::Health,
        told: Arc<Told>,
        log: (LogFormat, LogLevel),
    ) -> Self {
        let checks = settings.check.clone().map(Checks::new);
        Self { listener, asked: Asked { path: settings.path.clone(), told, checks, log } }
    }

    /// Answers until it cannot be gone on with, and returns why.
    pub(super) async fn serve(self) -> String {
        let error = match tokio::net::TcpListener::from_std(self.listener) {
            Ok(listener) => serve::serve(&listener, &Arc::new(self.asked)).await,
            Err(error) => error,
        };
        format!("its port takes no connections any more: {error}")
    }
}

// === impl Asked ===

impl Asked {
    /// One line in the log.
    fn complain(&self, about: &str) {
        log::set_up(self.log.0, self.log.1);
        warn!("health: {about}");
    }
}

// === impl Told ===

impl Told {
    pub(super) fn new(clock: Clock, state: State) -> Self {
        Self { clock, last: Mutex::new((clock.now(), state)) }
    }

    /// The state as it is at `now`.
    pub(super) fn tell(&self, now: Tick, state: State) {
        // A panic while it was held left a whole state behind: it is replaced in one go.
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (now, state);
    }

    /// The state by now: only its times have gone on since it was told.
    fn state(&self) -> State {
        let (told_at, state) = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        state.after(self.clock.now().saturating_sub(told_at))
    }
}
