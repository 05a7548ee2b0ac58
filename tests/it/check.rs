//! `lameduckctl check` on the scenarios below `tests/check`: each folder holds the files of a deployment and
//! what is said about them. tests/check/README.md tells how to add one.

use crate::support::files::{TempDir, tempdir};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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
    let _ = writeln!(std::io::stderr(), "1,020 documents in 20 files: {} ms", took.as_millis());
    assert!(took < Duration::from_secs(1), "{took:?}");
}
