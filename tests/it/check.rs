//! `lameduckctl check` on the scenarios below `tests/check`: each folder holds the files of a deployment and
//! what is said about them. tests/check/README.md tells how to add one.

use crate::support::files::{TempDir, tempdir};
use crate::support::scenarios::{compare, folders, nothing_differs, run, run_on, schema, transcript};
use crate::support::schema::faults;
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_examples_for_docker_and_compose_pass_with_nothing_to_say() {
    for files in [
        &["Dockerfile.example"] as &[_],
        &["examples/nginx/Dockerfile"],
        &["examples/compose/compose.yaml"],
        &["examples/compose/compose.yaml", "examples/nginx/Dockerfile"],
        &["examples/drop-in/compose.yaml"],
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

#[test]
fn every_scenario_prints_what_is_expected_of_it() {
    let (json_schema, sarif_schema) = (schema("examples/check/schema.json"), schema("tests/check/sarif.schema.json"));
    let mut wrong = Vec::new();
    for scenario in folders("check") {
        compare(&scenario, "report.txt", &transcript("check", &scenario), &mut wrong);
        for (format, name, schema) in [("json", "report.json", &json_schema), ("sarif", "report.sarif", &sarif_schema)]
        {
            let (text, _) = run_on("check", &scenario, &["--format", format]);
            compare(&scenario, name, &indented(&text), &mut wrong);
            let faults = faults(schema, &serde_json::from_str(&text).unwrap());
            assert_eq!(faults, Vec::<String>::new(), "{} as {format}", scenario.display());
        }
    }
    nothing_differs(&wrong);
}

#[test]
fn the_annotations_for_github_name_file_line_and_rule() {
    let scenario = folders("check").into_iter().find(|path| path.ends_with("ecs-ld002-broken")).unwrap();
    let (text, status) = run_on("check", &scenario, &["--format", "github"]);
    let (place, message) = text.trim_end().split_once("title=LD002 budget::").expect("one annotation");
    assert_eq!((place, status), ("::error file=task.json,line=19,col=20,", 1));
    assert!(message.ends_with("%0ASet stopTimeout to 50, or shorten delay or drain by 5 s."), "{message}");
    // What could not be read is one too.
    let scenario = folders("check").into_iter().find(|path| path.ends_with("bad-truncated")).unwrap();
    let (text, status) = run_on("check", &scenario, &["--format", "github"]);
    assert!(text.starts_with("::error file=bad.json,line=17,title=unreadable::"), "{text}");
    assert_eq!(status, 2);
}

const TASK: &str = "{\"family\": \"web\", \"containerDefinitions\": [{\"name\": \"web\", \"image\": \"web\"}]}";

/// What is said about a file that is refused, and a task definition, in so many megabytes of memory.
#[track_caller]
fn refused_within(megabytes: u32, directory: &TempDir, file: &str) -> String {
    let shell = format!("ulimit -v {}; exec \"$0\" check {file} task.json", megabytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &shell, env!("CARGO_BIN_EXE_lameduckctl")]).current_dir(&directory.path);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    text
}

#[test]
fn a_file_too_large_is_refused_unread_and_the_others_are_checked() {
    let directory = tempdir();
    fs::File::create(directory.path.join("large.json")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    directory.file("task.json", TASK, 0o644);
    // Less memory than the file has bytes: it is not read to be refused.
    let text = refused_within(64, &directory, "large.json");
    assert!(text.starts_with("large.json: larger than the 64 MB that are read\n"), "{text}");
    assert!(text.contains("2 files: 0 errors"), "{text}");
}

#[test]
fn standard_input_is_read_as_far_as_a_file_would_be() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lameduckctl"))
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let megabyte = vec![b' '; 1024 * 1024];
    let sent = (0..100).take_while(|_| input.write_all(&megabyte).is_ok()).count();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("-: larger than the 64 MB"), "{text}");
    assert!((64..100).contains(&sent), "{sent} MB were taken");
}

#[test]
fn the_number_of_values_in_a_file_has_a_limit_and_so_has_the_memory() {
    let directory = tempdir();
    directory.file("many.json", format!("[{}0]", "0,".repeat(2_000_000)), 0o644);
    directory.file("task.json", TASK, 0o644);
    let text = refused_within(1024, &directory, "many.json");
    assert!(text.starts_with("many.json:1: more than the 2000000 values that are read of one file\n"), "{text}");
}

#[test]
fn so_many_containers_are_held_against_each_other_and_no_more() {
    let directory = tempdir();
    let container = |at: usize| {
        let delay = "\"environment\": [{\"name\": \"LAMEDUCK_DELAY\", \"value\": \"5s\"}],";
        let delay = if at.is_multiple_of(2) { delay } else { "" };
        format!("{{\"name\": \"c{at}\", {delay} \"image\": \"x\", \"portMappings\": [{{\"containerPort\": 80}}]}}")
    };
    let containers: Vec<String> = (0..4_000).map(container).collect();
    let task = format!("{{\"family\": \"crowd\",\n\"containerDefinitions\": [{}]}}", containers.join(","));
    directory.file("crowd.json", task, 0o644);
    directory.file("task.json", TASK, 0o644);
    let text = refused_within(256, &directory, "crowd.json");
    assert!(text.starts_with("crowd.json:1: crowd: more than the 50 containers"), "{text}");
}

#[test]
fn a_template_that_was_not_rendered_is_named_as_one() {
    let directory = tempdir();
    directory.file("deployment.yaml", "kind: Deployment\nmetadata:\n  name: {{ .Values.name }}\n", 0o644);
    let (text, status) = run(&directory.path, &["check", "deployment.yaml"]);
    assert!(text.starts_with("deployment.yaml:3: ") && text.contains("render it first"), "{text}");
    assert_eq!(status, 2);
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let scenario = folders("check").into_iter().find(|path| path.ends_with("ecs-ld002-broken")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    let task = fs::File::open(scenario.join("task.json")).unwrap();
    let output = command.args(["check", "-"]).stdin(task).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("error[LD002]: web: ") && text.contains("  --> -:19:20\n"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn warnings_fail_only_where_they_are_to() {
    let scenario = folders("check").into_iter().find(|path| path.ends_with("ecs-ld013-broken")).unwrap();
    for (fail_on, status) in [("error", 0), ("warning", 1)] {
        let (text, found) = run_on("check", &scenario, &["--fail-on", fail_on]);
        assert!(text.contains("0 errors, 1 warning,") && found == status, "{fail_on}: {found}: {text}");
    }
}

#[test]
fn only_a_terminal_is_given_colours() {
    let scenario = folders("check").into_iter().find(|path| path.ends_with("ecs-ld002-broken")).unwrap();
    let coloured = |no_color: bool| {
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
        command.args(["check", "task.json"]).current_dir(&scenario).env_remove("NO_COLOR").stdout(pty.slave);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let mut child = command.spawn().unwrap();
        // The last of this end: reading fails when the other is gone.
        drop(command);
        let mut seen = Vec::new();
        let _ = std::io::Read::read_to_end(&mut fs::File::from(pty.master), &mut seen);
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let text = String::from_utf8(seen).unwrap();
        assert!(text.contains("LD002"), "{text}");
        text.contains('\u{1b}')
    };
    assert!(coloured(false), "a terminal");
    assert!(!coloured(true), "NO_COLOR");
    assert!(!run_on("check", &scenario, &[]).0.contains('\u{1b}'), "a pipe");
}

#[test]
fn the_rules_are_listed_and_each_is_explained() {
    let (list, status) = run(Path::new("/"), &["rules"]);
    assert_eq!(status, 0);
    for rule in lameduck::check::rules::RULES {
        assert!(list.contains(&format!("{}  {}", rule.id, rule.name)), "{}: {list}", rule.id);
        let (page, status) = run(Path::new("/"), &["rules", &rule.id.to_lowercase()]);
        assert!(page.starts_with(&format!("{} {}\n", rule.id, rule.name)) && status == 0, "{page}");
        // The lines are broken where there is room.
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [rule.formula, rule.severity, rule.about, rule.fix, rule.source, rule.example] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(!text.is_empty() && words.contains(&text), "{text}: {page}");
        }
    }
    assert_eq!(run(Path::new("/"), &["rules", "LD042"]).1, 2);
}

#[test]
fn all_that_is_wrong_with_the_command_line_is_told_at_once() {
    let words =
        ["check", "--format", "xml", "--fail-on", "info", "--set", "p99", "--ignore", "LD999", "--flow", "x", "a"];
    let (text, status) = run(Path::new("/"), &words);
    assert_eq!((text.lines().count(), status), (5, 2), "{text}");
    assert!(text.lines().all(|line| line.starts_with("lameduckctl: --")), "{text}");
}

/// The text between two marks of README.md; with `LAMEDUCK_BLESS` it becomes `new`.
fn in_the_readme(mark: &str, new: Option<&str>) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&file).unwrap();
    let (before, rest) = readme.split_once(&format!("<!-- {mark}: begin")).expect("the beginning");
    let (comment, rest) = rest.split_once("-->\n").expect("the end of its comment");
    let end = format!("<!-- {mark}: end -->");
    let (between, after) = rest.split_once(&end).expect("the end");
    if let Some(new) = new.filter(|_| std::env::var_os("LAMEDUCK_BLESS").is_some()) {
        fs::write(&file, format!("{before}<!-- {mark}: begin{comment}-->\n{new}{end}{after}")).unwrap();
        return new.to_owned();
    }
    between.to_owned()
}

#[test]
fn the_readme_has_the_table_of_the_rules() {
    let cell = |text: &str| text.replace('|', "\\|");
    let rows: Vec<String> = lameduck::check::rules::RULES
        .iter()
        .map(|rule| format!("| {} | {} | {} | {} |", rule.id, rule.name, cell(rule.formula), cell(rule.severity)))
        .collect();
    let rows = rows.join("\n") + "\n";
    let table = format!("| rule | name | must hold | else |\n|---|---|---|---|\n{rows}");
    assert_eq!(in_the_readme("rules", Some(&table)), table, "LAMEDUCK_BLESS=1 writes it");
}

#[test]
fn the_readme_has_the_formats_that_are_read() {
    let written = in_the_readme("formats", None);
    let listed: Vec<&str> =
        written.lines().map(|line| line.trim_start_matches("- ").split(':').next().unwrap()).collect();
    let known: Vec<&str> = lameduck::check::load::FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(listed, known);
}

#[test]
fn the_hook_for_pre_commit_runs_what_there_is() {
    let hooks = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml")).unwrap();
    let entry = hooks.lines().find_map(|line| line.trim_start().strip_prefix("entry: ")).expect("an entry");
    let (program, subcommand) = entry.split_once(' ').unwrap();
    assert!(env!("CARGO_BIN_EXE_lameduckctl").ends_with(program));
    assert_eq!(run(Path::new("/"), &[subcommand, "--help"]).1, 0);
}

#[test]
fn help_pages_fit_into_a_terminal() {
    for words in [&["--help"] as &[&str], &["check", "--help"], &["rules", "--help"], &["plan", "--help"]] {
        let (text, status) = run(Path::new("/"), words);
        assert_eq!(status, 0);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
        }
    }
}

#[test]
fn the_kubernetes_example_passes() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kubernetes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    let output = command.args(["check", "--fail-on", "warning"]).arg(&example).output().expect("lameduckctl runs");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("1 file: 0 errors, 0 warnings, 0 infos"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// What a larger shop has: Deployments, Services and Ingresses of an AWS balancer, each selecting one another.
fn a_shop(directory: &TempDir, files: usize, of_each: usize) {
    for file in 0..files {
        let documents: String = (0..of_each).map(|at| SHOP.replace("NAME", &format!("web-{file}-{at}"))).collect();
        directory.file(&format!("{file:02}.yaml"), documents, 0o644);
    }
}

const SHOP: &str = "\
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: NAME }
spec:
  replicas: 3
  selector: { matchLabels: { app: NAME } }
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      labels: { app: NAME }
    spec:
      terminationGracePeriodSeconds: 40
      containers:
        - name: web
          image: registry.example.com/web:1.4
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: LAMEDUCK_DELAY
              value: 15s
            - name: LAMEDUCK_DRAIN_TIMEOUT
              value: 20s
            - name: DATABASE_URL
              valueFrom: { secretKeyRef: { name: web, key: url } }
          readinessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 5
          resources:
            requests: { cpu: 100m, memory: 128Mi }
---
apiVersion: v1
kind: Service
metadata: { name: NAME }
spec:
  selector: { app: NAME }
  ports:
    - { name: http, port: 80, targetPort: http }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: NAME
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: '5'
spec:
  ingressClassName: alb
  rules:
    - http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: NAME, port: { number: 80 } } }
";

#[test]
#[ignore = "a benchmark: cargo test --release --test it check::a_thousand -- --ignored --nocapture"]
fn a_thousand_kubernetes_documents_take_less_than_a_second() {
    let directory = tempdir();
    a_shop(&directory, 20, 17);
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    let output = command.arg("check").arg(&directory.path).output().expect("lameduckctl runs");
    let took = started.elapsed();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("20 files: 0 errors, 0 warnings, 0 infos"), "{text}");
    // It is the only child of this process when nothing else is run.
    let most = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    let _ = writeln!(std::io::stderr(), "1,020 documents in 20 files: {} ms, {most} KB", took.as_millis());
    assert!(took < Duration::from_secs(1), "{took:?}");
}
