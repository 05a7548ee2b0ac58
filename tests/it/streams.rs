//! Standard error in every condition: the log is lost where it must be, the server never.

use crate::support::files::tempdir;
use crate::support::init::Stream;
use crate::support::{Init, Running, fixtures, free_port, procfs, until};
use nix::libc;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

/// Everything is logged, from the start on.
fn talkative(stderr: Stream) -> Init {
    Init::new().flags(["-vv", "-w", "--delay", "300ms"]).stderr(stderr).python(fixtures::RECORDER, &["15=7"])
}

/// Many lines are to be written, then the stop goes as it should.
fn stops_in_order(mut run: Running) {
    run.expect_stdout("ready");
    for _ in 0..200 {
        run.signal(libc::SIGUSR1);
    }
    run.expect_stdout("got 10");
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    let out = run.stdout();
    let ours = ["got 13\n", "got 25\n"].iter().any(|signal| out.contains(signal));
    assert!(!ours, "the server got the PIPE or XFSZ of our log: {out}");
}

/// A pipe that takes no byte more, and its reading end.
fn full_pipe() -> (std::io::PipeReader, OwnedFd) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // Through a description of our own, so that the one handed on stays blocking.
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut filler = std::os::unix::fs::OpenOptionsExt::custom_flags(File::options().write(true), libc::O_NONBLOCK)
        .open(path)
        .unwrap();
    for size in [4_096, 1] {
        while filler.write(&vec![b'x'; size]).is_ok() {}
    }
    writer.flush().unwrap();
    (reader, writer.into())
}

#[test]
fn closed() {
    needs!();
    stops_in_order(talkative(Stream::Closed).spawn());
}

#[test]
fn closed_and_nothing_that_is_opened_takes_its_place() {
    needs!();
    let dir = tempdir();
    let place = |name: &str| dir.path.join(name).to_str().unwrap().to_owned();
    let (state, lock, report) = (place("state"), place("state.lock"), place("report"));
    let health = format!("127.0.0.1:{}", free_port());
    let init = talkative(Stream::Closed).flags(["--state-file", &state, "--report", &report, "--watch-port", "1"]);
    let mut run = init.flags(["--health-listen", &health, "--on-stop", "/bin/echo said by a hook"]).spawn();
    run.expect_stdout("ready");
    let theirs = fs::read_link(format!("/proc/{}/fd/2", run.main()));
    assert!(theirs.is_err(), "the server has what we were given, nothing: {theirs:?}");
    stops_in_order(run);
    assert_eq!(fs::read_to_string(lock).unwrap(), "");
    assert!(fs::read_to_string(report).unwrap().starts_with("{\"schema\":1,"));
}

#[test]
fn a_pipe_that_is_full_and_never_read() {
    needs!();
    let (reader, writer) = full_pipe();
    stops_in_order(talkative(Stream::To(writer)).spawn());
    drop(reader);
}

#[test]
fn a_pipe_whose_reader_has_gone() {
    needs!();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    stops_in_order(talkative(Stream::To(writer.into())).spawn());
}

#[test]
fn a_pipe_whose_reader_goes_in_the_middle() {
    needs!();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut run = talkative(Stream::To(writer.into())).spawn();
    run.expect_stdout("ready");
    drop(reader);
    stops_in_order(run);
}

#[test]
fn a_socket() {
    needs!();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    stops_in_order(talkative(Stream::To(theirs.into())).spawn());
    let mut log = String::new();
    ours.read_to_string(&mut log).unwrap();
    assert!(log.contains("lame-duck: SIGTERM") && log.contains("gone: "), "{log}");
}

#[test]
fn a_socket_that_is_full_and_one_whose_reader_has_gone() {
    needs!();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    while theirs.write(&[b'x'; 512]).is_ok() {}
    theirs.set_nonblocking(false).unwrap();
    stops_in_order(talkative(Stream::To(theirs.into())).spawn());
    drop(ours);

    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    stops_in_order(talkative(Stream::To(theirs.into())).spawn());
}

#[test]
fn a_file_that_may_not_grow() {
    needs!("prlimit");
    let dir = tempdir();
    let file = File::options().append(true).open(dir.file("log", "", 0o644)).unwrap();
    stops_in_order(talkative(Stream::To(file.into())).through(["prlimit", "--fsize=0"]).spawn());
}

#[test]
fn a_file() {
    needs!();
    let dir = tempdir();
    let path = dir.file("log", "", 0o644);
    let file = File::options().append(true).open(&path).unwrap();
    stops_in_order(talkative(Stream::To(file.into())).spawn());
    let log = std::fs::read_to_string(path).unwrap();
    assert!(log.contains("lame-duck: SIGTERM") && log.contains("gone: "), "{log}");
}

#[test]
fn a_full_disk() {
    needs!();
    let full = File::options().write(true).open("/dev/full").unwrap();
    stops_in_order(talkative(Stream::To(full.into())).spawn());
}

#[test]
fn a_terminal_that_stops_those_in_the_background_who_write() {
    needs!();
    let init = Init::new().terminal().not_pid_one().env("HOLDER", "background").flags(["-vv"]);
    let mut run = init.python(fixtures::RECORDER, &["15=7"]).spawn();
    run.stop_background_output();
    stops_in_order({
        run.expect_stdout("ready");
        run
    });
}

/// What the server sees as the flags of its standard error, in octal.
fn stderr_flags(run: &mut Running) -> u32 {
    let main = run.main();
    let info = std::fs::read_to_string(format!("/proc/{main}/fdinfo/2")).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    u32::from_str_radix(flags.trim(), 8).unwrap()
}

#[test]
fn the_servers_own_stderr_stays_blocking() {
    needs!();
    let nonblocking = u32::try_from(libc::O_NONBLOCK).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let (socket, theirs) = UnixStream::pair().unwrap();
    let inits = [
        talkative(Stream::To(writer.into())),
        talkative(Stream::To(theirs.into())),
        Init::new().terminal().flags(["-vv"]).python(fixtures::RECORDER, &["15=7"]),
    ];
    for init in inits {
        let mut run = init.spawn();
        run.expect_stdout("ready");
        run.signal(libc::SIGHUP);
        run.expect_stdout("got 1");
        run.signal(libc::SIGUSR1);
        run.expect_stdout("got 10");
        // The line about HUP has been written by now.
        assert_eq!(stderr_flags(&mut run) & nonblocking, 0);
        run.signal(libc::SIGTERM);
        run.expect_exit(7);
    }
    drop((reader, socket));
}

#[test]
fn standard_output_closed_is_no_matter() {
    needs!();
    let mut run = Init::new().stdout(Stream::Closed).flags(["--delay", "300ms"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(143);
}

#[test]
fn nothing_of_the_log_is_on_standard_output() {
    needs!();
    let mut run = Init::new().flags(["-vv", "-w", "--delay", "100ms"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(143);
    assert_eq!(run.stdout(), "");
}

#[test]
fn a_reader_that_is_slow_gets_whole_lines() {
    needs!();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut run = talkative(Stream::To(writer.into())).spawn();
    run.expect_stdout("ready");
    for _ in 0..3_000 {
        run.signal(libc::SIGWINCH);
        run.stdout();
    }
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    let mut log = String::new();
    reader.read_to_string(&mut log).unwrap();
    for line in log.lines() {
        assert!(line.starts_with("lameduck: ") && !line[10..].contains("lameduck: "), "{line}");
    }
    assert_eq!(procfs::state(run.pid), None);
}

/// Of a log: the lines about one signal that were written, and how many are told as dropped.
fn written_and_dropped(log: &str, signal: &str) -> (usize, usize) {
    let dropped = |line: &str| {
        let (before, _) = line.split_once(" log lines were dropped: nobody read them")?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    };
    (log.lines().filter(|line| line.contains(signal)).count(), log.lines().filter_map(dropped).sum())
}

#[test]
fn lines_that_nobody_reads_are_counted_and_the_count_is_told_once_there_is_room() {
    const LINES: usize = 3_000;
    needs!();
    let (mut reader, writer) = full_pipe();
    let mut run = talkative(Stream::To(writer)).spawn();
    run.expect_stdout("ready");
    for _ in 0..LINES {
        // They queue, and so each makes a line.
        run.signal(libc::SIGRTMAX());
    }
    run.expect_stdout_times("got 64\n", LINES);
    let log = Arc::new(Mutex::new(String::new()));
    let reading = {
        let log = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                log.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        })
    };
    let seen = || written_and_dropped(&log.lock().unwrap(), "SIGRTMIN+30");
    // What waits goes out with the next line, which may be dropped itself as long as there is no room.
    let mut lines = LINES;
    until("the count is told", || {
        run.signal(libc::SIGRTMAX());
        lines += 1;
        run.expect_stdout_times("got 64\n", lines);
        seen().1 > 0
    });
    until("all of it is written", || {
        run.signal(libc::SIGHUP);
        let (written, dropped) = seen();
        written + dropped >= lines
    });
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    drop(run);
    reading.join().unwrap();
    let (written, dropped) = seen();
    assert!(written > 0 && written + dropped == lines, "{written} written, {dropped} dropped, {lines} in all");
}
