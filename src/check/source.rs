//! The files that are checked: their text, and places in it.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// One file, whole.
#[derive(Debug)]
pub struct Source {
    /// As it was named on the command line, or found below a directory that was; `-` for standard input.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where each line but the first begins.
    lines: Vec<usize>,
}

/// All files that could be read, in the order in which they were named.
#[derive(Debug, Default)]
pub struct Sources(Vec<Source>);

/// Which of the [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A stretch of a file's text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

/// Why something could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The name of the file.
    pub file: String,
    /// The line, from 1; `None` when it is the file as a whole.
    pub line: Option<usize>,
    /// What is wrong and what to do.
    pub message: String,
}

/// No larger file is read: what a deployment is described with is a thousand times smaller.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// So many files are read at the most, and no deeper below a directory than [`DEEPEST`].
const MOST_FILES: usize = 20_000;
const DEEPEST: usize = 32;

/// The files meant by `arguments`: files as they are, directories by what in them looks like a
/// deployment's, sorted. The flag says whether a file was named itself. One that is meant twice is there once.
pub fn find(arguments: &[PathBuf], problems: &mut Vec<Problem>) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for argument in arguments {
        if argument.is_dir() {
            let before = found.len();
            walk(argument, 0, &mut found, problems);
            if found.len() == before {
                let message = "no file in here that is looked at: *.json, *.yaml, *.yml, *Dockerfile*".to_owned();
                problems.push(Problem { file: shown(argument), line: None, message });
            }
        } else {
            found.push((argument.clone(), true));
        }
    }
    let named: BTreeSet<String> = found.iter().filter(|(_, named)| *named).map(|(path, _)| normal(path)).collect();
    let mut seen = BTreeSet::new();
    found.retain(|(path, _)| seen.insert(normal(path)));
    for (path, is_named) in &mut found {
        *is_named = named.contains(&normal(path));
    }
    if found.len() > MOST_FILES {
        let message = format!("{} files are more than the {MOST_FILES} that are read at once", found.len());
        problems.push(Problem { file: shown(&found[MOST_FILES].0), line: None, message });
        found.truncate(MOST_FILES);
    }
    found
}

fn normal(path: &Path) -> String {
    super::image::normal_path(&shown(path))
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, bool)>, problems: &mut Vec<Problem>) {
    let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(Problem { file: shown(directory), line: None, message: error.to_string() });
            return;
        }
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // Links are not followed to directories: they can form circles.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_directory && depth < DEEPEST && !name.starts_with('.') && name != "node_modules" {
            walk(&entry.path(), depth + 1, found, problems);
        } else if !is_directory && looked_at(&name) && entry.path().is_file() {
            found.push((entry.path(), false));
        }
    }
}

/// Whether a file that was not named itself may be one of a deployment.
fn looked_at(name: &str) -> bool {
    let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
    ends(".json")
        || ends(".yaml")
        || ends(".yml")
        || ["Dockerfile", "Containerfile"].iter().any(|kind| name.contains(kind))
        || ends(".dockerfile")
}

/// A path as text.
#[must_use]
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Reads a file, `-` for standard input.
///
/// # Errors
/// What is wrong with it: not there, too large, not text.
pub fn read(path: &Path) -> Result<Source, Problem> {
    let name = shown(path);
    let problem = |line, message: String| Problem { file: name.clone(), line, message };
    let too_large = || problem(None, format!("larger than the {} MB that are read", MOST_BYTES / 1024 / 1024));
    // Said by its length: no reason to read it first. A pipe has none.
    if name != "-" && std::fs::metadata(path).is_ok_and(|file| file.len() > MOST_BYTES) {
        return Err(too_large());
    }
    let bytes = if name == "-" { take(io::stdin().lock()) } else { std::fs::File::open(path).and_then(take) };
    let bytes = bytes.map_err(|error| problem(None, format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(too_large());
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Err(problem(None, "empty".to_owned())),
        Ok(text) => Ok(Source::new(name, text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            Err(problem(Some(line), "not UTF-8: save the file as UTF-8".to_owned()))
        }
    }
}

fn take(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

// === impl Sources ===

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, source: Source) -> FileId {
        self.0.push(source);
        FileId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The file of that number.
    #[must_use]
    pub fn get(&self, file: FileId) -> &Source {
        &self.0[file.0 as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        (0..).map(FileId).zip(&self.0)
    }

    /// Line and column of a place, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, place: Place) -> (usize, usize) {
        self.get(place.file).position(place.start)
    }
}

// === impl Source ===

impl Source {
    /// A file of that name and text.
    #[must_use]
    pub fn new(name: String, text: String) -> Self {
        let lines = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { name, text, lines }
    }

    /// Line and column of a byte, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, at: u32) -> (usize, usize) {
        let at = (at as usize).min(self.text.len());
        let before = self.lines.partition_point(|start| *start <= at);
        let start = before.checked_sub(1).map_or(0, |line| self.lines[line]);
        let column = self.text.get(start..at).map_or(0, |text| text.chars().count());
        (before + 1, column + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_meant_twice_is_read_once() {
        let directory = std::env::temp_dir().join(format!("lameduck-find-{}", std::process::id()));
        let inner = directory.join("in");
        std::fs::create_dir_all(&inner).unwrap();
        for name in ["a.yaml", "b.yaml", "c.txt"] {
            std::fs::write(inner.join(name), "").unwrap();
        }
        let mut problems = Vec::new();
        let arguments = [inner.clone(), inner.join("./b.yaml"), inner.join("../in/c.txt"), inner.clone()];
        let found = find(&arguments, &mut problems);
        std::fs::remove_dir_all(&directory).unwrap();
        let found: Vec<(String, bool)> = found.into_iter().map(|(path, named)| (normal(&path), named)).collect();
        let wanted = [("a.yaml", false), ("b.yaml", true), ("c.txt", true)];
        assert_eq!(found, wanted.map(|(name, named)| (normal(&inner.join(name)), named)));
        assert!(problems.is_empty());
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let source = Source::new("a".to_owned(), "é1\n\n  x\n".to_owned());
        let at = |text: &str| source.position(u32::try_from(source.text.find(text).unwrap()).unwrap());
        assert_eq!([at("é"), at("1"), at("x")], [(1, 1), (1, 2), (3, 3)]);
        assert_eq!(source.position(3), (1, 3), "the line's end is the line's");
        assert_eq!(source.position(u32::MAX), (4, 1));
    }
}
