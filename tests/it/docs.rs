//! What the documentation says is what the program does: flags, variables, the table of programs, and
//! the numbers of the examples.

use lameduck::core::duration::{self, Written};
use lameduck::core::{Budget, Machine, Policy, programs};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn lameduck(args: &[&str], environ: &[(String, String)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduck"));
    command.args(args).envs(environ.iter().cloned()).output().expect("lameduck runs")
}

/// The words of a text that begin with `prefix` and go on in these characters.
fn words(text: &str, prefix: &str, goes_on: fn(char) -> bool) -> BTreeSet<String> {
    let all = text.split(|c: char| !goes_on(c)).filter(|word| word.starts_with(prefix) && word.len() > prefix.len());
    all.map(str::to_owned).collect()
}

/// Its flags, long and short.
fn flags(text: &str) -> BTreeSet<String> {
    let mut all = words(text, "-", |c| c.is_ascii_alphanumeric() || c == '-');
    all.retain(|word| match word.as_bytes() {
        [b'-', short] => short.is_ascii_alphanumeric(),
        [b'-', b'-', first, ..] => first.is_ascii_lowercase(),
        _ => false,
    });
    all
}

fn variables(text: &str) -> BTreeSet<String> {
    words(text, "LAMEDUCK_", |c| c.is_ascii_uppercase() || c == '_')
}

/// What stands under a heading, to the next of its kind.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The rows of the first table under a heading, each as its cells.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let section = section(text, heading);
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

#[test]
fn the_readme_lists_the_flags_and_variables_of_the_help_page_and_no_others() {
    let help = String::from_utf8(lameduck(&["--help"], &[]).stdout).unwrap();
    let rows = table(&read("README.md"), "## Flags and variables");
    let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>().join("\n");
    assert_eq!(flags(&column(0)), flags(&help));
    assert_eq!(variables(&column(1)), variables(&help));
}

#[test]
fn the_readme_names_the_flags_of_each_desk_tool_where_it_tells_of_it_and_no_others() {
    let readme = read("README.md");
    // Of lameduck itself, and of the programs that stand in front of the tools or build them.
    let mut others = flags(&String::from_utf8(lameduck(&["--help"], &[]).stdout).unwrap());
    others.extend(["--cluster", "--services", "--names", "--target-group-arn", "-f"].map(str::to_owned));
    for (tool, heading) in [
        ("check", "## Checking a deployment"),
        ("plan", "## Planning a deployment"),
        ("probe", "## Measuring a deploy"),
    ] {
        let help = Command::new(env!("CARGO_BIN_EXE_lameduckctl")).args([tool, "--help"]).output().unwrap();
        let known = flags(&String::from_utf8(help.stdout).unwrap());
        let named = flags(section(&readme, heading));
        let missing: Vec<_> =
            known.difference(&named).filter(|flag| !["-h", "--help"].contains(&flag.as_str())).collect();
        assert!(missing.is_empty(), "{heading} lacks {missing:?}");
        let stale: Vec<_> = named.iter().filter(|flag| !known.contains(*flag) && !others.contains(*flag)).collect();
        assert!(stale.is_empty(), "{heading} has {stale:?}");
    }
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path().join("README.md"));
    let mut files: Vec<_> = examples.filter(|file| file.exists()).collect();
    files.push(root.join("README.md"));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let anchors: BTreeSet<String> = text.lines().filter(|line| line.starts_with('#')).map(anchor).collect();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let leads = match link.strip_prefix('#') {
                Some(anchor) => anchors.contains(anchor),
                None => link.starts_with("https://") || file.with_file_name(link).exists(),
            };
            assert!(leads, "{}: {link}", file.display());
        }
    }
}

/// What a heading is called in links to it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
}

#[test]
fn the_readme_knows_no_variable_that_lameduck_does_not() {
    let known = variables(&String::from_utf8(lameduck(&["--help"], &[]).stdout).unwrap());
    let files = [
        "README.md",
        "Dockerfile.example",
        "examples/drop-in/README.md",
        "examples/ecs/README.md",
        "examples/nginx/README.md",
        "examples/watchdog/README.md",
    ];
    for file in files {
        let mut used = variables(&read(file));
        // Of the build, not of the program.
        used.remove("LAMEDUCK_GIT_HASH");
        // Of hooks: lameduck sets them.
        for of_hooks in ["LAMEDUCK_PHASE", "LAMEDUCK_SIGNAL", "LAMEDUCK_MAIN_PID", "LAMEDUCK_EXIT_CODE"] {
            used.remove(of_hooks);
        }
        // A `LAMEDUCK_*` in running text is cut to nothing by `words`.
        assert!(used.is_subset(&known), "{file}: {:?}", used.difference(&known).collect::<Vec<_>>());
    }
}

#[test]
fn the_readme_shows_the_state_with_the_keys_it_has() {
    let readme = read("README.md");
    let line = readme.lines().find(|line| line.starts_with("{\"schema\":1,\"phase\"")).expect("a state");
    let shown: serde_json::Value = serde_json::from_str(line).unwrap();
    let state = Machine::new(Policy::default(), "x").state(Duration::ZERO).json().to_string();
    let real: serde_json::Value = serde_json::from_str(&state).unwrap();
    let keys = |state: &serde_json::Value| state.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&shown), keys(&real));
}

#[test]
fn the_readme_has_the_table_of_programs() {
    let rows = table(&read("README.md"), "## Which signal stops which server");
    let written: BTreeSet<(String, String, bool)> = rows
        .iter()
        .flat_map(|row| {
            let names = row[0].split(", ").map(|name| name.trim_matches('`').to_owned());
            names.map(|name| (name, format!("SIG{}", row[1]), row[2] == "yes"))
        })
        .collect();
    let known = programs::all().iter().map(|p| (p.name.to_owned(), p.graceful.to_string(), p.drains)).collect();
    assert_eq!(written, known);
}

#[test]
fn the_readme_has_the_classes_of_the_probe() {
    let rows = table(&read("README.md"), "## Measuring a deploy");
    let written: Vec<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    let known: Vec<&str> = lameduck::probe::outcome::Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(written, known);
}

#[test]
fn the_readme_and_the_dockerfile_build_with_the_one_script() {
    let build = read(".ci/build");
    let flags = build.lines().find(|line| line.starts_with("flags=")).expect("the flags").trim_start_matches("flags=");
    assert!(read("README.md").contains(flags.trim_matches('"')), "README.md shows other flags than {flags}");
    assert!(read("README.md").contains(".ci/build"));
    assert!(read("Dockerfile.example").contains(".ci/build"));
}

/// The numbers of one container in an example.
#[derive(Debug, Default)]
struct Numbers {
    variables: Vec<(String, String)>,
    /// What the platform waits before it kills.
    grace: Option<Duration>,
}

// === impl Numbers ===

impl Numbers {
    /// Reads a piece of a file: every variable with its value, and the number behind `key`.
    fn read(text: &str, key: &str) -> Self {
        let mut numbers = Self::default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
        for name in ["LAMEDUCK_DELAY", "LAMEDUCK_DRAIN_TIMEOUT", "LAMEDUCK_LINGER", "LAMEDUCK_GRACE"] {
            if let Some(value) = after(&code, name) {
                numbers.variables.push((name.to_owned(), value));
            }
        }
        numbers.grace = after(&code, key).map(|value| duration::parse(&value).unwrap());
        numbers
    }

    fn get(&self, name: &str) -> Option<Duration> {
        let value = self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        value.map(|value| duration::parse(value).unwrap())
    }

    /// The stop fits into what the platform waits, and the container knows that number.
    fn assert_they_fit(&self, what: &str) {
        let grace = self.grace.unwrap_or_else(|| panic!("{what}: no grace period in {self:?}"));
        assert_eq!(self.get("LAMEDUCK_GRACE"), Some(grace), "{what}: the container is told another limit");
        let policy = Policy {
            delay: self.get("LAMEDUCK_DELAY").unwrap_or_else(|| panic!("{what}: no delay")),
            drain: Some(self.get("LAMEDUCK_DRAIN_TIMEOUT").unwrap_or_else(|| panic!("{what}: no drain timeout"))),
            linger: self.get("LAMEDUCK_LINGER"),
            ..Policy::default()
        };
        let budget = Budget::of(&policy);
        assert!(budget.total().is_some_and(|total| total < grace), "{what}: {budget}, but {} is all", Written(grace));
        // And lameduck itself says so.
        let explained = lameduck(&["--explain"], &self.variables);
        assert_eq!(explained.status.code(), Some(0), "{what}: {}", String::from_utf8_lossy(&explained.stdout));
    }
}

/// The duration that stands after a word, with only punctuation and `"value"` between them.
fn after(text: &str, word: &str) -> Option<String> {
    let rest = text.split_once(word)?.1.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '\n');
    let value: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    (!value.is_empty()).then_some(value)
}

#[test]
fn the_numbers_of_the_examples_fit_into_what_their_platform_waits() {
    Numbers::read(&read("examples/ecs/task-definition.json"), "\"stopTimeout\"").assert_they_fit("ecs");
    let kubernetes = read("examples/kubernetes/deployment.yaml");
    Numbers::read(&kubernetes, "terminationGracePeriodSeconds").assert_they_fit("kubernetes");
    let compose = read("examples/compose/compose.yaml");
    let (web, inside) = compose.split_once("\n  inside:\n").expect("two services");
    Numbers::read(web, "stop_grace_period").assert_they_fit("compose: web");
    Numbers::read(inside, "stop_grace_period").assert_they_fit("compose: inside");
    Numbers::read(&read("examples/drop-in/compose.yaml"), "stop_grace_period").assert_they_fit("drop-in: compose");
    Numbers::read(&read("examples/drop-in/containers.conf"), "stop_timeout").assert_they_fit("drop-in: podman");
}

#[test]
fn the_dockerfiles_have_the_delay_and_drain_that_the_deployments_have() {
    let deployed = Numbers::read(&read("examples/compose/compose.yaml"), "stop_grace_period");
    for file in ["Dockerfile.example", "examples/nginx/Dockerfile"] {
        let built = Numbers::read(&read(file), "none");
        for name in ["LAMEDUCK_DELAY", "LAMEDUCK_DRAIN_TIMEOUT"] {
            assert!(built.get(name).is_some(), "{file}: {name}");
            assert_eq!(built.get(name), deployed.get(name), "{file}: {name}");
        }
    }
}

#[test]
fn nginx_of_the_examples_gives_up_before_it_is_killed() {
    let built = Numbers::read(&read("examples/nginx/Dockerfile"), "none");
    let nginx = after(&read("examples/nginx/nginx.conf"), "\nworker_shutdown_timeout");
    let own = duration::parse(&nginx.expect("a limit of its own")).unwrap();
    assert!(built.get("LAMEDUCK_DRAIN_TIMEOUT").is_some_and(|drain| own < drain));
}
