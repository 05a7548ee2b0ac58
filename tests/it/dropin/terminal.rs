//! On a terminal.

use super::{Init, Seen, Situation, all, compare, dumb_init, needs_originals, situation};
use crate::support::{Running, fixtures, procfs, until};
use nix::libc;

pub(super) fn table() -> Vec<Situation> {
    vec![
        situation("Ctrl-C", all(""), |init| key(init, "\x03", 2)),
        situation("Ctrl-C, the whole group", [Some("-g"), None, Some("-g")], |init| key(init, "\x03", 2)),
        situation("Ctrl-backslash", all(""), |init| key(init, "\x1c", 3)),
        situation("a new size", all(""), |init| {
            let mut run = recorder(init);
            run.resize(50, 132);
            run.expect_stdout("got 28\r\n");
            after_all(&mut run)
        }),
        situation("nothing stray at the start", all(""), |init| after_all(&mut recorder(init))),
        situation("HUP right after the start", all(""), |init| {
            let mut run = recorder(init);
            run.signal(libc::SIGHUP);
            run.expect_stdout("got 1\r\n");
            after_all(&mut run)
        }),
        situation("hang-up", all(""), hang_up),
        situation("hang-up, the main process alone", dumb_init("-c"), hang_up),
        situation("Ctrl-C, the main process alone and in a session of its own", dumb_init("-c"), |init| {
            let leaves = format!("import os\nos.setsid()\n{}", fixtures::RECORDER);
            let mut run = init.terminal().python(&leaves, &[]).spawn();
            run.expect_stdout("ready\r\n");
            run.type_in("\x03");
            run.expect_stdout("got 2\r\n");
            after_all(&mut run)
        }),
        situation("Ctrl-Z, the main process alone, as a job of a shell", dumb_init("-c"), suspended),
        situation("Ctrl-Z, as a job of a shell", dumb_init(""), suspended),
        situation("a shell that reads from it", all(""), |init| {
            let mut run = init.terminal().cmd(["sh", "-c", "read line; echo \"read $line\"; exit 4"]).spawn();
            run.type_in("hello\n");
            run.expect_stdout("read hello");
            Seen::default().with("status", run.wait_exit())
        }),
        situation("a script that goes on after it and reads from it", all(""), |init| {
            let script = ["/bin/sh", "-c", "\"$@\"; read line && exit 4; exit 5", "sh"];
            let mut run = init.terminal().through(script).cmd(["true"]).spawn();
            run.type_in("hello\n");
            Seen::default().with("status", run.wait_exit())
        }),
    ]
}

fn recorder(init: Init) -> Running {
    let mut run = init.terminal().python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\r\n");
    run
}

/// What a terminal that goes away does. The init leads its session.
fn hang_up(init: Init) -> Seen {
    let script = fixtures::handling("signal.signal(1, lambda *a: os._exit(11))");
    let mut run = init.terminal().python(&script, &[]).spawn();
    run.expect_stdout("ready");
    run.hang_up();
    Seen::default().with("status", run.wait_exit())
}

/// Ctrl-Z for a job in the foreground of a shell's terminal, and going on with it.
fn suspended(init: Init) -> Seen {
    let mut run = init.terminal().not_pid_one().env("HOLDER", "job").python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\r\n");
    run.type_in("\x1a");
    let pid = run.pid;
    until("the init stops", || procfs::state(pid) == Some('T'));
    run.signal(libc::SIGCONT);
    run.signal(64);
    run.expect_stdout("got 64\r\n");
    Seen::default().with("goes on", procfs::state(pid) != Some('T'))
}

fn key(init: Init, key: &str, signal: i32) -> Seen {
    let mut run = recorder(init);
    run.type_in(key);
    run.expect_stdout(&format!("got {signal}\r\n"));
    after_all(&mut run)
}

/// All that was heard, once a last signal has gone the same way.
fn after_all(run: &mut Running) -> Seen {
    run.signal(64);
    run.expect_stdout("got 64\r\n");
    let out = run.stdout();
    let heard: Vec<&str> =
        out.lines().filter_map(|line| line.rsplit("got ").next().filter(|_| line.contains("got "))).collect();
    Seen::default().with("heard", heard.join(" "))
}

#[test]
fn the_terminal_is_where_it_is_and_says_what_it_says() {
    needs_originals!();
    compare(&table());
}
