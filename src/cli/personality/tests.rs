//! Command lines of other inits: what they come to, and what a variable of ours changes.

use super::*;
use crate::core::policy::DEFAULT_DRAIN;
use proptest::prelude::*;
use std::os::unix::ffi::OsStringExt as _;

fn outcome(line: &str, environ: &[(&str, &str)]) -> Outcome {
    let words: Vec<OsString> = line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
    let program = Program::of(words.first());
    let environ: Vec<Variable> = environ.iter().map(|(name, value)| (name.into(), value.into())).collect();
    assert!(environ.iter().all(|(name, _)| program.reads(name.as_encoded_bytes())), "{environ:?}");
    program.read(&words[1..], &environ)
}

#[track_caller]
fn settings(line: &str, environ: &[(&str, &str)]) -> Settings {
    match outcome(line, environ) {
        Outcome::Run(settings) => *settings,
        other => panic!("{line} {environ:?}: {other:?}"),
    }
}

#[track_caller]
fn printed(line: &str, environ: &[(&str, &str)]) -> Printed {
    match outcome(line, environ) {
        Outcome::Print(printed) => printed,
        other => panic!("{line} {environ:?}: {other:?}"),
    }
}

const ALL: [&str; 3] = ["tini", "dumb-init", "catatonit"];

#[test]
fn the_name_decides_with_or_without_a_directory() {
    for (name, program) in [
        ("lameduck", Program::Lameduck),
        ("/usr/bin/tini", Program::Tini),
        ("tini-static", Program::Tini),
        ("/sbin/docker-init", Program::Tini),
        ("/usr/local/bin/dumb-init", Program::DumbInit),
        ("dumb-init_1.2.5_x86_64", Program::DumbInit),
        ("catatonit", Program::Catatonit),
        ("/run/podman-init", Program::Catatonit),
        ("/dev/init", Program::Catatonit),
        ("init", Program::Lameduck),
        ("/tini/server", Program::Lameduck),
        ("", Program::Lameduck),
    ] {
        assert_eq!(Program::of(Some(&name.into())), program, "{name}");
    }
    assert_eq!(Program::of(None), Program::Lameduck);
}

#[test]
fn without_a_variable_of_ours_it_is_a_plain_init() {
    for name in ALL {
        for empty in [&[][..], &[("LAMEDUCK_DELAY", "")]] {
            let Settings { policy, command, log_level, lets_go, .. } =
                settings(&format!("{name} -- nginx -g x"), empty);
            assert_eq!(command, ["nginx", "-g", "x"]);
            assert!(!policy.stops() && policy.delay.is_zero() && policy.drain.is_none(), "{policy:?}");
            assert_eq!(policy.linger, Some(Duration::ZERO));
            assert_eq!(log_level, LogLevel::Warn);
            assert!(lets_go);
        }
    }
}

#[test]
fn files_named_from_the_working_directory_keep_it() {
    for (value, lets_go) in [("/run/report.json", true), ("report.json", false)] {
        assert_eq!(settings("tini -- nginx", &[("LAMEDUCK_REPORT", value)]).lets_go, lets_go, "{value}");
    }
    assert!(!settings("tini -- nginx", &[("LAMEDUCK_ON_STOP", "bin/deregister")]).lets_go);
}

#[test]
fn any_variable_about_the_stop_switches_all_of_it_on() {
    for name in ALL {
        for (variable, value) in [
            ("LAMEDUCK_DELAY", "15s"),
            ("LAMEDUCK_DELAY", "0"),
            ("LAMEDUCK_DRAIN_TIMEOUT", "30s"),
            ("LAMEDUCK_STOP_SIGNAL", "auto"),
            ("LAMEDUCK_LINGER", "5s"),
        ] {
            let settings = settings(&format!("{name} -- nginx"), &[(variable, value)]);
            let policy = &settings.policy;
            assert_eq!((policy.stop_on, policy.stop_signal), (StopOn::Auto, StopSignal::Auto), "{name} {variable}");
            assert_eq!(policy.drain, Some(DEFAULT_DRAIN), "{name} {variable}");
            assert_eq!(settings.log_level, LogLevel::Info, "{name} {variable}");
        }
    }
}

#[test]
fn other_variables_of_ours_change_what_they_are_about_and_nothing_else() {
    for (variable, value) in [
        ("LAMEDUCK_MAP_EXIT", "143"),
        ("LAMEDUCK_REWRITE", "HUP:0"),
        ("LAMEDUCK_LOG", "json"),
        ("LAMEDUCK_KEEP_ENV", "1"),
    ] {
        for name in ALL {
            assert!(!settings(&format!("{name} -- nginx"), &[(variable, value)]).policy.stops(), "{name} {variable}");
        }
    }
    assert_eq!(settings("tini -- nginx", &[("LAMEDUCK_MAP_EXIT", "143=7")]).policy.map_exit, [(143, 7)]);
    assert_eq!(settings("tini -- nginx", &[("LAMEDUCK_LOG_LEVEL", "trace")]).log_level, LogLevel::Trace);
}

#[test]
fn what_is_wrong_with_our_variables_is_told_as_always() {
    for name in ALL {
        let Printed { text, code, stream } = printed(&format!("{name} -- nginx"), &[("LAMEDUCK_DELAY", "soon")]);
        assert_eq!((code, stream), (125, Stream::Err));
        assert!(text.contains("LAMEDUCK_DELAY"), "{text}");
        let warnings = settings(&format!("{name} -- nginx"), &[("LAMEDUCK_DEALY", "3s")]).warnings;
        assert!(warnings.len() == 1 && warnings[0].contains("LAMEDUCK_DELAY?"), "{warnings:?}");
    }
}

#[test]
fn a_flag_beats_our_variable_which_beats_the_programs_own() {
    let group = |line: &str, environ: &[(&str, &str)]| settings(line, environ).policy.group;
    assert!(group("tini -g -- nginx", &[("LAMEDUCK_GROUP", "0")]));
    assert!(!group("tini -- nginx", &[("LAMEDUCK_GROUP", "0"), ("TINI_KILL_PROCESS_GROUP", "1")]));
    assert!(group("tini -- nginx", &[("TINI_KILL_PROCESS_GROUP", "1")]));
    assert!(group("dumb-init nginx", &[]));
    assert!(!group("dumb-init nginx", &[("LAMEDUCK_GROUP", "no")]));
    assert!(!group("dumb-init -c nginx", &[("LAMEDUCK_GROUP", "yes")]));
    let level = |line: &str, environ: &[(&str, &str)]| settings(line, environ).log_level;
    assert_eq!(level("tini -vv -- nginx", &[("LAMEDUCK_LOG_LEVEL", "error")]), LogLevel::Debug);
    assert_eq!(level("tini -- nginx", &[("LAMEDUCK_LOG_LEVEL", "error"), ("TINI_VERBOSITY", "3")]), LogLevel::Error);
}

#[test]
fn explain_tells_whose_defaults_they_are() {
    let Printed { text, code, .. } = printed("tini -- nginx", &[("LAMEDUCK_EXPLAIN", "1"), ("TINI_SUBREAPER", "")]);
    assert_eq!(code, 0);
    let has = |name: &str, value: &str, origin: &str| {
        let row = text.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).unwrap_or_default();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, [name, value, origin], "{text}");
    };
    has("stop-on", "none", "tini");
    has("drain-timeout", "none", "tini");
    has("subreaper", "yes", "TINI_SUBREAPER");
    assert!(text.contains("No stop sequence") && !text.contains("SIGKILL"), "{text}");
    let with_delay = printed("tini -- nginx", &[("LAMEDUCK_EXPLAIN", "1"), ("LAMEDUCK_DELAY", "3s")]).text;
    assert!(with_delay.contains("LAMEDUCK_DELAY") && !with_delay.contains("No stop sequence"), "{with_delay}");
}

#[test]
fn pages_that_were_asked_for_go_to_standard_output() {
    for line in [
        "tini -h",
        "tini x -h",
        "tini -l",
        "tini --version",
        "dumb-init -h",
        "dumb-init --help",
        "dumb-init -V",
        "dumb-init --version",
        "catatonit -h",
        "catatonit -L",
        "catatonit -V",
        "catatonit --version",
        "catatonit --version x",
    ] {
        let Printed { text, code, stream } = printed(line, &[]);
        assert_eq!((code, stream), (0, Stream::Out), "{line}");
        assert!(text.contains("lameduck") && text.ends_with('\n'), "{line}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && line.trim_end() == line), "{line}: {text}");
        if line.ends_with("version") || line.ends_with("-V") {
            assert!(text.starts_with("lameduck version ") && text.contains(" - git."), "{line}: {text}");
        }
    }
}

#[test]
fn what_cannot_be_read_ends_with_1_and_says_what_it_was() {
    for (line, named) in [
        ("tini", "no command"),
        ("tini --", "no command"),
        ("tini -Z -- x", "-Z"),
        ("tini sh -c x", "-c"),
        ("tini -e", "-e"),
        ("tini -e 256 -- x", "256"),
        ("tini -e -1 -- x", "-1"),
        ("tini -e 1x -- x", "1x"),
        ("tini -p TERM -- x", "TERM"),
        ("tini -p sigterm -- x", "sigterm"),
        ("tini -p 15 -- x", "15"),
        ("tini --version -- x", "--"),
        ("dumb-init", "no command"),
        ("dumb-init -Z x", "-Z"),
        ("dumb-init -r TERM:3 x", "TERM:3"),
        ("dumb-init -r 32:3 x", "32:3"),
        ("dumb-init -r 15:32 x", "15:32"),
        ("dumb-init -r 0:3 x", "0:3"),
        ("dumb-init -r 15 x", "15"),
        ("dumb-init --ver x", "--version"),
        ("dumb-init --nope x", "--nope"),
        ("catatonit", "no command"),
        ("catatonit --help", "--help"),
        ("catatonit -P", "pause"),
    ] {
        let Printed { text, code, stream } = printed(line, &[]);
        assert_eq!((code, stream), (1, Stream::Err), "{line}: {text}");
        assert!(text.contains(named) && text.contains("nothing was started"), "{line}: {text}");
    }
}

#[test]
fn tini_takes_options_between_the_words_of_the_command_unless_posix_is_asked_for() {
    assert_eq!(settings("tini echo -g a -- -h", &[]).command, ["echo", "a", "-h"]);
    assert_eq!(settings("tini -- echo -g", &[]).command, ["echo", "-g"]);
    assert_eq!(settings("tini echo -g a", &[("POSIXLY_CORRECT", "")]).command, ["echo", "-g", "a"]);
    assert_eq!(settings("catatonit echo a -g", &[]).command, ["echo", "a"]);
    assert_eq!(settings("dumb-init echo -c", &[]).command, ["echo", "-c"]);
}

#[test]
fn tinis_options_and_variables() {
    let all = settings("tini -gsw -pSIGHUP -e 143 -e7 -e 143 -- x", &[]);
    assert!(all.policy.group && all.subreaper && all.warn_on_reap);
    assert_eq!(all.parent_death_signal, Some(Signal::HUP));
    assert_eq!(all.policy.map_exit, [(7, 0), (143, 0)]);
    assert_eq!(settings("tini -p SIGHUP -p SIGKILL x", &[]).parent_death_signal, Some(Signal::KILL));
    for (value, expected) in [("", true), ("1", true), ("yes", true), ("0", false), ("False", false), ("no", false)] {
        assert_eq!(settings("tini x", &[("TINI_SUBREAPER", value)]).subreaper, expected, "{value}");
        assert_eq!(settings("tini x", &[("TINI_KILL_PROCESS_GROUP", value)]).policy.group, expected, "{value}");
    }
    for (line, verbosity, expected) in [
        ("tini x", "0", LogLevel::Error),
        ("tini x", "loud", LogLevel::Error),
        ("tini x", "2", LogLevel::Info),
        ("tini -vvv x", "2", LogLevel::Info),
        ("tini x", "9223372036854775807", LogLevel::Trace),
    ] {
        assert_eq!(settings(line, &[("TINI_VERBOSITY", verbosity)]).log_level, expected, "{line} {verbosity}");
    }
    for (line, expected) in
        [("tini -v x", LogLevel::Info), ("tini -vv x", LogLevel::Debug), ("tini -vvvv x", LogLevel::Trace)]
    {
        assert_eq!(settings(line, &[]).log_level, expected, "{line}");
    }
}

#[test]
fn each_status_is_mapped_by_e() {
    for status in 0..=255_u8 {
        assert_eq!(settings(&format!("tini -e {status} x"), &[]).policy.map_exit, [(status, 0)]);
    }
}

#[test]
fn dumb_inits_session_and_what_it_rewrites() {
    let policy = settings("dumb-init x", &[]).policy;
    assert_eq!((policy.place, policy.group), (Place::OwnSession, true));
    for signal in [Signal::TSTP, Signal::TTIN, Signal::TTOU] {
        assert_eq!(policy.rewritten(signal), Some(Signal::STOP));
    }
    for (line, environ) in [("dumb-init -c x", &[][..]), ("dumb-init x", &[("DUMB_INIT_SETSID", "0")])] {
        let policy = settings(line, environ).policy;
        assert_eq!((policy.place, policy.group), (Place::OurGroup, false), "{line}");
        assert_eq!(policy.rewritten(Signal::TSTP), Some(Signal::TSTP), "{line}");
    }
    assert_eq!(settings("dumb-init x", &[("DUMB_INIT_SETSID", "false")]).policy.place, Place::OwnSession);
    let policy = settings("dumb-init -r 15:3 --rewrite=15:9 --rew 1:0 -r 20:20 -r 9:1 -r 17:1 x", &[]).policy;
    assert_eq!(policy.rewritten(Signal::TERM), Some(Signal::KILL));
    assert_eq!(policy.rewritten(Signal::HUP), None);
    assert_eq!(policy.rewritten(Signal::TSTP), Some(Signal::TSTP));
    assert_eq!(policy.rewritten(Signal::TTIN), Some(Signal::STOP));
    assert_eq!(policy.rewritten(Signal::CHLD), Some(Signal::CHLD));
}

#[test]
fn debug_is_what_each_program_calls_it() {
    for (line, environ, expected) in [
        ("dumb-init -v x", &[][..], LogLevel::Debug),
        ("dumb-init x", &[("DUMB_INIT_DEBUG", "1")], LogLevel::Debug),
        ("dumb-init x", &[("DUMB_INIT_DEBUG", "true")], LogLevel::Warn),
        ("catatonit x", &[("CATATONIT_DEBUG", "")], LogLevel::Debug),
        ("catatonit x", &[("CATATONIT_DEBUG", "0")], LogLevel::Warn),
        ("catatonit x", &[("CATATONIT_LOG", "x")], LogLevel::Warn),
    ] {
        assert_eq!(settings(line, environ).log_level, expected, "{line} {environ:?}");
    }
}

#[test]
fn each_has_its_own_statuses_for_a_command_that_cannot_be_started() {
    let of = |line: &str| {
        let StartErrors { own, not_found, not_executable } = settings(line, &[]).start_errors;
        (own, not_found, not_executable)
    };
    assert_eq!(of("tini x"), (1, 127, 126));
    assert_eq!(of("dumb-init x"), (1, 2, 2));
    assert_eq!(of("catatonit x"), (1, 1, 1));
}

fn word() -> impl Strategy<Value = OsString> {
    prop_oneof![
        3 => "-[a-zA-Z]{1,3}|--[a-z-]{0,9}=?[0-9:]{0,5}|[0-9]{1,3}:[0-9]{1,3}[x]?|SIG[A-Z]{2,4}|--|-|[0-9+-]{0,20}".prop_map(OsString::from),
        1 => proptest::collection::vec(1_u8.., 0..8).prop_map(OsString::from_vec),
    ]
}

proptest! {
    #[test]
    fn nothing_panics_and_every_complaint_is_whole_lines(
        args in proptest::collection::vec(word(), 0..8),
        name in proptest::sample::select(ALL.to_vec()),
        values in [word(), word(), word()],
    ) {
        let program = Program::of(Some(&name.into()));
        let names = match program {
            Program::Tini => ["TINI_VERBOSITY", "TINI_SUBREAPER", "TINI_KILL_PROCESS_GROUP"],
            Program::DumbInit => ["DUMB_INIT_SETSID", "DUMB_INIT_DEBUG", "LAMEDUCK_GROUP"],
            _ => ["CATATONIT_DEBUG", "CATATONIT_LOG", "LAMEDUCK_DELAY"],
        };
        let environ: Vec<Variable> = names.iter().map(OsString::from).zip(values).collect();
        match program.read(&args, &environ) {
            Outcome::Run(settings) => prop_assert!(!settings.command.is_empty()),
            Outcome::Print(Printed { text, code, stream }) => {
                prop_assert!(text.ends_with('\n'));
                prop_assert_eq!(stream == Stream::Out, code == 0);
                prop_assert!(stream == Stream::Out || text.lines().all(|line| line.starts_with("lameduck")), "{}", text);
            }
            Outcome::Ask(question) => prop_assert!(false, "{:?}", question),
        }
    }

    #[test]
    fn a_command_after_dashes_arrives_unchanged(words in proptest::collection::vec(word(), 1..8)) {
        for name in ALL {
            let args: Vec<OsString> = [OsString::from("--")].into_iter().chain(words.iter().cloned()).collect();
            match Program::of(Some(&name.into())).read(&args, &[]) {
                Outcome::Run(settings) => prop_assert_eq!(&settings.command, &words),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
