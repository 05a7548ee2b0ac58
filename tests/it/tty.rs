//! On a terminal: the server has it, as if lameduck were not there.

use crate::support::{Init, fixtures, init, procfs, until};
use nix::libc;

/// A recorder on a terminal of its own.
fn recorder(flags: &[&str]) -> crate::support::Running {
    Init::new().terminal().flags(flags).recorder(&["15=7"])
}

#[test]
fn a_shell_has_job_control() {
    needs!("bash");
    let bash = ["bash", "--norc", "--noprofile", "-i"];
    let init = Init::new().terminal().env("PS1", "PROMPT> ").env("TERM", "dumb").env("HISTFILE", "");
    let mut run = init.cmd(bash).spawn();
    run.expect_stdout("PROMPT> ");
    run.type_in("sleep 600\n");
    let sleep = run.descendant("sleep");
    until("the sleep has the terminal", || {
        procfs::foreground_and_own_group(sleep).is_some_and(|(foreground, own)| foreground == own)
    });
    run.type_in("\x1a");
    run.expect_stdout("Stopped");
    assert_eq!(procfs::state(sleep), Some('T'));
    run.expect_stdout_times("PROMPT> ", 2);
    run.type_in("fg\n");
    until("the sleep goes on, with the terminal", || {
        procfs::state(sleep) == Some('S')
            && procfs::foreground_and_own_group(sleep).is_some_and(|(foreground, own)| foreground == own)
    });
    run.type_in("\x03");
    until("the sleep is interrupted", || procfs::state(sleep).is_none());
    run.expect_stdout_times("PROMPT> ", 3);
    run.type_in("echo status=$?\n");
    run.expect_stdout("status=130");
    run.type_in("exit 33\n");
    run.expect_exit(33);
    let out = run.stdout();
    assert!(!out.contains("job control") && !out.contains("ioctl"), "the shell complains: {out}");
}

#[test]
fn ctrl_c_reaches_the_server_once() {
    needs!();
    let mut run = recorder(&["--delay", "10m"]);
    run.type_in("\x03");
    run.expect_stdout("got 2\r\n");
    // A second one, had lameduck passed its own on as well, would come before this.
    run.signal(libc::SIGUSR1);
    run.expect_stdout("got 10\r\n");
    assert_eq!(run.stdout().matches("got 2\r\n").count(), 1, "{}", run.stdout());
}

#[test]
fn ctrl_c_is_immediate_and_no_stop() {
    needs!();
    let mut run = Init::new().terminal().flags(["--delay", "10m"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    until("the sleep has the terminal", || {
        let main = run.main();
        procfs::foreground_and_own_group(main).is_some_and(|(foreground, own)| foreground == own)
    });
    run.type_in("\x03");
    run.expect_exit(130);
}

#[test]
fn ctrl_backslash_reaches_the_server_once_and_at_once() {
    needs!();
    let mut run = recorder(&["--delay", "10m"]);
    run.type_in("\x1c");
    run.expect_stdout("got 3\r\n");
    assert!(!run.ended());
}

#[test]
fn a_new_size_is_told_once_and_is_there() {
    needs!();
    let mut run = recorder(&[]);
    run.resize(50, 132);
    run.expect_stdout("got 28\r\n");
    run.signal(libc::SIGUSR1);
    run.expect_stdout("got 10\r\n");
    assert_eq!(run.stdout().matches("got 28\r\n").count(), 1, "{}", run.stdout());

    let mut run = Init::new().terminal().cmd(["/bin/sh", "-c", "read line; stty size"]).spawn();
    run.resize(50, 132);
    run.type_in("\n");
    run.expect_stdout("50 132");
    run.expect_exit(0);
}

#[test]
fn hang_up_reaches_the_server() {
    needs!();
    let script = fixtures::handling("signal.signal(1, lambda *a: os._exit(11))");
    let mut run = Init::new().terminal().python(&script, &[]).spawn();
    run.expect_stdout("ready");
    run.hang_up();
    run.expect_exit(11);
}

#[test]
fn the_terminal_is_not_taken_from_somebody_else() {
    needs!();
    let init = Init::new().terminal().not_pid_one().env("HOLDER", "background");
    let mut run = init.recorder(&["15=7"]);
    let main = run.main();
    let (foreground, own) = procfs::foreground_and_own_group(main).unwrap();
    assert!(foreground != own && own == main, "foreground {foreground}, server {main} in {own}");
    // Ctrl-C is for those in the foreground: for the holder, which it ends.
    run.signal(libc::SIGTERM);
    run.expect_exit(7);
    assert!(!run.stdout().contains("got 2\r"), "{}", run.stdout());
}

#[test]
fn whoever_goes_on_after_it_has_the_terminal_again() {
    needs!();
    for (command, status) in [("true", 0), ("false", 1), ("/no/where", 127)] {
        let line = format!("\"$0\" -- {command}; echo \"ended with $?\"; read line; echo \"read $line\"");
        let shell = ["/bin/sh".into(), "-c".into(), line.into(), init::binary()];
        let mut run = Init::bare().terminal().cmd(shell).spawn();
        run.expect_stdout(&format!("ended with {status}\r\n"));
        run.type_in("hello\n");
        run.expect_stdout("read hello\r\n");
        run.expect_exit(0);
    }
}

#[test]
fn a_terminal_on_hold_does_not_hold_up_the_stop() {
    needs!();
    let mut run = Init::new().terminal().flags(["-v"]).cmd(["/bin/sleep", "600"]).spawn();
    run.descendant("sleep");
    run.type_in("\x13");
    run.signal(libc::SIGTERM);
    run.expect_exit(128 + libc::SIGTERM);
}
