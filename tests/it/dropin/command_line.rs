//! Options, with and without `--`, variables, and what cannot be read.

use super::{
    Init, Seen, Situation, all, catatonit, compare, dumb_init, needs_originals, settles, situation, speaks, tini,
};

/// A command that says whose sockets it was given.
const FOR_WHOM: &str = "-- sh -c test\t$LISTEN_PID\t=\t$$\t&&\techo\tits\t||\techo\tof\tanother";

pub(super) fn table() -> Vec<Situation> {
    let mut table = pages();
    table.extend(usage_errors());
    table.extend(grammar());
    table.extend(variables());
    table
}

fn pages() -> Vec<Situation> {
    vec![
        situation("help", all("-h"), page),
        situation("help though more is wrong behind it", all("-h -Z"), page),
        situation("help behind the command", [Some("echo -h"), None, Some("echo -h")], page),
        situation("version, one letter", [None, Some("-V"), Some("-V")], page),
        situation("version, in full", all("--version"), page),
        situation("version in front of a command", catatonit("--version echo"), page),
        situation("licence", [Some("-l"), None, Some("-L")], page),
        situation("licence for a command called ls -l", tini("ls -l"), page),
    ]
}

fn usage_errors() -> Vec<Situation> {
    vec![
        situation("nothing at all", all(""), page),
        situation("dashes and no command", all("--"), page),
        situation("unknown letter", all("-Z true"), page),
        situation("unknown letter before help", all("-Z -h"), page),
        situation("unknown letter of the command itself", [Some("sh -c true"), None, Some("sh -c true")], page),
        situation("unknown long name", all("--nope true"), page),
        situation("version beside other words", tini("-s --version"), page),
        situation("a long name for two", dumb_init("--ver true"), page),
        situation("a value for a switch", [None, Some("--verbose=1 true"), Some("--version=1")], page),
        situation("-e without a value", tini("-e"), page),
        situation("-e 256", tini("-e 256 -- true"), page),
        situation("-e -1", tini("-e -1 -- true"), page),
        situation("-e 1x", tini("-e 1x -- true"), page),
        situation("-p without SIG", tini("-p TERM -- true"), page),
        situation("-p in small letters", tini("-p sigterm -- true"), page),
        situation("-p by number", tini("-p 15 -- true"), page),
        situation("-p of a signal that is none", tini("-p SIGNONE -- true"), page),
        situation("-p of a signal that few know", tini("-p SIGPWR -- true"), page),
        situation("-r by name", dumb_init("-r TERM:3 true"), page),
        situation("-r from 0", dumb_init("-r 0:3 true"), page),
        situation("-r from 32", dumb_init("-r 32:3 true"), page),
        situation("-r to 32", dumb_init("-r 15:32 true"), page),
        situation("-r of one number", dumb_init("-r 15 true"), page),
        situation("-r without a value", dumb_init("-r"), page),
        situation("pause mode", catatonit("-P true"), |init| Seen::default().with("end", settles(&mut init.spawn()))),
    ]
}

fn grammar() -> Vec<Situation> {
    vec![
        situation("command without dashes", all("echo a b"), prints),
        situation("dashes before the command", all("-- echo -n -- a"), prints),
        situation("dashes within the command", all("echo a -- b"), prints),
        situation("options in one word", [Some("-gsw echo a"), Some("-cv echo a"), Some("-gg echo a")], prints),
        situation("an option behind the command", [Some("echo a -g"), Some("echo a -c"), Some("echo a -g")], prints),
        situation("value in the same word", [Some("-e3 sh -- -c exit\t3"), Some("-r15:3 echo a"), None], prints),
        situation(
            "value in the next word",
            [Some("-pSIGTERM -e 3 echo a"), Some("--rewrite 15:3 echo a"), None],
            prints,
        ),
        situation("long names cut short", dumb_init("--sing --rew=15:3 echo a"), prints),
        situation("-e with a sign and with nothing", tini("-e +3 -e0 echo a"), prints),
        situation("-r with more behind the numbers", dumb_init("-r 15:3x -r 9:3 -r 17:3 echo a"), prints),
    ]
}

fn variables() -> Vec<Situation> {
    vec![
        situation("POSIXLY_CORRECT", all("echo -h"), prints).environ(&[("POSIXLY_CORRECT", "")]),
        situation("verbose by the command line", [Some("-vvv true"), Some("-v true"), None], page),
        situation("verbose by variable", all("true"), page).environ(&[
            ("TINI_VERBOSITY", "3"),
            ("DUMB_INIT_DEBUG", "1"),
            ("CATATONIT_DEBUG", "1"),
        ]),
        situation("verbose by the command line, quiet by variable", tini("-vvvv true"), page)
            .environ(&[("TINI_VERBOSITY", "0")]),
        situation("verbose by a variable that says no", all("true"), page).environ(&[
            ("TINI_VERBOSITY", "no"),
            ("DUMB_INIT_DEBUG", "no"),
            ("CATATONIT_DEBUG", "no"),
        ]),
        situation("a variable that is reserved", catatonit("echo a"), prints).environ(&[("CATATONIT_LOG", "x")]),
        situation("its variables reach the command", all("env"), prints).environ(&[
            ("TINI_SUBREAPER", "1"),
            ("DUMB_INIT_SETSID", "1"),
            ("TINI_VERBOSITY", "1"),
            ("OTHER", "x=y"),
        ]),
        situation("sockets that are meant for the init", all(FOR_WHOM), prints)
            .environ(&[("LISTEN_PID", "1"), ("LISTEN_FDS", "1")]),
    ]
}

/// What is said, and where: the words are each program's own.
fn page(init: Init) -> Seen {
    let mut run = init.run();
    let status = run.wait_exit();
    Seen::default().with("status", status).with("stdout", speaks(&run.stdout())).with("stderr", speaks(&run.stderr()))
}

/// What the command writes.
fn prints(init: Init) -> Seen {
    let mut run = init.run();
    let status = run.wait_exit();
    Seen::default().with("status", status).with("stdout", run.stdout())
}

#[test]
fn pages_go_where_they_go_and_end_as_they_end() {
    needs_originals!();
    compare(&pages());
}

#[test]
fn usage_errors_end_as_they_end() {
    needs_originals!();
    compare(&usage_errors());
}

#[test]
fn command_lines_are_read_as_they_are_read() {
    needs_originals!();
    compare(&grammar());
}

#[test]
fn variables_are_read_as_they_are_read() {
    needs_originals!();
    compare(&variables());
}
