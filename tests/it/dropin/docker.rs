//! A real `dockerd --init-path`.

use super::engine::{Engine, container};
use crate::support::{lacks, skipped, until};

#[test]
fn dockerd_takes_it_for_its_init() {
    let engine = match lacks(&["dockerd", "docker", "unshare"]).map_or_else(Engine::docker, Err) {
        Ok(engine) => engine,
        Err(why) => return skipped(&why),
    };
    // Every `docker info` asks the init for its version; what it cannot read is warned of.
    let info = engine.says(&["info", "--format", "{{.InitBinary}} {{.InitCommit.ID}}"]);
    let (binary, hash) = info.trim().split_once(' ').unwrap();
    assert_eq!(binary, engine.file("lameduck"));
    assert!(!hash.is_empty() && hash != "N/A" && hash != "<nil>", "{info}");
    assert!(!engine.says(&["info"]).contains("WARNING: No init"));
    assert!(engine.finds("log", "API listen on"), "the daemon's log is there to be read");
    assert!(!engine.finds("log", "unknown output format") && !engine.finds("log", "failed to parse"));

    let own = ["--rm", "--init", "--network", "none"];
    let command = ["/bin/sh", "-c", "readlink /proc/1/exe; exit 3"];
    let plain = engine.run(&container(&own, &["/bin/sh", "-c", "readlink /proc/1/exe"])).unwrap();
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "/sbin/docker-init\n");
    assert!(plain.stderr.is_empty(), "{plain:?}");
    assert!(engine.run(&container(&own, &command)).is_err(), "the status of the command is lost");

    let delayed = ["--detach", "--init", "--name", "server", "--network", "none", "--env", "LAMEDUCK_DELAY=1s"];
    engine.says(&container(
        &delayed,
        &["/bin/sh", "-c", "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.1; done"],
    ));
    until("the command is up", || engine.says(&["logs", "server"]).contains("up\n"));
    engine.says(&["stop", "--time", "60", "server"]);
    let log = engine.says(&["logs", "server"]);
    assert!(log.contains("serving on for 1s") && log.contains("asked\n"), "{log}");
    assert_eq!(engine.says(&["inspect", "--format", "{{.State.ExitCode}}", "server"]).trim(), "5");
}
