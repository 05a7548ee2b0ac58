//! `lameduck --healthcheck` and `--status`, beside a lameduck that runs.

use crate::support::init::binary;
use crate::support::{Init, Running, fixtures, free_port, until};
use nix::libc;
use std::borrow::BorrowMut;
use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A lameduck whose server says `ready` and leaves with 4 on TERM.
fn started(init: Init) -> Running {
    let mut run = init.flags(["--delay", "10m"]).python(fixtures::RECORDER, &["15=4"]).spawn();
    run.expect_stdout("ready\n");
    run
}

/// Asks from inside of its namespace, in which it is PID 1, as `docker exec` would.
fn ask(run: &Running, words: &[&str]) -> Command {
    let binary = binary();
    let mut command = run.inside(&[&[binary.to_str().unwrap()], words].concat());
    command.env_clear().env("PATH", crate::support::PATH);
    command
}

/// What comes of it; of the first that found the one whom it asks awake, on a machine that may have no
/// second for him.
fn answered(mut command: impl BorrowMut<Command>) -> Output {
    let mut last = None;
    until("somebody answers", || {
        let output = last.insert(command.borrow_mut().output().unwrap());
        let too_late = |said: &[u8]| String::from_utf8_lossy(said).contains("no answer within 1 s");
        !too_late(&output.stdout) && !too_late(&output.stderr)
    });
    last.unwrap()
}

#[track_caller]
fn says(output: &Output, code: i32, text: &str) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        (output.status.code(), stdout.as_ref()),
        (Some(code), text),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[track_caller]
fn begins(output: &Output, code: i32, text: &str) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.code() == Some(code) && stdout.starts_with(text) && stdout.lines().count() == 1,
        "{output:?}"
    );
}

#[test]
fn the_port_is_found_in_the_flags_of_process_1() {
    needs!("nsenter", "setpriv");
    let port = free_port();
    let mut run = started(Init::new().flags(["--health-listen", &format!(":{port}")]));
    let plain = |run: &Running| answered(ask(run, &["--healthcheck"]));
    until("it is ready", || plain(&run).status.success());
    says(&plain(&run), 0, &format!("ready: http://127.0.0.1:{port}/readyz says so\n"));
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let copy = crate::support::files::tempdir();
    let copy_path = copy.file("lameduck", std::fs::read(binary()).unwrap(), 0o755);
    let output = answered(run.inside(&[&nobody[..], &[&copy_path, "--healthcheck"]].concat()));
    says(&output, 0, &format!("ready: http://127.0.0.1:{port}/readyz says so\n"));

    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    begins(&plain(&run), 1, "not ready: lame-duck, ");
    let status = answered(ask(&run, &["--status"]));
    assert!(status.status.success());
    let state: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(state["phase"], "lame-duck");
}

#[test]
fn the_port_is_found_in_the_environment() {
    needs!("nsenter");
    let listen = format!("127.0.0.1:{}", free_port());
    let run = started(Init::new().env("LAMEDUCK_HEALTH_LISTEN", &listen));
    let with = |run: &Running| answered(ask(run, &["--healthcheck"]).env("LAMEDUCK_HEALTH_LISTEN", &listen));
    until("it is ready", || with(&run).status.success());
    says(&with(&run), 0, &format!("ready: http://{listen}/readyz says so\n"));
    // The environment of process 1 is not looked into: it is hidden from other users.
    begins(&answered(ask(&run, &["--healthcheck"])), 1, "cannot tell: nothing is known to ask");
    // A flag beside the question beats it.
    let elsewhere = free_port();
    let output = answered(ask(&run, &["--health-listen", &format!(":{elsewhere}"), "--healthcheck"]));
    begins(&output, 1, &format!("cannot tell: http://127.0.0.1:{elsewhere}/readyz: Connection refused"));
}

#[test]
fn files_tell_where_there_is_no_port() {
    needs!("nsenter");
    let dir = crate::support::files::tempdir();
    let path = |name: &str| dir.path.join(name).to_str().unwrap().to_owned();
    let (ready, drain, state) = (path("ready"), path("drain"), path("state"));
    for (flag, file, before, during) in [
        ("--ready-file", &ready, format!("ready: {ready} exists\n"), format!("not ready: {ready} does not exist\n")),
        ("--state-file", &state, format!("ready: {state} says so\n"), format!("not ready: {state} says so\n")),
        ("--drain-file", &drain, format!("ready: {drain} does not exist\n"), format!("not ready: {drain} exists\n")),
    ] {
        let mut run = started(Init::new().flags([flag, file]));
        let plain = |run: &Running| answered(ask(run, &["--healthcheck"]));
        until("it is ready", || plain(&run).status.success());
        says(&plain(&run), 0, &before);
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 10m");
        says(&plain(&run), 1, &during);
        let status = answered(ask(&run, &["--status"]));
        assert_eq!(status.status.success(), flag == "--state-file");
        if flag == "--state-file" {
            let state: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
            assert_eq!((&state["phase"], &state["ready"]), (&"lame-duck".into(), &false.into()));
        }
    }
}

#[test]
fn what_is_no_state_is_not_passed_off_as_one_and_a_pipe_holds_nobody_up() {
    needs!("nsenter", "mkfifo");
    let dir = crate::support::files::tempdir();
    let (file, pipe) = (dir.file("page", "<p>not a state</p>", 0o644), dir.path.join("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let run = started(Init::new());
    for path in [file.as_str(), pipe.to_str().unwrap()] {
        let output = answered(ask(&run, &["--status", "--state-file", path]));
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("lameduck: cannot tell: {path} holds no state\n"));
        let output = answered(ask(&run, &["--healthcheck", "--state-file", path]));
        says(&output, 1, &format!("cannot tell: {path} holds no state\n"));
    }
}

#[test]
fn behind_another_init_the_port_is_found_in_the_words_of_both() {
    needs!("nsenter", "tini", "dumb-init");
    let dir = crate::support::files::tempdir();
    let docker_init = dir.path.join("docker-init").to_str().unwrap().to_owned();
    std::os::unix::fs::symlink(binary(), &docker_init).unwrap();
    for (outer, flag) in [(docker_init.as_str(), "-s"), ("/usr/bin/tini", "-s"), ("/usr/bin/dumb-init", "-c")] {
        let port = free_port();
        let mut inner = vec![binary()];
        inner.extend(["--delay", "10m", "--health-listen", &format!(":{port}")].map(OsString::from));
        inner.extend(fixtures::python(fixtures::RECORDER, &[]));
        let mut run = Init::new().program(outer).flags([flag]).cmd(inner).spawn();
        run.expect_stdout("ready\n");
        let plain = |run: &Running| answered(ask(run, &["--healthcheck"]));
        until("it is ready", || plain(&run).status.success());
        says(&plain(&run), 0, &format!("ready: http://127.0.0.1:{port}/readyz says so\n"));
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 10m");
        begins(&plain(&run), 1, "not ready: lame-duck, ");
    }
}

#[test]
fn without_proc_the_environment_says_where_to_ask() {
    needs!("nsenter", "unshare");
    let port = free_port();
    let run = started(Init::new().flags(["--health-listen", &format!(":{port}")]));
    let binary = binary();
    let script = "mount -t tmpfs none /proc && exec $0 --healthcheck";
    let asked = ["unshare", "--mount", "/bin/sh", "-c", script, binary.to_str().unwrap()];
    let ask = |listen: &str| {
        let mut command = run.inside(&asked);
        command.env_clear().env("PATH", crate::support::PATH).env("LAMEDUCK_HEALTH_LISTEN", listen);
        answered(command)
    };
    until("it is ready", || ask(&format!(":{port}")).status.success());
    says(&ask(&format!(":{port}")), 0, &format!("ready: http://127.0.0.1:{port}/readyz says so\n"));
    begins(&ask(""), 1, "cannot tell: nothing is known to ask");
}

#[test]
fn a_port_that_is_dead_leaves_the_word_to_the_files() {
    needs!("nsenter");
    let dir = crate::support::files::tempdir();
    let ready = dir.path.join("ready").to_str().unwrap().to_owned();
    let run = started(Init::new().flags(["--ready-file", &ready]));
    let dead = format!(":{}", free_port());
    let output = answered(ask(&run, &["--health-listen", &dead, "--healthcheck"]));
    says(&output, 0, &format!("ready: {ready} exists\n"));
}

#[test]
fn what_can_be_named_can_be_asked() {
    needs!("nsenter");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().port();
    let dir = crate::support::files::tempdir();
    let file = dir.file("ready", "", 0o644);
    let own = free_port();
    let run = started(Init::new().flags(["--health-listen", &format!(":{own}")]));
    until("it is ready", || answered(ask(&run, &["--healthcheck"])).status.success());
    for (url, code, said) in [
        (format!("http://localhost:{own}/livez"), 0, format!("ready: http://localhost:{own}/livez answers 200\n")),
        (format!("http://127.0.0.1:{own}/no"), 1, format!("not ready: http://127.0.0.1:{own}/no answers 404\n")),
        (format!("tcp://localhost:{open}"), 0, format!("ready: tcp://localhost:{open} is open\n")),
        (format!("file:{file}"), 0, format!("ready: {file} exists\n")),
        (format!("file:{file}.not"), 1, format!("not ready: {file}.not does not exist\n")),
    ] {
        says(&answered(ask(&run, &["--healthcheck", &url])), code, &said);
    }
}

#[test]
fn nobody_waits_longer_than_a_second_for_an_answer() {
    needs!("nsenter");
    // Connections are taken by the kernel, and nobody says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let run = started(Init::new());
    let began = Instant::now();
    let output = ask(&run, &["--healthcheck", &format!("http://{address}/")]).output().unwrap();
    assert!(began.elapsed() < crate::support::scaled(Duration::from_secs(5)), "{:?}", began.elapsed());
    says(&output, 1, &format!("not ready: http://{address}/: no answer within 1 s\n"));
    let output = ask(&run, &["--status", "--health-listen", &address.to_string()]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, format!("lameduck: cannot tell: http://{address}/status: no answer within 1 s\n"));
}
