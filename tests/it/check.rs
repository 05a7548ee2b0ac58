//! `lameduckctl check` on the scenarios below `tests/check`: each folder holds the files of a deployment and
//! what is said about them. tests/check/README.md tells how to add one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check")
}

/// A scenario's own words for the command line, or all of its files.
fn words(scenario: &Path) -> Vec<String> {
    if let Ok(text) = fs::read_to_string(scenario.join("command")) {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    let names = fs::read_dir(scenario).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "expected").collect();
    names.sort();
    names
}

/// What the program prints in that format, and its exit status.
fn run(scenario: &Path, format: &str) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    command.arg("check").args(words(scenario)).args(["--format", format]).current_dir(scenario);
    let output = command.output().expect("lameduckctl runs");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!errors.contains("panicked"), "{}: {errors}", scenario.display());
    (String::from_utf8(output.stdout).unwrap() + &errors, output.status.code().expect("an exit status"))
}

#[test]
fn the_examples_for_docker_and_compose_pass_with_nothing_to_say() {
    for files in [
        &["Dockerfile.example"] as &[_],
        &["examples/nginx/Dockerfile"],
        &["examples/compose/compose.yaml"],
        &["examples/compose/compose.yaml", "examples/nginx/Dockerfile"],
        &["examples/ecs/task-definition.json", "examples/nginx/Dockerfile"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
        command.arg("check").args(files).args(["--format", "json", "--fail-on", "warning"]);
        let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("lameduckctl runs");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{files:?}: {report:#}");
        assert_eq!(report["findings"].as_array().map(Vec::len), Some(0), "{files:?}: {report:#}");
        assert_eq!(report["summary"]["files"], files.len());
    }
}

/// JSON as it is compared: indented, and of SARIF without the list of rules, which is the same everywhere.
fn indented(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
    if let Some(driver) = value.pointer_mut("/runs/0/tool/driver").and_then(|driver| driver.as_object_mut()) {
        driver.remove("rules");
        driver.remove("version");
    }
    let results = value.pointer_mut("/runs/0/results").and_then(|results| results.as_array_mut());
    for result in results.into_iter().flatten() {
        result.as_object_mut().unwrap().remove("ruleIndex");
    }
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// All that a scenario prints, by the name of the file that keeps it.
fn printed(scenario: &Path) -> [(&'static str, String); 3] {
    let (text, status) = run(scenario, "text");
    let (json, _) = run(scenario, "json");
    let (sarif, _) = run(scenario, "sarif");
    let transcript = format!("$ lameduckctl check {}\n{text}exit {status}\n", words(scenario).join(" "));
    [("report.txt", transcript), ("report.json", indented(&json)), ("report.sarif", indented(&sarif))]
}

#[test]
fn every_scenario_prints_what_is_expected_of_it() {
    let bless = std::env::var_os("LAMEDUCK_BLESS").is_some();
    let mut scenarios: Vec<PathBuf> = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()).collect();
    scenarios.retain(|path| path.is_dir());
    scenarios.sort();
    assert!(!scenarios.is_empty());
    let mut wrong = Vec::new();
    for scenario in scenarios {
        for (name, found) in printed(&scenario) {
            let file = scenario.join("expected").join(name);
            if bless {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, &found).unwrap();
            } else if fs::read_to_string(&file).ok().as_ref() != Some(&found) {
                wrong.push(format!("{} is now\n{found}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\nLAMEDUCK_BLESS=1 accepts what is new", wrong.join("\n"));
}
