//! Whether the server has come up: looked at when somebody asks, until it has.

use super::Asked;
use crate::core::duration::Written;
use crate::core::startup::{self, Up};
use crate::core::{Pid, Tick};
use crate::run::watch::listening;
use crate::sys::process::give_back_memory;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Whoever asks again within this time is told the same: a new server is probed by many at once.
const GOOD_FOR: Duration = Duration::from_millis(50);

/// A look may cost an eleventh of the time, however many processes there are to be looked at.
const SHARE: u32 = 10;

/// What a server that has not come up is said to lack.
pub(super) const COMPLAINT: &str = "the server listens on no TCP port yet";

/// The server that is looked at.
pub(in crate::run) struct Startup {
    own_pid: Pid,
    /// Which ports are its own, where that was said.
    ports: Vec<u16>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    startup: startup::Startup,
    /// When it is worth a look again.
    next: Tick,
}

// === impl Startup ===

impl Startup {
    pub(in crate::run) fn new(own_pid: Pid, ports: Vec<u16>) -> Self {
        Self { own_pid, ports, seen: Mutex::default() }
    }

    /// Whether it has come up. The log is told when it does in another way than by listening.
    pub(super) fn is_up(&self, asked: &Asked) -> bool {
        let clock = &asked.told.clock;
        // A panic while it was held left nothing half done: what was seen then is lost.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let began = clock.now();
        if seen.startup.up().is_some() || began < seen.next {
            return seen.startup.up().is_some();
        }
        let main = asked.told.state().main;
        let up = seen.startup.look(began, listening::at_the_server(&self.ports, self.own_pid, main, clock));
        let now = clock.now();
        seen.next = now + GOOD_FOR.max(now.saturating_sub(began) * SHARE);
        if let Some(up) = up {
            tell(asked, up);
            // No look comes after this one.
            give_back_memory();
        }
        up.is_some()
    }
}

fn tell(asked: &Asked, up: Up) {
    let seen = match up {
        Up::Listens => return,
        Up::Idle => {
            format!("it is seen to listen on no TCP port and has done next to nothing for {}", Written(startup::IDLE))
        }
        Up::Late => format!("it is seen to listen on no TCP port after {}", Written(startup::LONGEST)),
        Up::Unseen => "whether it listens cannot be seen here".to_owned(),
    };
    asked.inform(&format!("the server counts as ready: {seen}; --health-check can ask it"));
}
