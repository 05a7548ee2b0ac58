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
        let lock = beside(&place);
        let lock = open_lock(&lock.path).map_err(|error| Failure { place: &lock, error }.to_string())?;
        let mut file = Self { place, lock, locked: Lock::NotWanted, told: None, failing: false };
        match file.tell(state) {
            None => Ok(file),
            Some(failure) => Err(failure),
        }
    }

    /// Takes the lock when a stop has begun. Returns what keeps it from ever being taken.
    pub(super) fn lock(&mut self, stopping: bool) -> Option<String> {
        if !stopping || self.locked == Lock::Settled {
            return None;
        }
        // What was cleaned up as an old file in the meantime would be locked for nobody to see.
        let removed = self.lock.metadata().is_ok_and(|meta| meta.nlink() == 0);
        if removed && let Ok(lock) = open_lock(&beside(&self.place).path) {
            self.lock = lock;
        }
        let (locked, failure) = match self.lock.try_lock() {
            Ok(()) => (Lock::Settled, None),
            Err(TryLockError::WouldBlock) => (Lock::Wanted, None),
            Err(TryLockError::Error(error)) => {
                (Lock::Settled, Some(format!("{}: cannot be locked: {error}", beside(&self.place).given_as)))
            }
        };
        self.locked = locked;
        failure
    }

    /// How soon the lock is to be tried again.
    pub(super) fn try_again(&self) -> Option<Duration> {
        (self.locked == Lock::Wanted).then_some(TRY_AGAIN)
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

/// `FILE.lock`.
fn beside(place: &Place) -> Place {
    let mut path = place.path.clone().into_os_string();
    path.push(".lock");
    Place { path: path.into(), given_as: format!("{} (its lock)", place.given_as) }
}

/// Whether two states differ in their times only.
fn same(a: &State, b: &State) -> bool {
    (a.phase, a.ready, a.main, a.stop, a.exit_code) == (b.phase, b.ready, b.main, b.stop, b.exit_code)
}
