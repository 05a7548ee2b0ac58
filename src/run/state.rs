//! The state file: what `/status` would say, for those who cannot ask; and the lock beside it, which
//! says "a planned stop is running" to whoever would repair what is only being stopped.

use super::files::{self, Failure};
use crate::cli::Place;
use crate::core::State;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

/// How soon the lock is tried again when somebody else holds it: a watchdog that looks holds it for
/// a moment, and must not keep us from it for the whole of the delay.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// How long somebody else may hold the lock in a stop before that is worth a line. Whoever only looks
/// has let go of it long before.
const HELD_LONG: Duration = Duration::from_secs(1);

/// A state file and its lock.
pub(super) struct StateFile {
    place: Place,
    lock: File,
    locked: Lock,
    /// What the file says, but for the times.
    told: Option<State>,
    /// Whether the last attempt failed; only the first of several is worth a line.
    failing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// Nobody asked for a stop.
    NotWanted,
    /// Somebody else has it.
    Wanted,
    /// Somebody else has had it for long, and that was told.
    Missed,
    /// It is ours, or cannot be had at all.
    Settled,
}

// === impl StateFile ===

impl StateFile {
    /// Writes the first state, and opens the lock.
    ///
    /// # Errors
    /// Why one of the two cannot be written.
    pub(super) fn open(place: Place, state: &State) -> Result<Self, String> {
        let lock = place.lock();
        let lock = open_lock(&lock.path).map_err(|error| Failure { place: &lock, error }.to_string())?;
        let mut file = Self { place, lock, locked: Lock::NotWanted, told: None, failing: false };
        match file.tell(state) {
            None => Ok(file),
            Some(failure) => Err(failure),
        }
    }

    /// Takes the lock when a stop has been running for so long. Returns what keeps it from being taken.
    pub(super) fn lock(&mut self, stopping: Option<Duration>) -> Option<String> {
        let stopping = stopping.filter(|_| self.locked != Lock::Settled)?;
        // What was cleaned up as an old file in the meantime would be locked for nobody to see.
        let removed = self.lock.metadata().is_ok_and(|meta| meta.nlink() == 0);
        if removed && let Ok(lock) = open_lock(&self.place.lock().path) {
            self.lock = lock;
        }
        let (locked, failure) = match self.lock.try_lock() {
            Ok(()) => (Lock::Settled, None),
            Err(TryLockError::WouldBlock) if stopping < HELD_LONG => (Lock::Wanted, None),
            Err(TryLockError::WouldBlock) if self.locked == Lock::Missed => (Lock::Missed, None),
            Err(TryLockError::WouldBlock) => {
                (Lock::Missed, Some("somebody else holds it: a watchdog does not see this stop".to_owned()))
            }
            Err(TryLockError::Error(error)) => (Lock::Settled, Some(error.to_string())),
        };
        self.locked = locked;
        failure.map(|why| {
            let Place { path, given_as } = self.place.lock();
            format!("{given_as}: {:?} cannot be locked: {why}", path.to_string_lossy())
        })
    }

    /// How soon the lock is to be tried again.
    pub(super) fn try_again(&self) -> Option<Duration> {
        matches!(self.locked, Lock::Wanted | Lock::Missed).then_some(TRY_AGAIN)
    }

    /// Writes the state if it says anything new. Returns the first of several failures.
    pub(super) fn tell(&mut self, state: &State) -> Option<String> {
        if self.told.as_ref().is_some_and(|told| same(told, state)) {
            return None;
        }
        self.told = Some(state.clone());
        let result = files::replace(&self.place.path, &format!("{}\n", state.json()));
        let failed_before = std::mem::replace(&mut self.failing, result.is_err());
        let failure = result.err().map(|error| Failure { place: &self.place, error }.to_string());
        failure.filter(|_| !failed_before)
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)
}

/// Whether two states differ in their times only.
fn same(a: &State, b: &State) -> bool {
    (a.phase, a.ready, a.main, a.stop, a.exit_code) == (b.phase, b.ready, b.main, b.stop, b.exit_code)
}
