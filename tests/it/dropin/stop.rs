//! What a `LAMEDUCK_*` variable makes of a stand-in.

use super::{PROGRAMS, StandIns};
use crate::support::{Init, fixtures};
use nix::libc;

/// A recorder under a name, with these variables; TERM ends it with 7.
fn under(stand_ins: &StandIns, name: &str, environ: &[(&str, &str)]) -> crate::support::Running {
    let init = environ.iter().fold(Init::new(), |init, (name, value)| init.env(name, value));
    let mut run = init.program(stand_ins.path(name)).python(fixtures::RECORDER, &["15=7"]).spawn();
    run.expect_stdout("ready\n");
    run
}

#[test]
fn a_delay_is_kept_under_every_name_and_hurried_by_a_second_signal() {
    needs!();
    let stand_ins = StandIns::new();
    for (name, _) in PROGRAMS {
        let mut run = under(&stand_ins, name, &[("LAMEDUCK_DELAY", "10m")]);
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 10m");
        run.signal(libc::SIGUSR1);
        run.expect_stdout("got 10\n");
        assert!(!run.stdout().contains("got 15"), "{name}: {}", run.stdout());
        run.hurry();
        run.expect_exit(7);
    }
}

#[test]
fn the_command_does_not_see_our_variables_and_does_see_the_programs_own() {
    needs!();
    let stand_ins = StandIns::new();
    let init = Init::new().env("LAMEDUCK_DELAY", "10m").env("TINI_VERBOSITY", "1");
    let mut run = init.program(stand_ins.path("docker-init")).cmd(["env"]).run();
    run.expect_exit(0);
    assert!(!run.stdout().contains("LAMEDUCK_") && run.stdout().contains("TINI_VERBOSITY=1\n"), "{}", run.stdout());
}

#[test]
fn of_two_the_outer_one_delays() {
    needs!();
    let stand_ins = StandIns::new();
    let outer = stand_ins.path("docker-init");
    let inner = crate::support::init::binary();
    let mut command = vec![inner, "--".into()];
    command.extend(fixtures::python(fixtures::RECORDER, &["15=7"]));
    let mut run = Init::new().env("LAMEDUCK_DELAY", "10m").program(outer).cmd(command).spawn();
    run.expect_stdout("ready\n");
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    run.hurry();
    run.expect_exit(7);
    assert_eq!(run.stderr().matches("serving on for").count(), 1, "{}", run.stderr());
}

#[test]
fn the_version_is_in_the_form_that_docker_reads() {
    needs!();
    let stand_ins = StandIns::new();
    for name in ["tini", "tini-static", "docker-init", "dumb-init", "catatonit", "podman-init"] {
        let mut run = Init::new().program(stand_ins.path(name)).flags(["--version"]).run();
        run.expect_exit(0);
        let out = run.stdout();
        let (version, hash) =
            out.strip_prefix("lameduck version ").and_then(|rest| rest.split_once(" - git.")).unwrap();
        assert!(version.split('.').count() == 3 && hash.ends_with('\n'), "{name}: {out}");
    }
}
