//! `--ready-file` and `--drain-file`: there when they should be, and no harm done when they cannot.

use crate::support::files::{TempDir, tempdir};
use crate::support::{Init, Running, fixtures, free_port, until};
use nix::libc;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The two files of a test, and the flags that ask for them.
struct Marks {
    dir: TempDir,
    ready: PathBuf,
    drain: PathBuf,
}

impl Marks {
    fn new() -> Self {
        let dir = tempdir();
        let (ready, drain) = (dir.path.join("ready"), dir.path.join("draining"));
        Self { dir, ready, drain }
    }

    fn flags(&self) -> [String; 4] {
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        ["--ready-file".to_owned(), path(&self.ready), "--drain-file".to_owned(), path(&self.drain)]
    }

    /// Which of the two are there: ready, draining.
    fn there(&self) -> (bool, bool) {
        (self.ready.exists(), self.drain.exists())
    }

    /// The server of the tests, and that it serves.
    fn serve(&self, flags: &[&str], drain: &str) -> Running {
        let mut run = Init::new()
            .flags(self.flags())
            .flags(flags)
            .env("DRAIN", drain)
            .env("STATUS", "4")
            .python(fixtures::SERVER, &[])
            .spawn();
        run.told("port");
        run
    }
}

#[test]
fn one_goes_and_the_other_comes_at_the_stop_signal() {
    needs!();
    let marks = Marks::new();
    // Left by a run that was killed.
    fs::write(&marks.drain, "").unwrap();
    let mut run = marks.serve(&["--delay", "10m"], "0.1");
    until("it is ready", || marks.there() == (true, false));
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    assert_eq!(marks.there(), (false, true));
    run.hurry();
    run.expect_exit(4);
    assert_eq!(marks.there(), (false, false), "nothing is left behind");
    assert_eq!(fs::read_dir(&marks.dir.path).unwrap().count(), 0);
}

#[test]
fn the_drain_file_is_there_before_the_server_is_told() {
    needs!();
    let marks = Marks::new();
    let look = format!("signal.signal(15, lambda *_: os._exit(os.path.exists('{}')))", marks.drain.display());
    let mut run = Init::new().flags(marks.flags()).python(&fixtures::handling(&look), &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(1);
}

#[test]
fn readiness_goes_when_it_was_asked_to() {
    needs!();
    for (unready, in_delay, in_drain) in [("end", true, false), ("never", true, true)] {
        let marks = Marks::new();
        let mut run =
            Init::new().flags(marks.flags()).flags(["--delay", "10m", "--unready", unready]).recorder(&["10=4"]);
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 10m");
        assert_eq!(marks.there(), (in_delay, true), "{unready}");
        run.hurry();
        run.expect_stdout("got 15\n");
        assert_eq!(marks.there(), (in_drain, true), "{unready}");
        run.signal(libc::SIGUSR1);
        run.expect_exit(4);
        assert_eq!(marks.there(), (false, false), "{unready}");
    }
}

#[test]
fn a_server_that_ends_by_itself_was_never_draining() {
    needs!();
    let marks = Marks::new();
    let script = format!("while test ! -e {}; do :; done; sleep 0.1; exit 3", marks.ready.display());
    let mut run = Init::new().flags(marks.flags()).cmd(["/bin/sh", "-c", &script]).run();
    run.expect_exit(3);
    assert_eq!(marks.there(), (false, false));
}

#[test]
fn what_a_former_run_left_is_gone_though_nothing_can_be_started() {
    needs!();
    let marks = Marks::new();
    fs::write(&marks.ready, "").unwrap();
    fs::write(&marks.drain, "").unwrap();
    let mut run = Init::new().flags(marks.flags()).cmd(["/no/such/server"]).run();
    run.expect_exit(127);
    assert_eq!(marks.there(), (false, false));
}

#[test]
fn files_that_cannot_be_written_are_all_told_of_and_nothing_is_started() {
    needs!();
    let dir = tempdir();
    let path = |name: &str| dir.path.join(name).to_str().unwrap().to_owned();
    fs::create_dir(dir.path.join("taken")).unwrap();
    fs::write(dir.path.join("file"), "").unwrap();
    let (missing, taken, under) = (path("missing/ready"), path("taken"), path("file/state"));
    let mut run = Init::new()
        .flags(["--ready-file", &missing, "--drain-file", &taken, "--state-file", &under, "--report", "/sys/report"])
        .cmd(["/bin/echo", "started"])
        .run();
    run.expect_exit(125);
    let log = run.stderr();
    assert_eq!(run.stdout(), "");
    for expected in [
        format!(
            "error: --ready-file: {missing:?} cannot be written: the directory {:?} does not exist",
            path("missing")
        ),
        format!("error: --drain-file: {taken:?} cannot be written: Is a directory"),
        format!("error: --state-file (its lock): \"{under}.lock\" cannot be written: Not a directory"),
        "error: --report: \"/sys/report\" cannot be written: ".to_owned(),
    ] {
        assert!(log.contains(&expected), "no {expected}\n{log}");
    }
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn a_device_a_pipe_or_a_socket_is_never_taken_away() {
    needs!("mkfifo");
    let dir = tempdir();
    let path = |name: &str| dir.path.join(name).to_str().unwrap().to_owned();
    let (pipe, socket, device) = (path("pipe"), path("socket"), path("device"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    // As /dev/stdout is: a link to what is no file.
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    let kind = |path: &str| fs::symlink_metadata(path).unwrap().file_type();
    for there in [&pipe, &socket, &device] {
        let before = kind(there);
        for flag in ["--ready-file", "--drain-file"] {
            let mut run = Init::new().flags([flag, there]).cmd(["/bin/echo", "started"]).run();
            run.expect_exit(125);
            assert!(run.stderr().contains("it is a device, a pipe or a socket: name a file"), "{}", run.stderr());
        }
        assert_eq!(kind(there), before, "{there}");
    }
    // A state that cannot be put in its place is written into it.
    let mut run = Init::new().flags(["--state-file", &device]).cmd(["true"]).run();
    run.expect_exit(0);
    assert!(kind(&device).is_symlink());
    let mut run = Init::new().flags(["--state-file", &pipe]).cmd(["true"]).run();
    run.expect_exit(125);
    assert!(run.stderr().contains("--state-file: "), "{}", run.stderr());
    assert!(!kind(&pipe).is_file());
}

/// What a stop is like when none of the files can be written any more: a line for each, and a stop in
/// order.
fn stops_in_order(run: &mut Running, told: &[&str]) {
    run.signal(libc::SIGTERM);
    run.expect_exit(4);
    let log = run.stderr();
    for told in told {
        assert_eq!(log.matches(told).count(), 1, "{told}\n{log}");
    }
    assert!(run.stdout().contains("drained\n"));
    assert!(log.contains("exited with status 4 while draining"), "{log}");
}

#[test]
fn a_directory_that_is_removed_costs_a_line_each_and_nothing_else() {
    needs!();
    let marks = Marks::new();
    let (state, report) = (marks.dir.path.join("state"), marks.dir.path.join("report"));
    let more = ["--state-file", state.to_str().unwrap(), "--report", report.to_str().unwrap()];
    let mut run = marks.serve(&[&more[..], &["--delay", "200ms"]].concat(), "0.1");
    until("it is ready", || marks.there() == (true, false));
    fs::remove_dir_all(&marks.dir.path).unwrap();
    stops_in_order(&mut run, &["--drain-file: ", "--state-file: ", "--report: "]);
}

#[test]
fn a_disk_that_is_full_costs_lines_and_nothing_else() {
    needs!();
    let mount = "mount -t tmpfs -o size=32k,nr_inodes=16 full /mnt && exec \"$@\"";
    let mut run = Init::new()
        .through(["/bin/sh", "-c", mount, "sh"])
        .flags(["--ready-file", "/mnt/ready", "--drain-file", "/mnt/drain", "--state-file", "/mnt/state"])
        .flags(["--report", "/mnt/report", "--delay", "200ms"])
        .env("DRAIN", "0.1")
        .env("STATUS", "4")
        .python(fixtures::SERVER, &[])
        .spawn();
    run.told("port");
    let inside = PathBuf::from(format!("/proc/{}/root/mnt", run.pid));
    until("it is ready", || inside.join("ready").exists());
    // All of its blocks, then all of its files.
    assert!(fs::write(inside.join("big"), vec![0; 100_000]).is_err());
    assert!((0..32).any(|at| fs::write(inside.join(at.to_string()), "").is_err()));
    // Where there is no room for a new state, the old one is written over.
    stops_in_order(&mut run, &["--drain-file: ", "--report: "]);
    assert_eq!(run.stderr().matches("No space left on device").count(), 2, "{}", run.stderr());
}

#[test]
fn a_full_table_of_descriptors_costs_a_line_each_and_nothing_else() {
    needs!("prlimit");
    let marks = Marks::new();
    let (state, report) = (marks.dir.path.join("state"), marks.dir.path.join("report"));
    let more = ["--state-file", state.to_str().unwrap(), "--report", report.to_str().unwrap(), "--delay", "200ms"];
    let mut run = marks.serve(&more, "0.1");
    until("it is ready", || marks.there() == (true, false));
    // Its three streams and the lock are open; the server's own limit stays as it was.
    let limited = Command::new("prlimit").args(["--pid", &run.pid.to_string(), "--nofile=3:3"]).status();
    assert!(limited.unwrap().success());
    stops_in_order(&mut run, &["--drain-file: ", "--state-file: ", "--report: "]);
    assert!(!marks.ready.exists(), "to remove a file takes no descriptor");
}

/// One request on a connection that is kept: the head of the answer, its body read.
fn ask(connection: &mut TcpStream, path: &str) -> String {
    write!(connection, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let head = String::from_utf8(answer).unwrap();
    let length =
        head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map(|length| length.parse().unwrap());
    connection.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
    head
}

#[test]
fn nginx_of_the_examples_turns_red_and_leaves_no_connection_for_a_request_to_cross() {
    needs!("nginx");
    let marks = Marks::new();
    let port = free_port();
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/nginx/nginx.conf");
    let config = fs::read_to_string(published).unwrap();
    let root = marks.dir.path.to_str().unwrap();
    // First those under /tmp: so is the directory of the test.
    let config = config
        .replace("/tmp/", &format!("{root}/"))
        .replace("/usr/share/nginx/html", root)
        .replace("listen 8080;", &format!("listen 127.0.0.1:{port};"));
    marks.dir.file("index.html", "hello", 0o644);
    let config = marks.dir.file("nginx.conf", config, 0o644);
    let mut run = Init::new().flags(marks.flags()).flags(["--delay", "10m"]).cmd(["nginx", "-c", &config]).spawn();
    until("nginx answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());

    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut kept: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    for connection in &mut kept {
        let head = ask(connection, "/");
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("Connection: keep-alive"), "{head}");
        assert!(ask(connection, "/healthz").starts_with("HTTP/1.1 200"));
    }
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    assert!(ask(&mut connect(), "/healthz").starts_with("HTTP/1.1 503"));
    for connection in &mut kept {
        let head = ask(connection, "/");
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("Connection: close"), "{head}");
        assert_eq!(connection.read(&mut [0]).unwrap(), 0, "the connection is closed behind the answer");
    }
    run.hurry();
    run.expect_exit(0);
}
