//! `--report`: real reports of every outcome, held against the schema that is published.

use crate::support::files::{TempDir, tempdir};
use crate::support::{Init, Running, fixtures, schema, until};
use nix::libc;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// A report in a directory of its own.
struct Report {
    _dir: TempDir,
    path: PathBuf,
}

impl Report {
    fn new() -> Self {
        let dir = tempdir();
        Self { path: dir.path.join("report.json"), _dir: dir }
    }

    fn flags(&self) -> [&str; 2] {
        ["--report", self.path.to_str().unwrap()]
    }

    /// The server of the tests.
    fn serve(&self, flags: &[&str], environ: &[(&str, &str)]) -> Running {
        let init = Init::new().flags(self.flags()).flags(flags).env("STATUS", "4");
        let init = environ.iter().fold(init, |init, (name, value)| init.env(name, value));
        let mut run = init.python(fixtures::SERVER, &[]).spawn();
        run.told("port");
        run
    }

    /// What was written; it is as the schema says.
    fn read(&self) -> Value {
        schema::report(&fs::read_to_string(&self.path).unwrap())
    }
}

/// Some keys of a report, as a report of its own.
fn only(report: &Value, keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_owned(), report[key].clone())).collect::<serde_json::Map<_, _>>().into()
}

fn phases(report: &Value) -> Vec<&str> {
    report["phases"].as_array().unwrap().iter().map(|row| row["phase"].as_str().unwrap()).collect()
}

#[test]
fn a_stop_in_order() {
    needs!();
    let report = Report::new();
    let hooks = ["--on-stop", "true", "--on-exit", "sh -c 'exit 3'", "--map-exit", "4=0"];
    let mut run = report.serve(&[&["--delay", "300ms"], &hooks[..]].concat(), &[("DRAIN", "0.2")]);
    run.signal(libc::SIGURG);
    run.signal(libc::SIGTERM);
    run.expect_exit(0);
    let read = report.read();
    assert_eq!(
        only(
            &read,
            &["outcome", "exit_code", "signal", "during", "hurried", "killed", "forwarded", "server", "truncated"]
        ),
        json!({
            "outcome": "exited", "exit_code": 0, "signal": "SIGTERM", "during": "draining", "hurried": false, "killed": [],
            "forwarded": [{"signal": "SIGURG", "count": 1}], "server": {"pid": 2, "comm": "python3"}, "truncated": false
        })
    );
    assert_eq!(phases(&read), ["lame-duck", "draining", "sweeping", "gone"]);
    assert_eq!(read["sender"]["pid"], 0);
    assert_eq!(read["told"], json!([{"pid": 2, "comm": "python3", "signal": "SIGTERM"}]));
    let hooks: Vec<_> =
        read["hooks"].as_array().unwrap().iter().map(|hook| only(hook, &["name", "exit_code", "timed_out"])).collect();
    assert_eq!(
        hooks,
        [
            json!({"name": "on-stop", "exit_code": 0, "timed_out": false}),
            json!({"name": "on-exit", "exit_code": 3, "timed_out": false})
        ]
    );
    assert_eq!((&read["settings"]["delay"], &read["settings"]["map-exit"]), (&"300ms".into(), &"4=0".into()));
    let took = read["stop_took_s"].as_f64().unwrap();
    assert!((0.5..20.0).contains(&took), "{took}");
}

#[test]
fn a_server_that_ignores_the_stop_is_told_of_as_killed() {
    needs!();
    let report = Report::new();
    let mut run =
        Init::new().flags(report.flags()).flags(["--drain-timeout", "200ms"]).python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    let read = report.read();
    assert_eq!(
        only(&read, &["outcome", "exit_code", "ended_by", "during"]),
        json!({"outcome": "killed", "exit_code": 137, "ended_by": "SIGKILL", "during": "killing"})
    );
    assert!(read["killed"].as_array().unwrap().iter().any(|one| one["pid"] == 2), "{read}");
    assert_eq!(phases(&read)[..2], ["draining", "killing"]);
}

#[test]
fn a_crash_in_the_delay_is_no_clean_stop() {
    needs!();
    let report = Report::new();
    let mut run = report.serve(&["--delay", "10m"], &[]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    let server = run.main();
    run.signal_to(server, libc::SIGSEGV);
    run.expect_exit(139);
    assert_eq!(
        only(&report.read(), &["outcome", "exit_code", "ended_by", "during", "told"]),
        json!({"outcome": "died-in-delay", "exit_code": 139, "ended_by": "SIGSEGV", "during": "lame-duck", "told": []})
    );
}

#[test]
fn an_end_without_a_stop_is_reported_too() {
    needs!();
    let report = Report::new();
    let gate = report.path.with_file_name("gate");
    let script = format!("while test ! -e {}; do sleep 0.05; done; exit 3", gate.display());
    let ready = report.path.with_file_name("ready");
    let flags = ["--ready-file", ready.to_str().unwrap()];
    let mut run = Init::new().flags(report.flags()).flags(flags).cmd(["/bin/sh", "-c", &script]).spawn();
    until("lameduck knows that it runs", || ready.exists());
    let seen = Instant::now();
    until("it is seen to run on", || run.descendant("sleep") > 0);
    let served = seen.elapsed();
    fs::write(&gate, "").unwrap();
    run.expect_exit(3);
    let read = report.read();
    assert_eq!(
        only(&read, &["outcome", "exit_code", "signal", "sender", "stop_took_s", "during"]),
        json!({"outcome": "exited", "exit_code": 3, "signal": null, "sender": null, "stop_took_s": null, "during": "serving"})
    );
    // Told in whole milliseconds.
    assert!(read["served_s"].as_f64().unwrap() + 0.001 >= served.as_secs_f64(), "{read} {served:?}");
    assert_eq!(phases(&read), ["sweeping", "gone"]);
}

#[test]
fn a_server_that_cannot_be_started_is_reported_too() {
    needs!();
    let report = Report::new();
    fs::write(&report.path, "left by a former run\n".repeat(100)).unwrap();
    let mut run = Init::new().flags(report.flags()).cmd(["/no/such/server", "-x"]).run();
    run.expect_exit(127);
    let read = report.read();
    assert_eq!(
        only(&read, &["outcome", "exit_code", "server", "command", "phases"]),
        json!({"outcome": "not-started", "exit_code": 127, "server": null, "command": ["/no/such/server", "-x"], "phases": []})
    );
    assert_eq!(read["warnings"], json!(["cannot run \"/no/such/server\": no such file"]));
    let mut run = Init::new().flags(report.flags()).flags(["--ready-file", "/no/such/dir/ready"]).cmd(["true"]).run();
    run.expect_exit(125);
    let read = report.read();
    assert_eq!(only(&read, &["outcome", "exit_code"]), json!({"outcome": "not-started", "exit_code": 125}));
    assert!(read["warnings"][0].as_str().unwrap().starts_with("--ready-file: \"/no/such/dir/ready\""), "{read}");
}

#[test]
fn a_hurried_stop_and_its_warnings_are_told_of() {
    needs!();
    let report = Report::new();
    let mut run = report.serve(&["--delay", "10m", "--grace", "60s", "--drain-timeout", "1m"], &[("DRAIN", "0.1")]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    run.hurry();
    run.expect_exit(4);
    let read = report.read();
    assert_eq!(read["hurried"], true);
    assert!(read["warnings"][0].as_str().unwrap().contains("does not fit into the grace period"), "{read}");
}

#[test]
fn the_report_is_there_while_the_last_hook_runs() {
    needs!();
    let report = Report::new();
    let mut run =
        report.serve(&["--on-exit", "sh -c 'echo stuck; sleep 600'", "--hook-timeout", "10m"], &[("DRAIN", "0.1")]);
    run.signal(libc::SIGTERM);
    run.expect_stderr("stuck\n");
    let read = report.read();
    assert_eq!((&read["outcome"], &read["hooks"]), (&"exited".into(), &json!([])));
    run.hurry();
    run.expect_exit(4);
    assert_eq!(only(&report.read()["hooks"][0], &["name", "exit_code"]), json!({"name": "on-exit", "exit_code": null}));
}

#[test]
fn a_mounted_file_is_written_in_place() {
    needs!();
    // As the kubelet does: an empty file of the host, mounted at /dev/termination-log.
    let report = Report::new();
    fs::write(&report.path, "").unwrap();
    let inode = fs::metadata(&report.path).unwrap().ino();
    let mount = "mount -t tmpfs dev /mnt && : >/mnt/log && mount --bind \"$REPORT\" /mnt/log && exec \"$@\"";
    let mut run = Init::new()
        .env("REPORT", report.path.to_str().unwrap())
        .through(["/bin/sh", "-c", mount, "sh"])
        .flags(["--report", "/mnt/log"])
        .cmd(["/bin/sh", "-c", "exit 3"])
        .run();
    run.expect_exit(3);
    assert_eq!(report.read()["exit_code"], 3);
    assert_eq!(fs::metadata(&report.path).unwrap().ino(), inode);
}

#[test]
fn a_pipe_without_a_reader_does_not_hold_anything_up() {
    needs!("mkfifo");
    let report = Report::new();
    let made = Command::new("mkfifo").arg(&report.path).status();
    assert!(made.unwrap().success());
    let mut run = Init::new().flags(report.flags()).cmd(["/bin/echo", "started"]).run();
    run.expect_exit(125);
    assert!(run.stderr().contains("cannot be written: No such device or address"), "{}", run.stderr());
    assert_eq!(run.stdout(), "");
}

#[test]
fn a_pipe_with_a_reader_gets_the_report_and_ends_with_it() {
    needs!("mkfifo");
    let report = Report::new();
    assert!(Command::new("mkfifo").arg(&report.path).status().unwrap().success());
    let pipe = report.path.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    // Held open until lameduck has it open too.
    let mut held = None;
    until("there is a reader", || {
        held = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&report.path).ok();
        held.is_some()
    });
    let mut run = Init::new().flags(report.flags()).cmd(["/bin/sh", "-c", "echo up; sleep 0.2; exit 3"]).spawn();
    run.expect_stdout("up\n");
    drop(held);
    run.expect_exit(3);
    assert_eq!(schema::report(&reader.join().unwrap())["exit_code"], 3);
}

#[test]
fn a_report_can_go_to_the_log() {
    needs!();
    let mut run = Init::new().flags(["--report", "/dev/stderr"]).cmd(["/bin/sh", "-c", "exit 3"]).run();
    run.expect_exit(3);
    until("the report is there", || run.stderr().contains("\"outcome\":\"exited\""));
}

#[test]
fn a_report_that_would_be_too_long_is_cut_and_says_so() {
    needs!();
    let report = Report::new();
    let words: Vec<String> = (0..400).map(|at| format!("a rather long argument, number {at}")).collect();
    let command = ["/bin/sh", "-c", "exit 3"].into_iter().chain(words.iter().map(String::as_str));
    let mut run = Init::new().flags(report.flags()).cmd(command).run();
    run.expect_exit(3);
    let read = report.read();
    assert_eq!((&read["truncated"], &read["outcome"], &read["settings"]), (&true.into(), &"exited".into(), &json!({})));
    assert_eq!(read["command"].as_array().unwrap().len(), 4);
}
