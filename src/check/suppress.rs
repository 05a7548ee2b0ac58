//! Findings that are known and wanted: `lameduck:ignore LD010 -- reason` anywhere in a file takes out that
//! rule's findings which have a place in this file; `--ignore LD010` takes them out everywhere.

use super::report::{Report, Suppressed};
use super::source::{FileId, Sources};

const MARK: &str = "lameduck:ignore";

/// One such line.
struct Ignore {
    file: FileId,
    rules: Vec<String>,
    reason: String,
}

/// Moves what is to be ignored from the findings to the suppressed.
pub fn apply(report: &mut Report, sources: &Sources, everywhere: &[String]) {
    let in_files: Vec<Ignore> = sources
        .iter()
        .flat_map(|(file, source)| source.text.lines().filter_map(move |line| read(file, line)))
        .collect();
    for finding in std::mem::take(&mut report.findings) {
        let id = finding.rule.id;
        let named = |rules: &[String]| rules.iter().any(|rule| rule.eq_ignore_ascii_case(id));
        let touches = |file| finding.places.iter().any(|cited| cited.place.is_some_and(|place| place.file == file));
        if let Some(ignore) = in_files.iter().find(|ignore| named(&ignore.rules) && touches(ignore.file)) {
            let by = sources.get(ignore.file).name.clone();
            report.suppressed.push(Suppressed { finding, by, reason: ignore.reason.clone(), in_file: true });
        } else if named(everywhere) {
            let by = "--ignore".to_owned();
            report.suppressed.push(Suppressed { finding, by, reason: String::new(), in_file: false });
        } else {
            report.findings.push(finding);
        }
    }
}

fn read(file: FileId, line: &str) -> Option<Ignore> {
    let (_, rest) = line.split_once(MARK)?;
    let (rules, reason) = rest.split_once("--").unwrap_or((rest, ""));
    let rules = rules.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 5);
    let reason = reason.trim().trim_end_matches(['"', '\'', ',']).trim_end();
    Some(Ignore { file, rules: rules.map(str::to_owned).collect(), reason: reason.to_owned() })
}
