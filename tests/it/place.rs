//! The world of the server is the one lameduck was given; and that may be a poor one.

use crate::support::files::tempdir;
use crate::support::init::{Stream, binary};
use crate::support::{Init, Running, fixtures, http, procfs};
use nix::libc;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

/// A server that is stopped in the usual way, wherever it is.
fn serves_and_stops(init: Init) -> Running {
    let init = init.flags(["--delay", "3s"]).env("DRAIN", "0.2").env("STATUS", "4");
    let mut run = init.python(fixtures::SERVER, &[]).spawn();
    let port = run.told("port");
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 3s");
    assert!(http::answers(port, "/"));
    run.expect_stdout("got 15\n");
    assert!(began.elapsed() >= Duration::from_secs(3));
    run.expect_exit(4);
    assert!(run.stdout().contains("drained\n"));
    run
}

// --- where it runs

#[test]
fn not_as_process_1() {
    needs!();
    serves_and_stops(Init::new().not_pid_one());
}

#[test]
fn not_as_process_1_the_deadline_kills_all_descendants() {
    needs!();
    let init = Init::new().not_pid_one().flags(["--drain-timeout", "300ms"]);
    let mut run = init.python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    let log = run.stderr();
    assert!(log.contains("left: 0\n"), "{log}");
    let killed = log.lines().find_map(|line| line.split_once("killing: SIGKILL to ")).unwrap().1;
    let server = log.lines().find_map(|line| line.split_once("gone: ")).unwrap().1.split(' ').next().unwrap();
    assert!(killed.split(", ").any(|name| name == server), "{log}");
}

#[test]
fn of_two_nested_ones_the_outer_delays() {
    needs!();
    let inner: Vec<_> =
        [binary(), "--".into()].into_iter().chain(fixtures::python(fixtures::RECORDER, &["15=7"])).collect();
    let mut run = Init::new().env("LAMEDUCK_DELAY", "1s").cmd(inner).spawn();
    run.expect_stdout("ready\n");
    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    assert!(began.elapsed() >= Duration::from_secs(1));
    run.expect_exit(7);
    assert_eq!(run.stderr().matches("serving on").count(), 1, "{}", run.stderr());
}

#[test]
fn as_a_user_without_any_rights() {
    needs!("setpriv");
    // The build directory may not be open to everybody.
    let dir = tempdir();
    let copy = dir.file("lameduck", std::fs::read(binary()).unwrap(), 0o755);
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"];
    let init = Init::new().through(user).through(["--bounding-set=-all", "--inh-caps=-all", "--"]);
    let run = serves_and_stops(init.program(copy).files(dir));
    drop(run);
}

#[test]
fn on_a_read_only_root() {
    needs!("mount");
    let remount = "mount -o remount,bind,ro / && ! touch /lameduck-was-here 2>/dev/null && exec \"$@\"";
    serves_and_stops(Init::new().through(["sh", "-c", remount, "sh"]));
}

#[test]
fn without_proc() {
    needs!("mount");
    let hide = "mount -t tmpfs none /proc && exec \"$@\"";
    serves_and_stops(Init::new().through(["sh", "-c", hide, "sh"]));
    let mut run =
        Init::new().through(["sh", "-c", hide, "sh"]).flags(["-t", "300ms"]).python(fixtures::STUBBORN, &[]).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    // The shell cannot be looked through and dies of the signal; what it leaves is told all the same.
    let init = Init::new().through(["sh", "-c", hide, "sh"]).env("DRAIN", "0.1").shell("$SERVER; exit $?");
    let mut run = init.spawn();
    run.told("port");
    run.signal(libc::SIGTERM);
    run.expect_exit(143);
    assert!(run.stdout().contains("drained\n"), "{}", run.stderr());
    assert!(run.stderr().contains("left behind: SIGTERM to the group of sh["), "{}", run.stderr());
}

#[test]
fn with_the_proc_of_another_pid_namespace() {
    needs!("unshare");
    // As `unshare --pid` alone leaves it: our ids are those of strangers there.
    let inner = ["unshare", "--pid", "--fork"];
    let init = Init::new().through(inner).flags(["--delay", "300ms"]).env("STATUS", "4").env("DRAIN", "0.1");
    let mut run = init.shell("$SERVER; exit $?").spawn();
    run.told("port");
    let lameduck = run.descendant("lameduck");
    run.signal_to(lameduck, libc::SIGTERM);
    // It is as without one: the shell is not looked through.
    run.expect_exit(143);
    let log = run.stderr();
    assert!(run.stdout().contains("drained\n"), "{log}");
    assert!(log.contains("serving on for 300ms, then SIGTERM to sh[2];"), "{log}");
    assert!(log.contains("left behind: SIGTERM to the group of sh["), "{log}");
}

/// What lameduck calls, on some way, that not every kernel has had and not every sandbox allows.
const NOT_EVERYWHERE: [&str; 8] =
    ["pidfd_open", "pidfd_send_signal", "close_range", "clone3", "pwritev2", "waitid", "prctl", "setpgid"];

#[test]
fn where_a_sandbox_refuses_what_old_kernels_do_not_have() {
    needs!();
    // All of them, and one that is refused though its twin is not.
    for calls in [&NOT_EVERYWHERE[..], &["pidfd_send_signal"]] {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let calls: Vec<String> = calls.iter().map(|call| format!("{call}={errno}")).collect();
            let refusing = fixtures::python(fixtures::REFUSING, &[]);
            let init = Init::new().through(refusing).through(calls).through(["--"]).flags(["--delay", "300ms"]);
            let mut run = init.env("STATUS", "4").env("DRAIN", "0.1").shell("$SERVER; exit $?").spawn();
            run.told("port");
            run.signal(libc::SIGTERM);
            run.expect_exit(4);
            let log = run.stderr();
            assert!(run.stdout().contains("drained\n"), "{log}");
            assert!(log.contains("serving on for 300ms, then SIGTERM to python3["), "{log}");
            assert!(log.contains("gone: sh[2] exited with status 4 while draining"), "{log}");
        }
    }
}

#[test]
fn behind_another_init_the_signals_that_begin_a_stop_have_to_be_named() {
    needs!("tini");
    let server = "open('/proc/self/comm', 'w').write('apache2')\n\
                  signal.signal(signal.SIGWINCH, lambda *_: os._exit(6))";
    for (flags, delayed) in [(&[][..], false), (&["--stop-on", "TERM,QUIT,WINCH"], true)] {
        let init = Init::new().through(["tini", "--"]).flags(["--delay", "300ms"]).flags(flags);
        let mut run = init.python(&fixtures::handling(server), &[]).spawn();
        run.expect_stdout("ready\n");
        run.signal(libc::SIGWINCH);
        run.expect_exit(6);
        let log = run.stderr();
        assert_eq!(log.contains("serving on for 300ms, then SIGWINCH to apache2["), delayed, "{log}");
    }
}

#[test]
fn without_the_right_to_signal_the_server_it_leaves_when_it_should_and_says_why() {
    needs!("setpriv");
    let other_user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "sleep", "600"];
    let init = Init::new().through(["setpriv", "--bounding-set=-kill"]).flags(["-t", "300ms"]);
    let mut run = init.cmd(other_user).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(137);
    let log = run.stderr();
    assert!(log.contains("SIGTERM could not be sent to process 2: Operation not permitted\n"), "{log}");
    assert!(log.contains("gone: sleep[2] does not end at SIGKILL: is it frozen, "), "{log}");
}

#[test]
fn with_four_descriptors_at_the_most() {
    needs!("prlimit");
    let mut run =
        Init::new().through(["prlimit", "--nofile=4:4"]).flags(["--delay", "300ms"]).cmd(["sleep", "600"]).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(143);
    // Behind a shell more has to be looked at, and there are no descriptors to look with.
    let mut run = Init::new().through(["prlimit", "--nofile=4:4"]).cmd(["sh", "-c", "sleep 600; exit 5"]).spawn();
    run.descendant("sleep");
    run.signal(libc::SIGTERM);
    run.expect_exit(5);
}

#[test]
fn from_a_parent_that_ignores_chld() {
    needs!();
    let ignoring = ["env", "--ignore-signal=CHLD"];
    Init::new().through(ignoring).cmd(["sh", "-c", "exit 6"]).run().expect_exit(6);
    serves_and_stops(Init::new().through(ignoring));
}

#[test]
fn from_a_parent_that_blocks_and_ignores_everything() {
    needs!();
    serves_and_stops(Init::new().through(["env", "--block-signal", "--ignore-signal", "--default-signal=TERM"]));
}

// --- what the server gets

/// The lines of `/proc/self/status` about signals, as `cat` sees them.
fn signals_of_cat(init: Init) -> Vec<String> {
    let mut run = init.cmd(["cat", "/proc/self/status"]).run();
    run.expect_exit(0);
    let status = run.stdout();
    let lines =
        status.lines().filter(|line| ["SigBlk:", "SigIgn:", "SigCgt:"].iter().any(|field| line.starts_with(field)));
    lines.map(str::to_owned).collect()
}

#[test]
fn mask_and_dispositions_are_as_they_were() {
    needs!();
    for changes in [
        &[][..],
        &["--ignore-signal=PIPE"],
        &["--ignore-signal=HUP,QUIT,CHLD", "--block-signal=USR1,TERM"],
        &["--block-signal", "--ignore-signal=INT,RTMIN"],
    ] {
        let with = |init: Init| signals_of_cat(init.through(["env"]).through(changes));
        let (bare, under) = (with(Init::bare()), with(Init::new()));
        assert_eq!(bare.len(), 3);
        assert_eq!(under, bare, "{changes:?}");
    }
}

#[test]
fn the_two_signals_of_the_c_library_are_clean_though_our_parent_left_them_ignored() {
    needs!();
    // So does glibc's `posix_spawn`.
    let spawn = "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)\n\
                 sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    let ignored = |init: Init| {
        let lines = signals_of_cat(init.through(fixtures::python(spawn, &[])));
        let (_, mask) = lines.iter().find_map(|line| line.split_once("SigIgn:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & (0b11 << 31)
    };
    assert_eq!(ignored(Init::bare()), 0b11 << 31);
    assert_eq!(ignored(Init::new()), 0);
}

#[test]
fn descriptors_are_those_given_and_no_others() {
    needs!();
    let null = || File::open("/dev/null").unwrap().into();
    let listed = |init: Init| {
        let mut run = init.descriptor(null()).descriptor(null()).cmd(["ls", "/proc/self/fd"]).run();
        run.expect_exit(0);
        run.stdout()
    };
    // One more is the directory that is being listed.
    assert_eq!(listed(Init::new()), "0\n1\n2\n3\n4\n5\n");
    assert_eq!(listed(Init::new().flags(["-vv", "--log", "json"])), "0\n1\n2\n3\n4\n5\n");
    let mut run = Init::new().stderr(Stream::Closed).flags(["-vv"]).cmd(["ls", "/proc/self/fd"]).run();
    run.expect_exit(0);
    assert_eq!(run.stdout(), "0\n1\n2\n", "closed stays closed: 2 is the directory");
}

#[test]
fn the_environment_is_the_same_bytes_but_for_our_own_variables() {
    needs!();
    let given: [&[u8]; 9] = [
        b"PATH=/usr/bin:/bin",
        b"TWICE=1",
        b"LAMEDUCK_DELAY=5s",
        b"TWICE=2",
        b"BYTES=\xff\xfe\n",
        b"EMPTY=",
        b"no equals sign",
        b"LAMEDUCK_SERVICE_HOST=10.0.0.1",
        b"LAMEDUCKX=1",
    ];
    let seen = |init: Init| {
        let mut run = init.environ(&given).cmd(["od", "-An", "-v", "-tx1", "/proc/self/environ"]).run();
        run.expect_exit(0);
        hex(&run.stdout())
    };
    let joined = |words: &[&[u8]]| words.iter().flat_map(|word| [word, &b"\0"[..]].concat()).collect::<Vec<u8>>();
    let ours_gone: Vec<&[u8]> = given.into_iter().filter(|word| !word.starts_with(b"LAMEDUCK_DELAY")).collect();
    assert_eq!(seen(Init::new()), joined(&ours_gone));
    assert_eq!(seen(Init::new().flags(["--keep-env"])), joined(&given));
}

/// Bytes as `od` shows them.
fn hex(text: &str) -> Vec<u8> {
    text.split_ascii_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn arguments_are_the_same_bytes() {
    needs!();
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe \n\"'\\");
    // What follows the file is not there for `od` to read; it is there to be seen.
    let words = ["od", "-An", "-v", "-tx1", "/proc/self/cmdline", "/dev/null", "--", "/dev/null"];
    let mut run = Init::new().cmd(words).run();
    run.expect_exit(0);
    let expected: String = words.iter().flat_map(|word| [word, "\0"]).collect();
    assert_eq!(hex(&run.stdout()), expected.as_bytes());

    let script = "import os, sys; os.write(1, b'|'.join(os.fsencode(word) for word in sys.argv[1:]))";
    let command = fixtures::python(script, &["--delay", "-v", "", "--"]).into_iter().chain([odd.to_owned()]);
    let mut run =
        Init::new().cmd(["sh", "-c", "\"$@\" | od -An -v -tx1", "sh"].map(Into::into).into_iter().chain(command)).run();
    run.expect_exit(0);
    assert_eq!(hex(&run.stdout()), [&b"--delay|-v||--|"[..], odd.as_bytes()].concat());
}

#[test]
fn options_end_at_the_first_word_that_is_none() {
    needs!();
    let mut run = Init::new().flags(["-v", "/bin/echo", "-v", "--delay", "x", "--"]).run();
    run.expect_exit(0);
    assert_eq!(run.stdout(), "-v --delay x --\n");
}

#[test]
fn listen_pid_names_the_server_when_it_named_us() {
    needs!();
    let told = |given: &str, flags: &[&str]| {
        let line = "echo $LISTEN_PID $$";
        let mut run = Init::new().env("LISTEN_PID", given).flags(flags).cmd(["sh", "-c", line]).run();
        run.expect_exit(0);
        run.stdout()
    };
    assert_eq!(told("1", &[]), "2 2\n");
    assert_eq!(told("1", &["--delay", "1s"]), "2 2\n");
    assert_eq!(told("77", &[]), "77 2\n");
}

#[test]
fn the_server_leads_a_group_of_its_own_in_the_directory_we_were_in() {
    needs!();
    let mut run = Init::new().through(["env", "--chdir=/usr"]).cmd(["sh", "-c", "pwd; exec sleep 600"]).spawn();
    run.expect_stdout("/usr\n");
    let main = run.main();
    assert_eq!(procfs::foreground_and_own_group(main).map(|(_, own)| own), Some(main));
    run.signal(libc::SIGTERM);
    run.expect_exit(143);
}

#[test]
fn it_asks_to_be_told_when_its_own_parent_dies() {
    needs!();
    // The holder is process 1, so lameduck's parent is a shell that goes away.
    let line = "\"$0\" -p TERM -- python3 -I -S -c \"$S\" & echo up; read line";
    let (reader, writer) = std::io::pipe().unwrap();
    let shell = ["/bin/sh", "-c", "exec 3>&-; sh -c \"$LINE\" \"$B\" <&4 & wait; sleep 600"];
    let init = Init::bare().descriptor(File::open("/dev/null").unwrap().into()).descriptor(reader.into());
    let init =
        init.env("LINE", line).env("S", fixtures::SERVER).env("B", binary().to_str().unwrap()).env("DRAIN", "0.1");
    let mut run = init.cmd(shell).spawn();
    run.told("port");
    drop(writer);
    run.expect_stdout("drained\n");
}
