//! A deploy command under the load.

use super::server::{Probed, answering, command, probe, probed, server};
use crate::support::until;
use std::process::Stdio;

fn deploying(script: &str) -> Probed {
    let server = server(answering("200 OK", "", ""));
    probe(&[&server.url(), "--settle", "500ms", "--", "sh", "-c", script])
}

#[test]
fn the_load_lasts_from_before_the_deploy_to_after_it() {
    let probed = deploying("echo one; echo two >&2; sleep 0.5");
    assert_eq!((probed.code, probed.number("/deploy/exit_code")), (Some(0), 0), "{}", probed.text);
    let seconds = probed.json["deploy"]["seconds"].as_f64().unwrap();
    // Two seconds before it, half a second of it, half a second after it, at 50 a second.
    assert!(seconds >= 0.5 && probed.number("/sent") >= 150, "{seconds} s, {} sent", probed.number("/sent"));
    assert_eq!(probed.json["timeline"][0]["second"], -2);
    assert!(probed.text.contains("| one\n") && probed.text.contains("| two\n"), "{}", probed.text);
    assert!(probed.text.contains("it says: one") && probed.text.contains("it ends with status 0"), "{}", probed.text);
}

#[test]
fn losses_are_told_from_the_start_of_the_deploy() {
    let probed = probe(&["http://127.0.0.1:9/", "--settle", "0s", "--max-lost", "1000", "--", "true"]);
    let first = probed.json["first_lost_s"].as_f64().unwrap();
    assert!((-2.1..-1.5).contains(&first), "{first}");
    assert!(probed.text.contains("before the deploy began"), "{}", probed.text);
}

#[test]
fn a_deploy_that_fails_is_no_measure_and_a_lost_request_says_more() {
    let probed = deploying("exit 3");
    assert_eq!((probed.code, probed.number("/deploy/exit_code")), (Some(2), 3));
    assert!(probed.text.contains("NO MEASURE: the deploy command failed with status 3"), "{}", probed.text);
    // Nor is there a number to quote.
    assert!(
        !probed.text.contains("requests was lost") && !probed.text.contains("requests were lost"),
        "{}",
        probed.text
    );
    assert_eq!(deploying("kill -9 $$").number("/deploy/exit_code"), 137);
    assert_eq!(probe(&["http://127.0.0.1:9/", "--settle", "0s", "--", "false"]).code, Some(1));
}

#[test]
fn a_command_that_is_not_there_is_told() {
    let probed = probe(&["http://127.0.0.1:9/", "--", "/no/such/command", "x"]);
    assert_eq!(probed.code, Some(2));
    assert!(probed.text.contains("cannot start \"/no/such/command x\": No such file"), "{}", probed.text);
}

/// Whether the deploy that waits for this file to say `go` runs.
fn begun(go: &str) -> bool {
    std::fs::exists(format!("{go}.begun")).unwrap()
}

#[test]
fn a_second_signal_leaves_a_deploy_that_hangs() {
    let server = server(answering("200 OK", "", ""));
    let directory = crate::support::files::tempdir();
    let go = directory.file("go", "", 0o644);
    let script = "trap '' TERM; : > \"$0.begun\"; while ! read -r go < \"$0\"; do sleep 0.1; done";
    let mut probe = command(&[&server.url(), "--", "sh", "-c", script, &go]);
    let mut child = probe.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("the deploy runs", || begun(&go));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    // The report is the last before it waits for the deploy.
    let mut report = std::io::BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(|| {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut report, &mut line).ok().filter(|read| *read > 0 && line != "}\n")
    })
    .for_each(drop);
    until("it ends", || {
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).is_err() || child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(2));
    std::fs::write(&go, "go\n").unwrap();
}

#[test]
fn a_deploy_outlives_an_interrupted_probe() {
    let server = server(answering("200 OK", "", ""));
    let script = "echo begun; : > \"$0.begun\"; while kill -0 $PPID; do sleep 0.1; read -r go < \"$0\" && break; done; echo done";
    let directory = crate::support::files::tempdir();
    let go = directory.file("go", "", 0o644);
    let mut probe = command(&[&server.url(), "--", "sh", "-c", script, &go]);
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the deploy runs", || begun(&go));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    std::fs::write(&go, "go\n").unwrap();
    let probed = probed(&child.wait_with_output().unwrap());
    assert!(probed.code == Some(2) && probed.json["deploy"]["exit_code"].is_null(), "{}", probed.text);
    assert!(probed.text.contains("still runs") && probed.text.contains("| done"), "{}", probed.text);
}
