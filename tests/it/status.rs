//! The exit status is the server's own, whatever ended it.

use crate::support::files::tempdir;
use crate::support::{Init, PATH};
use nix::libc;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

/// Signals that end a process by default.
fn deadly() -> impl Iterator<Item = i32> {
    const HARMLESS: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
    const STOPPING: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    (1..=64).filter(|signal| !HARMLESS.contains(signal) && !STOPPING.contains(signal) && !matches!(signal, 32 | 33))
}

#[test]
fn every_exit_status_is_told() {
    needs!();
    for status in 0..=255 {
        Init::new().cmd(["/bin/sh", "-c", &format!("exit {status}")]).run().expect_exit(status);
    }
}

#[test]
fn death_by_every_deadly_signal_is_told_as_128_and_its_number() {
    needs!();
    for signal in deadly() {
        let kill = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); \
                    import signal; n = int(sys.argv[1]); n in (9,) or signal.signal(n, signal.SIG_DFL); \
                    os.kill(os.getpid(), n)";
        Init::new().python(kill, &[&signal.to_string()]).run().expect_exit(128 + signal);
    }
}

#[test]
fn the_core_flag_is_told_as_the_kernel_gives_it() {
    needs!();
    let dir = tempdir();
    let crash = format!("ulimit -c unlimited; cd {}; kill -SEGV $$", dir.path.display());
    let judge = "import os, sys\nchild = os.fork()\nif child == 0: os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])\n\
                 print('core', os.WCOREDUMP(os.waitpid(child, 0)[1]))";
    let mut bare = Init::bare().python(judge, &[&crash]).run();
    let dumped = bare.stdout().contains("core True");

    let mut run = Init::new().flags(["--log", "json"]).cmd(["/bin/sh", "-c", &crash]).run();
    run.expect_exit(128 + libc::SIGSEGV);
    assert!(run.stderr().contains(&format!("\"core_dumped\":{dumped}")), "{}", run.stderr());
}

#[test]
fn statuses_are_reported_as_others_where_asked() {
    needs!();
    let end = |flags: &[&str], line: &str| Init::new().flags(flags).cmd(["/bin/sh", "-c", line]).run().wait_exit();
    assert_eq!(end(&["--map-exit", "7=42"], "exit 7"), 42);
    assert_eq!(end(&["--map-exit", "7=42"], "exit 8"), 8);
    assert_eq!(end(&["-e", "143"], "kill -TERM $$"), 0);
    assert_eq!(end(&["-e", "143,7=9"], "exit 7"), 9);
    assert_eq!(
        Init::new().env("LAMEDUCK_MAP_EXIT", "143").cmd(["/bin/sh", "-c", "kill -TERM $$"]).run().wait_exit(),
        0
    );
}

#[test]
fn a_program_that_cannot_be_run_gets_the_status_of_a_shell_and_a_line_that_names_it() {
    needs!();
    let dir = tempdir();
    let not_executable = dir.file("data", "hello", 0o644);
    let no_interpreter = dir.file("script", "#!/nowhere/perl\n", 0o755);
    for (command, status, named) in [
        ("no-such-program", 127, "no-such-program"),
        ("/no/such/program", 127, "/no/such/program"),
        (not_executable.as_str(), 126, not_executable.as_str()),
        ("/", 126, "/"),
        (no_interpreter.as_str(), 127, "/nowhere/perl"),
    ] {
        let mut run = Init::new().cmd([command]).run();
        run.expect_exit(status);
        assert!(run.stderr().contains(named), "{command}: {}", run.stderr());
        assert_eq!(run.stdout(), "", "{command}");
    }
}

#[test]
fn a_script_without_interpreter_is_run_by_the_shell_with_its_arguments() {
    needs!();
    let dir = tempdir();
    let script = dir.file("script", "echo \"$1/$2\"; exit 4\n", 0o755);
    let mut run = Init::new().cmd([script.as_str(), "a b", "c"]).run();
    run.expect_exit(4);
    assert_eq!(run.stdout(), "a b/c\n");
}

#[test]
fn the_search_path_is_tried_to_its_end_as_a_shell_does() {
    needs!();
    let (first, second) = (tempdir(), tempdir());
    first.file("closed", "hello", 0o644);
    second.file("script", "exit $1\n", 0o755);
    let both = [first.file("both", "hello", 0o644), second.file("both", "#!/bin/sh\nexit 3\n", 0o755)];
    let [first, second] = both.each_ref().map(|path| path.trim_end_matches("/both"));
    let too_long = "x".repeat(5_000);
    let path = format!("PATH=/no/such/dir:{first}:/dev/null:/{too_long}:{second}");
    let run = |command: &[&str]| Init::new().environ(&[path.as_bytes()]).cmd(command).run();
    run(&["both"]).expect_exit(3);
    run(&["script", "4"]).expect_exit(4);
    let mut closed = run(&["closed"]);
    closed.expect_exit(126);
    assert!(closed.stderr().contains(&format!("{first}/closed")), "{}", closed.stderr());
    run(&["neither"]).expect_exit(127);
}

#[test]
fn a_program_that_may_be_in_a_directory_closed_to_us_is_said_to_be_so() {
    needs!("setpriv");
    let dir = tempdir();
    let within = dir.file("program", "#!/bin/sh\nexit 3\n", 0o755);
    let at = within.trim_end_matches("/program").to_owned();
    fs::set_permissions(&at, Permissions::from_mode(0o700)).unwrap();
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    for command in [&within, "neither"] {
        let path = format!("PATH={at}:{PATH}");
        let mut run = Init::new().environ(&[path.as_bytes()]).through(nobody).cmd([command]).run();
        run.expect_exit(126);
        let log = run.stderr();
        assert!(log.contains(&at) && log.contains("this user may not search a directory above it"), "{log}");
    }
}

#[test]
fn a_kill_that_was_not_ours_is_said_to_be_none_of_ours() {
    needs!();
    let mut run = Init::new().recorder(&[]);
    let main = run.main();
    run.signal_to(main, libc::SIGKILL);
    run.expect_exit(137);
    assert!(run.stderr().contains("not by lameduck"), "{}", run.stderr());
}

#[test]
fn a_kill_that_was_asked_for_as_the_servers_signal_is_ours() {
    needs!();
    for (flag, value, signal) in [
        ("--stop-signal", "KILL", libc::SIGTERM),
        ("--rewrite", "TERM:KILL", libc::SIGTERM),
        ("-r", "USR1:KILL", libc::SIGUSR1),
    ] {
        let mut run = Init::new().flags([flag, value]).recorder(&[]);
        run.signal(signal);
        run.expect_exit(137);
        let log = run.stderr();
        assert!(log.contains("was ended by SIGKILL") && !log.contains("not by lameduck"), "{flag} {value}: {log}");
    }
}

#[test]
fn such_a_kill_is_put_down_to_memory_as_far_as_the_cgroup_tells() {
    needs!("mount");
    for (events, said) in [
        ("oom 3\\noom_kill 2\\noom_group_kill 0\\n", "out of memory? (the kernel has killed 2 in this cgroup)"),
        ("oom 0\\noom_kill 0\\noom_group_kill 0\\n", "not by lameduck (and not for want of memory in this cgroup)"),
    ] {
        let line = format!(
            "mount -t tmpfs none /sys/fs/cgroup && printf '{events}' >/sys/fs/cgroup/memory.events && exec \"$@\""
        );
        let init = Init::new().through(["sh", "-c", &line, "sh"]);
        let mut run = init.cmd(["/bin/sh", "-c", "kill -KILL $$"]).run();
        run.expect_exit(137);
        assert!(run.stderr().contains(said), "{}", run.stderr());
    }
}
