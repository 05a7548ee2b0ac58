//! Exit statuses: of the command, of a command that cannot be run, and what is left behind.

use super::{
    Init, Seen, Situation, all, compare, dumb_init, needs_originals, of_words, settles, situation, speaks, tini,
};
use crate::support::files::tempdir;
use crate::support::init::Stream;
use crate::support::{Running, fixtures, procfs, until};
use nix::libc;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) fn table() -> Vec<Situation> {
    let mut table = statuses();
    table.extend(start_errors());
    table.extend(worlds());
    table
}

fn statuses() -> Vec<Situation> {
    vec![
        of_words("exit statuses", all("-- sh -c"), |words| {
            statuses_of(words, (0..=255).step_by(5).chain([1, 2, 126, 127, 128, 129, 143]).map(|n| format!("exit {n}")))
        }),
        of_words("death by every signal that ends", all("-- sh -c"), |words| {
            let ends = (1..=64).filter(|n| !matches!(n, 17..=23 | 28 | 32 | 33));
            statuses_of(words, ends.map(|n| format!("ulimit -c 0; kill -{n} $$")))
        }),
        of_words("every status mapped by -e", tini("-s"), |words| {
            let all = (0..=255).map(|n| {
                let words = words
                    .iter()
                    .cloned()
                    .chain(["-e", &n.to_string(), "--", "sh", "-c", &format!("exit {n}")].map(OsString::from));
                status_of(&words.collect::<Vec<_>>())
            });
            Seen::default().with("statuses", in_words(all))
        }),
        of_words("-e maps a signal, and only what it names", tini("-s -e 143 -e 7 -- sh -c"), |words| {
            statuses_of(words, ["kill -15 $$", "exit 7", "exit 8", "kill -9 $$"].map(str::to_owned).into_iter())
        }),
        situation("a shell that waits dies of TERM", all(""), |init| {
            let mut run = init.cmd(["sh", "-c", "sleep 600; :"]).spawn();
            run.descendant("sleep");
            run.signal(libc::SIGTERM);
            Seen::default().with("status", run.wait_exit()).with("stderr", speaks(&run.stderr()))
        }),
        situation("the same, with the whole group", [Some("-g"), None, Some("-g")], |init| {
            let mut run = init.cmd(["sh", "-c", "sleep 600; :"]).spawn();
            run.descendant("sleep");
            run.signal(libc::SIGTERM);
            Seen::default().with("status", run.wait_exit())
        }),
        situation("a command that ignores TERM stays", all(""), |init| {
            let mut run = init.python(fixtures::STUBBORN, &[]).spawn();
            run.expect_stdout("ready\n");
            for times in 1..=3 {
                run.signal(libc::SIGTERM);
                run.expect_stdout_times("got 15\n", times);
            }
            run.goes_on_for(Duration::from_millis(100));
            let main = run.main();
            run.signal_to(main, libc::SIGKILL);
            Seen::default().with("status", run.wait_exit()).with("stderr", speaks(&run.stderr()))
        }),
        of_words("a helper in the group when the main process ends", all("--"), helper_left),
        of_words("the same, for the main process alone", dumb_init("-c --"), helper_left),
        of_words("the same, with TERM rewritten", dumb_init("-r 15:10 --"), helper_left),
        of_words("the same, with TERM dropped", dumb_init("-r 15:0 --"), helper_left),
        situation("orphans are reaped", all(""), orphans),
        situation("orphans are told of with -w", tini("-w"), orphans),
        situation("orphans are adopted, not being process 1", [Some("-s"), None, Some("")], adopts),
        situation("orphans, not being process 1 and not asked to adopt them", [Some(""), Some(""), None], adopts),
        situation("words about not being process 1", all(""), |init| {
            let mut run = init.not_pid_one().cmd(["true"]).run();
            run.wait_exit();
            // What the holder says is its own.
            let said = run.stderr().lines().filter(|line| !line.starts_with("left: ")).count();
            Seen::default().with("lines", said)
        }),
    ]
}

fn start_errors() -> Vec<Situation> {
    vec![
        situation("a command that is not there", all(""), |init| cannot_run(init.cmd(["/nowhere/at/all"]))),
        situation("a command that is not in PATH", all(""), |init| cannot_run(init.cmd(["no-such-command-anywhere"]))),
        situation("an empty command", all(""), |init| cannot_run(init.cmd([""]))),
        situation("a directory", all(""), |init| cannot_run(init.cmd(["/tmp"]))),
        situation("a file that may not be executed", all(""), |init| cannot_run(init.cmd(["/etc/passwd"]))),
        situation("a file as a directory", all(""), |init| cannot_run(init.cmd(["/etc/passwd/x"]))),
        situation("a name that is too long", all(""), |init| cannot_run(init.cmd([format!("/{}", "x".repeat(300))]))),
        situation("a loop of links", all(""), |init| {
            let dir = tempdir();
            let link = dir.path.join("link");
            std::os::unix::fs::symlink(&link, &link).unwrap();
            cannot_run(init.files(dir).cmd([link]))
        }),
        situation("a script whose interpreter is not there", all(""), |init| {
            let dir = tempdir();
            let script = dir.file("script", "#!/nowhere/at/all\n", 0o755);
            cannot_run(init.files(dir).cmd([script]))
        }),
        situation("a script without an interpreter", all(""), |init| {
            let dir = tempdir();
            let script = dir.file("script", "echo \"$0 $1\" >/dev/null; exit 5\n", 0o755);
            cannot_run(init.files(dir).cmd([script, "a".to_owned()]))
        }),
    ]
}

fn worlds() -> Vec<Situation> {
    vec![
        situation("standard input closed", all(""), |init| {
            let through = ["/bin/sh", "-c", "exec \"$@\" <&-", "sh"];
            let mut run = init.through(through).cmd(["sh", "-c", "exit 3"]).run();
            Seen::default().with("status", run.wait_exit())
        }),
        situation("CHLD ignored by the parent", all(""), |init| {
            let mut run =
                init.through(["/usr/bin/env", "--ignore-signal=CHLD"]).cmd(["sh", "-c", "echo bye; exit 3"]).spawn();
            run.expect_stdout("bye\n");
            Seen::default().with("end", settles(&mut run))
        }),
        situation("a command that asks to be traced", [Some(""), None, Some("")], |init| {
            let script = "import ctypes, os\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\nos.write(1, b'ready\\n')\n\
                          os.kill(os.getpid(), 28)\nos._exit(3)";
            let mut run = init.python(script, &[]).spawn();
            run.expect_stdout("ready\n");
            Seen::default().with("end", settles(&mut run))
        }),
        situation("a command of another user, without the right to signal it", all(""), |init| {
            let without = ["/usr/bin/setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill"];
            let recorder = fixtures::python(fixtures::RECORDER, &[]);
            let other: Vec<OsString> =
                ["setpriv", "--reuid", "65534", "--clear-groups"].iter().map(Into::into).chain(recorder).collect();
            let mut run = init.through(without).cmd(other).spawn();
            run.expect_stdout("ready\n");
            run.signal(libc::SIGTERM);
            Seen::default().with("end", settles(&mut run))
        }),
        situation("idle", all(""), |init| {
            let mut run = init.cmd(["sleep", "600"]).spawn();
            run.descendant("sleep");
            settles(&mut run);
            let wakes = |pid| procfs::status(pid, "voluntary_ctxt_switches");
            let before = wakes(run.pid);
            run.goes_on_for(Duration::from_millis(2_200));
            Seen::default().with("sleeps through", wakes(run.pid) == before)
        }),
        situation("verbose, and nobody reads standard error", [Some("-vvv"), Some("-v"), Some("")], |init| {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut run = init.stderr(Stream::To(writer.into())).cmd(["sh", "-c", "exit 3"]).spawn();
            let in_circles =
                |run: &Running| procfs::busy(run.pid).is_some_and(|time| time > Duration::from_millis(500));
            until("it ends, or has run for longer than anything takes", || run.ended() || in_circles(&run));
            let end = if run.ended() { format!("ends with {}", run.wait_exit()) } else { "runs in circles".to_owned() };
            Seen::default().with("end", end)
        })
        .environ(&[("CATATONIT_DEBUG", "1")]),
        situation("a sandbox that refuses prctl", [Some("-s"), Some(""), Some("")], |init| {
            let init = init.through(fixtures::python(fixtures::REFUSING, &["prctl=1"])).through(["--"]);
            Seen::default().with("status", init.cmd(["sh", "-c", "exit 3"]).run().wait_exit())
        }),
        of_words("nested in itself", all("--"), |words| {
            let program = words[words.len() - 2].clone();
            let nested = words.iter().cloned().chain([program, "--".into(), "sh".into(), "-c".into(), "exit 3".into()]);
            Seen::default().with("status", status_of(&nested.collect::<Vec<_>>()))
        }),
    ]
}

fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
    command
}

fn status_of(words: &[OsString]) -> i32 {
    command(words).status().unwrap().code().unwrap_or(-1)
}

/// The statuses for scripts that follow after `words`.
fn statuses_of(words: &[OsString], scripts: impl Iterator<Item = String>) -> Seen {
    let statuses = scripts.map(|script| status_of(&words.iter().cloned().chain([script.into()]).collect::<Vec<_>>()));
    Seen::default().with("statuses", in_words(statuses))
}

fn in_words(numbers: impl Iterator<Item = i32>) -> String {
    numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

fn cannot_run(init: Init) -> Seen {
    let mut run = init.run();
    let status = run.wait_exit();
    Seen::default().with("status", status).with("stdout", speaks(&run.stdout())).with("stderr", speaks(&run.stderr()))
}

fn helper_left(words: &[OsString]) -> Seen {
    let mut child = Command::new("setsid")
        .arg("--wait")
        .args(words)
        .args(fixtures::python(fixtures::LEAVES_HELPER, &[]))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let helper = line.trim().strip_prefix("helper ").and_then(|pid| pid.parse().ok()).expect("the helper runs");
    let status = child.wait().unwrap().code().unwrap_or(-1);
    // The init has ended: what it has not said by now it will not say. Where the helper has heard it, it may
    // be gone.
    let _ = crate::support::kill(helper, 64);
    let mut heard = String::new();
    out.read_to_string(&mut heard).unwrap();
    Seen::default().with("status", status).with("stdout", heard)
}

fn orphans(init: Init) -> Seen {
    let mut run = init.python(fixtures::ORPHANS, &["20"]).spawn();
    run.expect_stdout("orphaned\n");
    until("all orphans are reaped", || {
        procfs::children(run.pid).into_iter().all(|child| procfs::state(child) != Some('Z'))
    });
    run.signal(libc::SIGTERM);
    let status = run.wait_exit();
    Seen::default().with("status", status).with("stdout", run.stdout()).with("stderr", speaks(&run.stderr()))
}

fn adopts(init: Init) -> Seen {
    let mut run = init.not_pid_one().python(fixtures::ADOPTED, &[]).spawn();
    run.expect_stdout("adopted");
    let status = run.wait_exit();
    Seen::default().with("status", status).with("stdout", run.stdout())
}

#[test]
fn statuses_are_what_they_are() {
    needs_originals!();
    compare(&statuses());
}

#[test]
fn commands_that_cannot_be_run_end_as_they_end() {
    needs_originals!();
    compare(&start_errors());
}

#[test]
fn odd_worlds_are_stood_as_they_are_or_better() {
    needs_originals!();
    compare(&worlds());
}
