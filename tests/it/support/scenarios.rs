//! Folders of scenarios: the files of a deployment, and what `lameduckctl` prints about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders below `tests/NAME`, in order.
pub(crate) fn folders(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let mut folders: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

/// A scenario's own words for the command line, or all of its files.
pub(crate) fn words(scenario: &Path) -> Vec<String> {
    if let Ok(text) = fs::read_to_string(scenario.join("command")) {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    let names = fs::read_dir(scenario).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "expected").collect();
    names.sort();
    names
}

/// What the program prints in a directory, and its exit status.
pub(crate) fn run(directory: &Path, words: &[&str]) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    let output = command.args(words).current_dir(directory).output().expect("lameduckctl runs");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!errors.contains("panicked"), "{}: {errors}", directory.display());
    (String::from_utf8(output.stdout).unwrap() + &errors, output.status.code().expect("an exit status"))
}

/// The same of a subcommand on a scenario, with more words behind.
pub(crate) fn run_on(subcommand: &str, scenario: &Path, more: &[&str]) -> (String, i32) {
    let words = words(scenario);
    let own = words.iter().map(String::as_str);
    // In front: `--from-reports` takes all that follows.
    let all: Vec<&str> = [subcommand].into_iter().chain(more.iter().copied()).chain(own).collect();
    run(scenario, &all)
}

/// What the program prints as text, as one would paste it.
pub(crate) fn transcript(subcommand: &str, scenario: &Path) -> String {
    let (text, status) = run_on(subcommand, scenario, &[]);
    format!("$ lameduckctl {subcommand} {}\n{text}exit {status}\n", words(scenario).join(" "))
}

/// Compares with what the folder keeps as expected; with `LAMEDUCK_BLESS` keeps what is new.
pub(crate) fn compare(scenario: &Path, name: &str, found: &str, wrong: &mut Vec<String>) {
    let file = scenario.join("expected").join(name);
    if std::env::var_os("LAMEDUCK_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, found).unwrap();
    } else if fs::read_to_string(&file).ok().as_deref() != Some(found) {
        wrong.push(format!("{} is now\n{found}", file.display()));
    }
}

/// Fails with all that differs.
#[track_caller]
pub(crate) fn nothing_differs(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}\nLAMEDUCK_BLESS=1 accepts what is new", wrong.join("\n"));
}

/// A schema of this repository.
pub(crate) fn schema(file: &str) -> serde_json::Value {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}
