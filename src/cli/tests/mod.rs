//! Whole command lines and environments.

mod anything;
mod extras;
mod health;
mod pages;

use super::*;
use crate::core::policy::{StopOn, StopSignal};
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

type Environ<'a> = &'a [(&'a str, &'a str)];

/// Flags, variables that mean the same, and what both come to.
type Case<'a> = (&'a [&'a str], Environ<'a>, fn(&Settings) -> bool);

fn outcome(args: &[&str], environ: Environ<'_>) -> Outcome {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let environ: Vec<(OsString, OsString)> = environ.iter().map(|(name, value)| (name.into(), value.into())).collect();
    read(&args, &environ)
}

#[track_caller]
fn settings(args: &[&str], environ: Environ<'_>) -> Settings {
    match outcome(args, environ) {
        Outcome::Run(settings) => *settings,
        other => panic!("{args:?} {environ:?}: {other:?}"),
    }
}

#[track_caller]
fn printed(args: &[&str], environ: Environ<'_>) -> Printed {
    match outcome(args, environ) {
        Outcome::Print(printed) => printed,
        other => panic!("{args:?} {environ:?} ran: {other:?}"),
    }
}

/// The complaints about a command line, without what frames them.
#[track_caller]
fn errors(args: &[&str], environ: Environ<'_>) -> Vec<String> {
    let Printed { text, code, stream } = printed(args, environ);
    assert_eq!((code, stream), (125, Stream::Err), "{text}");
    let mut lines: Vec<String> =
        text.lines().map(|line| line.strip_prefix("lameduck: ").expect(line).to_owned()).collect();
    assert!(lines.pop().is_some_and(|last| last.contains("--help")), "{text}");
    lines
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// === the command ===

#[test]
fn without_options_everything_is_the_default() {
    for args in [&["nginx", "-g", "x"][..], &["--", "nginx", "-g", "x"]] {
        let settings = settings(args, &[]);
        assert_eq!(settings.command, ["nginx", "-g", "x"]);
        assert_eq!(settings.policy, Policy::default());
        assert!(!settings.subreaper && !settings.warn_on_reap && !settings.keep_env);
        assert_eq!(
            (settings.parent_death_signal, settings.log, settings.log_level),
            (None, LogFormat::Text, LogLevel::Info)
        );
        assert_eq!(settings.warnings, [""; 0]);
    }
}

#[test]
fn options_end_at_the_first_word_that_is_not_a_flag() {
    for (args, command) in [
        (&["echo", "-g", "-h"][..], &["echo", "-g", "-h"][..]),
        (&["-v", "echo", "-g", "-h"], &["echo", "-g", "-h"]),
        (&["-v", "echo", "--", "-g"], &["echo", "--", "-g"]),
        (&["echo", "--", "-g"], &["echo", "--", "-g"]),
        (&["-v", "--", "--delay", "--", "x"], &["--delay", "--", "x"]),
        (&["--", "--delay", "--", "x"], &["--delay", "--", "x"]),
        (&["-v", "--", "--", "x"], &["--", "x"]),
        (&["-d", "1", "-", "-g"], &["-", "-g"]),
        (&["-", "-g"], &["-", "-g"]),
        (&["-v", ""], &[""]),
        (&["", "x"], &["", "x"]),
    ] {
        let settings = settings(args, &[]);
        assert_eq!(settings.command, command, "{args:?}");
        assert!(!settings.policy.group);
    }
}

#[test]
fn arguments_are_bytes() {
    let odd = OsString::from_vec(vec![0xff, b'\n', 0xc3]);
    for before in [&["-v"][..], &["-v", "--"], &["--"], &[]] {
        let mut args: Vec<OsString> = before.iter().map(OsString::from).collect();
        args.extend(["cat".into(), odd.clone()]);
        match read(&args, &[]) {
            Outcome::Run(settings) => assert_eq!(settings.command[1], odd),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_missing_command_is_an_error_of_its_own() {
    for args in [&[][..], &["--"], &["-v"], &["--delay", "5s"], &["-v", "--"]] {
        let errors = errors(args, &[]);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with("no command given: "), "{errors:?}");
    }
}

// === values and where they come from ===

#[test]
fn every_option_is_read_from_flag_and_variable_alike() {
    let cases: [Case<'_>; 19] = [
        (&["-d15s"], &[("LAMEDUCK_DELAY", "15")], |s| s.policy.delay == seconds(15)),
        (&["-d", "15"], &[("LAMEDUCK_DELAY", " 15s ")], |s| s.policy.delay == seconds(15)),
        (&["--drain-timeout=1m30s"], &[("LAMEDUCK_DRAIN_TIMEOUT", "90")], |s| s.policy.drain == Some(seconds(90))),
        (&["-t", "none"], &[("LAMEDUCK_DRAIN_TIMEOUT", "none")], |s| s.policy.drain.is_none()),
        (&["--grace", "47s"], &[("LAMEDUCK_GRACE", "47")], |s| s.policy.drain == Some(seconds(40))),
        (&["--stop-signal", "quit"], &[("LAMEDUCK_STOP_SIGNAL", "3")], |s| {
            s.policy.stop_signal == StopSignal::This(Signal::QUIT)
        }),
        (&["--stop-on", "TERM,INT"], &[("LAMEDUCK_STOP_ON", "INT, 15")], |s| {
            s.policy.stop_on == StopOn::These([Signal::TERM, Signal::INT].into_iter().collect())
        }),
        (&["--stop-on", "TERM", "--stop-on", "INT"], &[("LAMEDUCK_STOP_ON", "TERM,INT")], |s| {
            s.policy.stop_on == StopOn::These([Signal::TERM, Signal::INT].into_iter().collect())
        }),
        (&["--repeat", "ignore"], &[("LAMEDUCK_REPEAT", "IGNORE")], |s| !s.policy.hurry),
        (&["-r", "HUP:TERM", "-r", "USR1:0"], &[("LAMEDUCK_REWRITE", "HUP:TERM,USR1:0")], |s| {
            s.policy.rewrite == [(Signal::HUP, Some(Signal::TERM)), (Signal::USR1, None)]
        }),
        (&["-g"], &[("LAMEDUCK_GROUP", "yes")], |s| s.policy.group),
        (&["--linger", "500ms"], &[("LAMEDUCK_LINGER", "0.5")], |s| {
            s.policy.linger == Some(Duration::from_millis(500))
        }),
        (&["-e", "143", "-e", "7=0"], &[("LAMEDUCK_MAP_EXIT", "143=0,7")], |s| s.policy.map_exit == [(143, 0), (7, 0)]),
        (&["-s"], &[("LAMEDUCK_SUBREAPER", "1")], |s| s.subreaper),
        (&["-p", "SIGKILL"], &[("LAMEDUCK_PARENT_DEATH_SIGNAL", "9")], |s| s.parent_death_signal == Some(Signal::KILL)),
        (&["-w"], &[("LAMEDUCK_WARN_ON_REAP", "On")], |s| s.warn_on_reap),
        (&["--keep-env"], &[("LAMEDUCK_KEEP_ENV", "true")], |s| s.keep_env),
        (&["--log=json"], &[("LAMEDUCK_LOG", "json")], |s| s.log == LogFormat::Json),
        (&["-vv"], &[("LAMEDUCK_VERBOSE", "2")], |s| s.log_level == LogLevel::Trace),
    ];
    for (flags, environ, holds) in cases {
        let by_flag = settings(&[flags, &["--", "x"]].concat(), &[]);
        assert!(holds(&by_flag), "{flags:?}: {by_flag:?}");
        assert_eq!(by_flag, settings(&["x"], environ), "{flags:?} and {environ:?}");
        assert!(!holds(&settings(&["x"], &[])), "{flags:?} would go unnoticed");
    }
}

#[test]
fn a_flag_beats_its_variable_and_an_empty_variable_is_none() {
    let s = settings(&["-d", "1", "-e", "5", "x"], &[("LAMEDUCK_DELAY", "2"), ("LAMEDUCK_MAP_EXIT", "143,7=1")]);
    assert_eq!((s.policy.delay, s.policy.map_exit), (seconds(1), vec![(5, 0)]));
    let s = settings(&["x"], &[("LAMEDUCK_DELAY", ""), ("LAMEDUCK_GROUP", ""), ("LAMEDUCK_STOP_ON", "")]);
    assert_eq!(s.policy, Policy::default());
    // What is overruled is not read at all.
    assert_eq!(settings(&["-d", "1", "x"], &[("LAMEDUCK_DELAY", "nonsense")]).policy.delay, seconds(1));
}

#[test]
fn a_switch_can_be_off_in_the_environment() {
    for off in ["0", "false", "No", "OFF"] {
        let s = settings(&["x"], &[("LAMEDUCK_GROUP", off), ("LAMEDUCK_EXPLAIN", off), ("LAMEDUCK_VERBOSE", off)]);
        assert_eq!((s.policy.group, s.log_level), (false, LogLevel::Info));
    }
}

#[test]
fn a_level_that_was_named_beats_verbose_unless_only_verbose_is_a_flag() {
    let level = |args: &[&str], environ: Environ<'_>| settings(&[args, &["x"]].concat(), environ).log_level;
    assert_eq!(level(&["-v"], &[]), LogLevel::Debug);
    assert_eq!(level(&["-v", "-v", "-v"], &[]), LogLevel::Trace);
    assert_eq!(level(&["-vv", "--log-level", "warn"], &[]), LogLevel::Warn);
    assert_eq!(level(&[], &[("LAMEDUCK_VERBOSE", "1"), ("LAMEDUCK_LOG_LEVEL", "error")]), LogLevel::Error);
    assert_eq!(level(&["-v"], &[("LAMEDUCK_LOG_LEVEL", "error")]), LogLevel::Debug);
    assert_eq!(level(&["--log-level", "error"], &[("LAMEDUCK_VERBOSE", "2")]), LogLevel::Error);
}

#[test]
fn only_the_recognised_names_are_our_own() {
    for name in ["LAMEDUCK_DELAY", "LAMEDUCK_EXPLAIN", "LAMEDUCK_PARENT_DEATH_SIGNAL"] {
        assert!(is_own_variable(name.as_bytes()), "{name}");
    }
    for name in ["LAMEDUCK_", "LAMEDUCK_HELP", "LAMEDUCK_PORT", "LAMEDUCK_DELAYS", "lameduck_delay", "DELAY", ""] {
        assert!(!is_own_variable(name.as_bytes()), "{name}");
    }
}

// === errors ===

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let errors = errors(
        &["--dealy", "15s", "-t", "x", "--grop", "--log=xml", "-vq", "--group=1", "-p", "--linger", "-3", "nginx"],
        &[("LAMEDUCK_DELAY", "soon"), ("LAMEDUCK_KEEP_ENV", "maybe")],
    );
    for start in [
        "--dealy: unknown flag; did you mean --delay?",
        "--grop: unknown flag; did you mean --group?",
        "-q: unknown flag",
        "--group: takes no value",
        "--parent-death-signal: no value given: write --parent-death-signal SIGNAL",
        "--drain-timeout: \"x\": not a duration: write 15s",
        "--log: \"xml\": unknown: write one of text, json",
        "--linger: \"-3\": a duration cannot be negative",
        "LAMEDUCK_DELAY: \"soon\": not a duration",
        "LAMEDUCK_KEEP_ENV: \"maybe\": neither yes nor no",
    ] {
        assert_eq!(errors.iter().filter(|error| error.starts_with(start)).count(), 1, "{start}: {errors:#?}");
    }
    assert_eq!(errors.len(), 10, "{errors:#?}");
}

#[test]
fn one_error_names_flag_or_variable_and_what_was_wrong() {
    for (args, environ, start) in [
        (&["-d", "-5s", "x"][..], &[][..], "--delay: \"-5s\": a duration cannot be negative"),
        (&["--delay=", "x"], &[], "--delay: \"\": not a duration"),
        (&["-delay", "15s", "x"], &[], "--delay: \"elay\": not a duration"),
        (&["--delay", "--", "x"], &[], "--delay: no value given: write --delay TIME"),
        (&["--delay", "1", "--delay", "-v", "x"], &[], "--delay: no value given"),
        (&["-d", "1", "-d", "1", "x"], &[], "--delay: given more than once (\"1\", \"1\"): write it once"),
        (&["-D", "x"], &[], "-D: unknown flag; did you mean -d?"),
        (&["--delay=x1", "-x", "n"], &[], "-x: unknown flag"),
        (&["--a\nb", "x"], &[], "--a\\nb: unknown flag"),
        (&["--stop-on", "KILL", "x"], &[], "--stop-on: \"KILL\": SIGKILL never reaches any process"),
        (&["--stop-on", "TERM,auto", "x"], &[], "--stop-on: auto stands alone"),
        (&["--stop-on", "TERM,,INT", "x"], &[], "--stop-on: \"\": an empty value"),
        (&["-r", "STOP:TERM", "x"], &[], "--rewrite: \"STOP:TERM\": SIGSTOP never"),
        (&["-r", "HUP:TERM,HUP:0", "x"], &[], "--rewrite: SIGHUP is rewritten twice"),
        (&["-e", "1", "-e", "1=2", "x"], &[], "--map-exit: 1 is mapped twice"),
        (&["x"], &[("LAMEDUCK_MAP_EXIT", "143,x")], "LAMEDUCK_MAP_EXIT: \"x\": not exit statuses"),
        (&["x"], &[("LAMEDUCK_STOP_SIGNAL", "TREM")], "LAMEDUCK_STOP_SIGNAL: \"TREM\": not a signal"),
        (&["x"], &[("LAMEDUCK_EXPLAIN", "2")], "LAMEDUCK_EXPLAIN: \"2\": neither yes nor no"),
    ] {
        let errors = errors(args, environ);
        assert!(errors[0].starts_with(start), "{args:?} {environ:?}: {errors:?}");
        assert!(errors.iter().skip(1).all(|error| error.contains("\"x1\"")), "{errors:?}");
    }
}

#[test]
fn options_of_other_programs_and_other_times_do_not_exist() {
    for flag in ["--quiet", "--min-delay", "--wait-idle", "--pre-stop", "--color", "-c"] {
        assert!(errors(&[flag, "x"], &[])[0].starts_with(&format!("{flag}: unknown flag")), "{flag}");
    }
}

#[test]
fn values_that_are_no_text_are_refused() {
    let odd = OsString::from_vec(vec![b'1', 0xff]);
    for (args, environ) in [
        (vec!["-d".into(), odd.clone(), "x".into()], vec![]),
        (vec!["-e".into(), odd.clone(), "x".into()], vec![]),
        (vec!["x".into()], vec![("LAMEDUCK_DELAY".into(), odd.clone())]),
        (vec!["x".into()], vec![("LAMEDUCK_GROUP".into(), odd.clone())]),
    ] {
        let Outcome::Print(printed) = read(&args, &environ) else { panic!("{args:?} {environ:?} ran") };
        assert!(printed.text.contains(r#""1\xFF": not text"#), "{}", printed.text);
    }
}

#[test]
fn errors_without_end_are_cut_off() {
    let args = vec!["--x"; 1_000];
    assert_eq!(errors(&args, &[]).len(), 20);
}

// === warnings ===

#[test]
fn an_unknown_variable_is_warned_of_unless_kubernetes_injected_it() {
    let s = settings(
        &["x"],
        &[
            ("LAMEDUCK_DELY", "5"),
            ("LAMEDUCK_BANANA", "5"),
            ("LAMEDUCK_SERVICE_HOST", "10.0.0.1"),
            ("LAMEDUCK_PORT", "tcp://10.0.0.1:80"),
            ("LAMEDUCK_PORT_80_TCP", "x"),
        ],
    );
    assert_eq!(
        s.warnings,
        [
            "LAMEDUCK_DELY: unknown variable, ignored; did you mean LAMEDUCK_DELAY?",
            "LAMEDUCK_BANANA: unknown variable, ignored; --help lists those there are",
        ]
    );
}

#[test]
fn dropping_a_stop_signal_is_warned_of() {
    assert!(settings(&["-r", "TERM:0", "x"], &[]).warnings[0].starts_with("--rewrite: SIGTERM is dropped"));
    assert!(settings(&["--stop-on", "USR1", "-r", "USR1:0", "x"], &[]).warnings[0].contains("SIGUSR1 is dropped"));
    assert!(settings(&["--stop-on", "USR1", "-r", "TERM:0,USR1:TERM", "x"], &[]).warnings.is_empty());
}

#[test]
fn a_drain_of_nothing_is_warned_of() {
    assert!(settings(&["-t", "0", "x"], &[]).warnings[0].starts_with("--drain-timeout 0: the server is killed"));
}
