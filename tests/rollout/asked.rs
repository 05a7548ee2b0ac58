//! The command line: own flags, and those of cargo's harness, which come along when all tests are run.

use super::cell::{self, Cell};
use super::docker::Result;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Replaces servers behind a balancer under load, and counts what is lost.

cargo test --test rollout -- [WORD...] [--long] [--replacements N] [--html DIR] [--list]

  WORD...           only the cells with these words in their names: mesh nginx
  --long            the parts of the long form: inits, servers, matrix, quiet; one of them as a WORD
  --replacements N  replace so many times per cell, in place of 2, 10 or 200: a long part in small
  --html DIR        a page for each cell
  --list            the names of the cells

Needs root, a Docker engine and debootstrap. With --release the load takes less from the servers.

cargo test --release --test rollout -- --long quiet
";

/// Flags of the harness that take a value.
const WITH_VALUE: [&str; 7] = ["--skip", "--test-threads", "--format", "--color", "--logfile", "--shuffle-seed", "-Z"];

/// Its others.
const PLAIN: [&str; 13] = [
    "--ignored",
    "--include-ignored",
    "--nocapture",
    "--no-capture",
    "--show-output",
    "--exact",
    "--quiet",
    "-q",
    "--test",
    "--bench",
    "--report-time",
    "--shuffle",
    "--exclude-should-panic",
];

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) words: Vec<String>,
    pub(crate) long: bool,
    pub(crate) replacements: Option<usize>,
    pub(crate) list: bool,
    pub(crate) help: bool,
    pub(crate) html: Option<PathBuf>,
}

// === impl Asked ===

impl Asked {
    pub(crate) fn read(args: &[String]) -> Result<Self> {
        let mut asked = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--long" => asked.long = true,
                "--list" => asked.list = true,
                "--help" | "-h" => asked.help = true,
                "--html" => asked.html = Some(args.next().ok_or("--html: write the directory behind it")?.into()),
                "--replacements" => {
                    let number = args.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
                    asked.replacements = Some(number.ok_or("--replacements: write a number behind it")?);
                }
                flag if WITH_VALUE.contains(&flag) => drop(args.next()),
                flag if PLAIN.contains(&flag) || WITH_VALUE.iter().any(|known| is_with(flag, known)) => {}
                flag if flag.starts_with('-') => return Err(format!("{flag}: not a flag here; see --help")),
                word => asked.words.push(word.to_owned()),
            }
        }
        Ok(asked)
    }

    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = if self.long { cell::long() } else { cell::short() };
        cells.retain(|cell| self.words.iter().all(|word| cell.name().contains(word.as_str())));
        for cell in &mut cells {
            cell.replacements = self.replacements.unwrap_or(cell.replacements);
        }
        cells
    }

    /// The command that does it again.
    pub(crate) fn command(&self) -> String {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        let mut words = vec![format!("cargo test{release} --test rollout --")];
        words.extend(self.long.then(|| "--long".to_owned()));
        words.extend(self.words.iter().cloned());
        words.extend(self.replacements.map(|number| format!("--replacements {number}")));
        let command = words.join(" ");
        command.trim_end_matches(" --").to_owned()
    }
}

/// Whether it is `known=value`.
fn is_with(flag: &str, known: &str) -> bool {
    flag.strip_prefix(known).is_some_and(|value| value.starts_with('='))
}
