//! Wrong input: status 125, a clear message that names what is wrong, and nothing started.

use crate::support::Init;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Every message is one line that begins so.
const PREFIX: &str = "lameduck: ";

/// Runs it with a command that would leave a trace, and returns what it complains of.
fn refused(init: Init, what: &str) -> Vec<String> {
    let mut run = init.cmd(["/bin/echo", "started"]).run();
    let (status, out, err) = (run.wait_exit(), run.stdout(), run.stderr());
    assert_eq!(status, 125, "{what}: {err}");
    assert_eq!(out, "", "{what}: something was started, or said to standard output");
    let lines: Vec<String> = err.lines().map(str::to_owned).collect();
    assert!(lines.iter().all(|line| line.starts_with(PREFIX)), "{what}: {err}");
    let (last, complaints) = lines.split_last().unwrap();
    assert!(last.contains("nothing was started"), "{what}: {err}");
    complaints.to_vec()
}

/// Each flag with values it must refuse.
const WRONG: [(&str, &[&str]); 19] = [
    ("--delay", &["", "x", "-5s", "5q", "1s1", "99999999999999999999s", "1e3", "NaN", "five"]),
    ("--drain-timeout", &["never", "-1", "1 year", "s"]),
    ("--grace", &["none", "soon"]),
    ("--linger", &["-1s", "inf"]),
    ("--stop-signal", &["SIGFOO", "0", "65", "STOP", "CHLD", "32", "automatic"]),
    ("--stop-on", &["KILL", "STOP", "TERM,FOO", "auto,TERM", "33", ""]),
    ("--repeat", &["maybe", ""]),
    ("--rewrite", &["TERM", "TERM:", ":TERM", "KILL:TERM", "TERM:FOO", "TERM=INT", "HUP:TERM,HUP:INT"]),
    ("--map-exit", &["256", "-1=0", "a=b", "1=2=3", "1=256", ""]),
    ("--parent-death-signal", &["FOO", "0", "none"]),
    ("--log", &["xml", ""]),
    ("--log-level", &["loud", "5"]),
    ("--ready-file", &["", "/", "/run/", ".."]),
    ("--state-file", &["/", "x/"]),
    ("--unready", &["now", "", "1"]),
    ("--on-stop", &["", " ", "echo 'x", "'' x"]),
    ("--hook-timeout", &["0", "none", "-1s"]),
    ("-d", &["15 minutes"]),
    ("-r", &["1"]),
];

#[test]
fn each_wrong_value_is_refused_by_the_name_of_its_flag() {
    needs!();
    for (flag, values) in WRONG {
        for value in values {
            let what = format!("{flag} {value:?}");
            let complaints = refused(Init::new().flags([format!("{flag}={value}")]), &what);
            let [complaint] = complaints.as_slice() else { panic!("{what}: not one complaint: {complaints:#?}") };
            let named = match flag {
                "-d" => "--delay",
                "-r" => "--rewrite",
                long => long,
            };
            assert!(complaint.contains(named), "{what}: {complaint}");
            // The empty list item and the pair given twice are shown as what they are.
            let shown = value.split(',').any(|item| complaint.contains(item)) || value.contains(',');
            assert!(shown, "{what}: the value is not shown: {complaint}");
        }
    }
}

#[test]
fn each_wrong_variable_is_refused_by_its_own_name() {
    needs!();
    for (flag, values) in WRONG.iter().filter(|(flag, _)| flag.starts_with("--")) {
        let variable = format!("LAMEDUCK_{}", flag.trim_start_matches('-').to_uppercase().replace('-', "_"));
        // An empty variable is unset.
        for value in values.iter().filter(|value| !value.is_empty()) {
            let what = format!("{variable}={value:?}");
            let complaints = refused(Init::new().env(&variable, value), &what);
            assert_eq!(complaints.len(), 1, "{what}: {complaints:#?}");
            assert!(complaints[0].contains(&variable), "{what}: {complaints:#?}");
        }
    }
    for switch in ["GROUP", "SUBREAPER", "WARN_ON_REAP", "KEEP_ENV", "VERBOSE", "EXPLAIN"] {
        let variable = format!("LAMEDUCK_{switch}");
        let complaints = refused(Init::new().env(&variable, "perhaps"), &variable);
        assert!(complaints.len() == 1 && complaints[0].contains(&variable), "{complaints:#?}");
    }
}

#[test]
fn each_unknown_flag_is_refused_by_its_name() {
    needs!();
    for flag in ["--dealy", "-x", "--delay-", "--Delay", "--no-delay", "-5"] {
        let complaints = refused(Init::new().flags([flag]), flag);
        assert!(complaints.len() == 1 && complaints[0].contains(flag), "{flag}: {complaints:#?}");
    }
    let near = refused(Init::new().flags(["--dealy=5s"]), "--dealy");
    assert!(near[0].contains("--delay"), "the one that was meant is named: {near:#?}");
}

#[test]
fn a_flag_without_its_value_is_refused() {
    needs!();
    for flag in ["--delay", "-t", "--map-exit", "--stop-signal"] {
        let mut run = Init::new().flags([flag]).run();
        run.expect_exit(125);
        assert_eq!(run.stdout(), "");
        assert!(run.stderr().starts_with(PREFIX), "{}", run.stderr());
    }
    let complaints = refused(Init::new().flags(["--group=yes"]), "--group=yes");
    assert!(complaints[0].contains("--group"), "{complaints:#?}");
}

#[test]
fn a_value_that_is_no_text_is_refused() {
    needs!();
    let complaints = refused(Init::new().flags([OsStr::from_bytes(b"--delay=\xff5s")]), "bytes");
    assert!(complaints.len() == 1 && complaints[0].contains("--delay"), "{complaints:#?}");
    let complaints = refused(Init::new().environ(&[b"LAMEDUCK_DELAY=\xff"]), "bytes in a variable");
    assert!(complaints.len() == 1 && complaints[0].contains("LAMEDUCK_DELAY"), "{complaints:#?}");
}

#[test]
fn a_missing_command_is_said_to_be_missing() {
    needs!();
    for flags in [&[][..], &["--"], &["--delay", "5s"], &["--delay", "5s", "--"]] {
        let mut run = Init::new().flags(flags).run();
        run.expect_exit(125);
        assert!(run.stderr().contains("no command given"), "{flags:?}: {}", run.stderr());
        assert_eq!(run.stdout(), "");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    needs!();
    let init =
        Init::new().flags(["--delay=x", "--bogus", "-t", "5q"]).env("LAMEDUCK_LINGER", "y").env("LAMEDUCK_GROUP", "z");
    let complaints = refused(init, "five errors");
    for named in ["--delay", "--bogus", "--drain-timeout", "LAMEDUCK_LINGER", "LAMEDUCK_GROUP"] {
        let naming = complaints.iter().filter(|complaint| complaint.contains(named)).count();
        assert_eq!(naming, 1, "{named}: {complaints:#?}");
    }
    assert_eq!(complaints.len(), 5, "{complaints:#?}");
}

#[test]
fn a_grace_period_without_room_for_a_drain_is_refused() {
    needs!();
    let complaints = refused(Init::new().flags(["--delay", "15s", "--grace", "20s"]), "15s in 20s");
    assert!(complaints.len() == 1 && complaints[0].contains("--grace"), "{complaints:#?}");
}

#[test]
fn an_unknown_variable_is_a_warning_with_the_one_that_was_meant() {
    needs!();
    let mut run = Init::new().env("LAMEDUCK_DELYA", "5s").cmd(["/bin/echo", "started"]).run();
    run.expect_exit(0);
    assert_eq!(run.stdout(), "started\n");
    assert!(run.stderr().contains("LAMEDUCK_DELYA") && run.stderr().contains("LAMEDUCK_DELAY"), "{}", run.stderr());

    let kubernetes =
        Init::new().env("LAMEDUCK_SERVICE_HOST", "10.0.0.1").env("LAMEDUCK_PORT_80_TCP", "tcp://10.0.0.1:80");
    let mut run = kubernetes.cmd(["/bin/true"]).run();
    run.expect_exit(0);
    assert_eq!(run.stderr(), "");
}

#[test]
fn help_version_and_explain_are_answers_and_run_nothing() {
    needs!();
    for flags in [&["--help"][..], &["-h"], &["--version"], &["-V"], &["--explain"], &["--delay", "15s", "--explain"]] {
        let mut run = Init::new().flags(flags).cmd(["/bin/echo", "started"]).run();
        run.expect_exit(0);
        let out = run.stdout();
        assert!(!out.is_empty() && !out.starts_with("started"), "{flags:?}: {out}");
        assert_eq!(run.stderr(), "", "{flags:?}");
    }
    let mut run = Init::new().flags(["--version"]).run();
    assert!(run.stdout().starts_with("lameduck version ") && run.stdout().contains(" - git."), "{}", run.stdout());
    run.expect_exit(0);
    let contradiction = ["--delay", "15s", "--drain-timeout", "30s", "--grace", "30s", "--explain"];
    Init::new().flags(contradiction).cmd(["/bin/true"]).run().expect_exit(1);
}
