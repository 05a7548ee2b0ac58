//! Files for others to see: made and removed, replaced as a whole, or written in place.
//!
//! Nothing here waits for a reader: a pipe that nobody reads is an error like any other. Parents are
//! never made: a directory that is not there is a volume that was not mounted.

use crate::cli::Place;
use nix::errno::Errno;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Why a file could not be written.
pub(super) struct Failure<'a> {
    pub(super) place: &'a Place,
    pub(super) error: io::Error,
}

/// A file that says something by being there.
pub(super) struct Mark {
    place: Place,
    /// It was made, and not removed since.
    there: bool,
    /// The last attempt failed; only the first of several is worth a line.
    failing: bool,
}

// === impl Mark ===

impl Mark {
    /// Removes what a former run left, and makes sure that the file can be made when it has to be.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn prepare(place: Place) -> Result<Self, String> {
        let tried = removable(&place.path).and_then(|()| absent(&place.path)).and_then(|()| {
            let beside = beside(&place.path);
            absent(&beside)?;
            new(&beside)?;
            absent(&beside)
        });
        match tried {
            Ok(()) => Ok(Self { place, there: false, failing: false }),
            Err(error) => Err(Failure { place: &place, error }.to_string()),
        }
    }

    /// From now on it is there.
    ///
    /// # Errors
    /// Why it is not; told once.
    pub(super) fn set(&mut self) -> Result<(), String> {
        if self.there {
            return Ok(());
        }
        match new(&self.place.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                let told = std::mem::replace(&mut self.failing, true);
                if told { Ok(()) } else { Err(Failure { place: &self.place, error }.to_string()) }
            }
            _ => {
                self.there = true;
                Ok(())
            }
        }
    }

    /// From now on it is not.
    ///
    /// # Errors
    /// Why it still is.
    pub(super) fn clear(&mut self) -> Result<(), String> {
        self.there = false;
        absent(&self.place.path).map_err(|error| Failure { place: &self.place, error }.to_string())
    }
}

// === impl Failure ===

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { path, given_as } = self.place;
        write!(f, "{given_as}: {:?} cannot be written: ", path.to_string_lossy())?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self.error.kind() {
            io::ErrorKind::NotFound if !dir.exists() => {
                write!(f, "the directory {:?} does not exist; lameduck makes none", dir.to_string_lossy())
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                f.write_str("the file system is read-only: mount a volume or a tmpfs there")
            }
            _ => write!(f, "{}", self.error),
        }
    }
}

/// Makes a file that must not be there yet.
fn new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

/// Whether what is there may be taken away: a file may, or a link to one. A device, a pipe or a
/// socket was made by somebody for something, and its name was hardly meant.
fn removable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(Errno::EISDIR.into()),
        Ok(meta) if !meta.is_file() => Err(io::Error::other("it is a device, a pipe or a socket: name a file")),
        _ => Ok(()),
    }
}

/// Sees to it that there is no such file.
fn absent(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The name under which a file is prepared, beside the one it is to have.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

/// Gives a file new content: readers find either the old or the new. Where no other file can take
/// its place (it is a mount of its own, a device or a pipe, or its directory is not ours to write),
/// it is written in place.
///
/// # Errors
/// Those of the writing in place.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if removable(path).is_err() {
        return write_in_place(path, text);
    }
    let beside = beside(path);
    // Not followed if it is a link, and nobody else's file either.
    let renamed = absent(&beside)
        .and_then(|()| new(&beside))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    if renamed.is_ok() {
        return Ok(());
    }
    let _ = absent(&beside);
    write_in_place(path, text)
}

/// Writes a file that stays the same file.
///
/// # Errors
/// Those of the file; `ENXIO` for a pipe without a reader.
pub(super) fn write_in_place(path: &Path, text: &str) -> io::Result<()> {
    write_all(&mut open_in_place(path)?, text)
}

/// So much of what a file holds is covered with blanks before it is cut: all that we ever write.
const COVERED: usize = 4_096;

/// Gives an open file new content.
///
/// # Errors
/// Those of the file.
pub(super) fn write_all(file: &mut File, text: &str) -> io::Result<()> {
    let before = file.metadata().ok().filter(Metadata::is_file).map(|meta| meta.len());
    // In one piece, and cut afterwards: who reads in between finds the whole of the new and blanks, not
    // nothing, nor the end of the old behind it.
    let covered = before.and_then(|length| usize::try_from(length).ok()).unwrap_or(0).min(COVERED);
    file.write_all(format!("{text:covered$}").as_bytes())?;
    if before.is_some() { file.set_len(text.len() as u64) } else { Ok(()) }
}

/// Opens a file to be written in place, and makes it when it is not there.
///
/// # Errors
/// Those of the file.
pub(super) fn open_in_place(path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o644).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_content_is_all_that_is_left_however_long_the_old_was() {
        let path = std::env::temp_dir().join(format!("lameduck-files-{}", std::process::id()));
        for old in [0, 3, 5, 4_000, 10_000] {
            fs::write(&path, "x".repeat(old)).unwrap();
            write_in_place(&path, "{é}\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "{é}\n", "{old}");
        }
        fs::remove_file(&path).unwrap();
    }
}
