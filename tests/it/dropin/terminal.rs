//! On a terminal.

use super::{Init, Seen, Situation, all, compare, needs_originals, situation};
use crate::support::{Running, fixtures};
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
        situation("hang-up", all(""), |init| {
            let script = "import os, signal\nsignal.signal(1, lambda *a: os._exit(11))\nos.write(1, b'ready\\n')\n\
                          while True: signal.pause()";
            let mut run = init.terminal().python(script, &[]).spawn();
            run.expect_stdout("ready");
            run.hang_up();
            Seen::default().with("status", run.wait_exit())
        }),
        situation("a shell that reads from it", all(""), |init| {
            let mut run = init.terminal().cmd(["sh", "-c", "read line; echo \"read $line\"; exit 4"]).spawn();
            run.type_in("hello\n");
            run.expect_stdout("read hello");
            Seen::default().with("status", run.wait_exit())
        }),
    ]
}

fn recorder(init: Init) -> Running {
    let mut run = init.terminal().python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\r\n");
    run
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
