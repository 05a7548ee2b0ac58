//! Groups, sessions, and the world the command is given.

use super::{Init, Seen, Situation, all, compare, dumb_init, needs_originals, settles, situation};
use crate::support::{Running, fixtures, procfs};
use std::fs;
use std::os::fd::OwnedFd;

pub(super) fn table() -> Vec<Situation> {
    vec![
        situation("place of the command", all(""), place),
        situation("place with the other option", [Some("-g"), Some("-c"), Some("-g")], place),
        situation("place by variable", dumb_init(""), place).environ(&[("DUMB_INIT_SETSID", "0")]),
        situation("place, not being process 1", all(""), |init| place(init.not_pid_one())),
        situation("place on a terminal", all(""), |init| place(init.terminal())),
        situation("place on a terminal, with the other option", [Some("-g"), Some("-c"), Some("-g")], |init| {
            place(init.terminal())
        }),
        situation("place in the background of a terminal", all(""), |init| {
            place(init.terminal().not_pid_one().env("HOLDER", "background"))
        }),
        situation("signals that were ignored", all(""), |init| {
            world(init.through(["/usr/bin/env", "--ignore-signal=HUP,USR1,QUIT"]), "SigIgn")
        }),
        situation("real-time signals that were ignored", all(""), |init| {
            world(init.through(["/usr/bin/env", "--ignore-signal=RTMIN+3"]), "SigIgn")
        }),
        situation("signals that were blocked", all(""), |init| {
            world(init.through(["/usr/bin/env", "--block-signal=USR2,WINCH"]), "SigBlk")
        }),
        situation("nothing ignored in an ordinary start", all(""), |init| world(init, "SigIgn")),
        situation("nothing blocked in an ordinary start", all(""), |init| world(init, "SigBlk")),
        situation("working directory and descriptors of the command", all(""), |init| {
            let run = started(init.through(["/usr/bin/env", "-C", "/usr"]).descriptor(null()));
            held(run.1)
        }),
        situation("working directory and descriptors of the init", all(""), |init| {
            let run = started(init.through(["/usr/bin/env", "-C", "/usr"]).descriptor(null()));
            held(run.0.pid)
        }),
    ]
}

fn null() -> OwnedFd {
    fs::File::open("/dev/null").unwrap().into()
}

/// The init, and its main process by its outer pid, once that runs what it was to run and the init
/// has nothing more to do.
fn started(init: Init) -> (Running, i32) {
    let mut run = init.cmd(["sleep", "600"]).spawn();
    let main = run.descendant("sleep");
    settles(&mut run);
    (run, main)
}

fn place(init: Init) -> Seen {
    let mut run = init.python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready");
    let main = run.main();
    let (ours, its) = (procfs::place(run.pid).unwrap(), procfs::place(main).unwrap());
    let of = |what: i32, own: i32, inits: i32| match what {
        _ if what == own => "its own",
        _ if what == inits => "the init's",
        _ => "another",
    };
    let terminal = |place: &procfs::Place| match place.foreground {
        -1 => "no terminal",
        group if group == place.group => "foreground",
        _ => "background",
    };
    Seen::default()
        .with("group", of(its.group, main, ours.group))
        .with("session", of(its.session, main, ours.session))
        .with("terminal", terminal(&its))
        .with("terminal of the init", terminal(&ours))
}

/// A set of signals of the command, without those that Python or sleep change themselves.
fn world(init: Init, field: &str) -> Seen {
    let (_run, main) = started(init);
    Seen::default().with("signals", procfs::status(main, field).unwrap_or_default())
}

fn held(pid: i32) -> Seen {
    let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).unwrap().display().to_string();
    let mut descriptors: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    descriptors.sort();
    Seen::default().with("directory", link("cwd")).with("descriptors", descriptors.join(" "))
}

#[test]
fn the_command_is_where_it_is_with_what_it_has() {
    needs_originals!();
    compare(&table());
}
