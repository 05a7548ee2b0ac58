//! What others are to see: files, hooks, and what they do to the sum.

use super::*;
use crate::core::Unready;
use crate::fuzz::{self, Dice, SOME, TEN_MILLION};
use proptest::prelude::*;

#[test]
fn files_and_hooks_are_read_from_flags_and_variables() {
    let by_flag = settings(
        &["--ready-file", "r", "--drain-file=/d", "--state-file", "/s", "--report", "/dev/termination-log", "x"],
        &[],
    );
    let extras = &by_flag.extras;
    let path = |place: &Option<Place>| place.as_ref().map(|place| place.path.to_string_lossy().into_owned());
    let paths = [&extras.ready_file, &extras.drain_file, &extras.state_file, &extras.report].map(path);
    assert_eq!(paths, ["r", "/d", "/s", "/dev/termination-log"].map(|path| Some(path.to_owned())));

    let by_variable =
        settings(&["x"], &[("LAMEDUCK_ON_STOP", "curl -d 'a b' http://x"), ("LAMEDUCK_UNREADY", "never")]);
    let hook = by_variable.extras.on_stop.expect("a hook");
    assert_eq!((hook.words.join("|").as_str(), hook.given_as.as_str()), ("curl|-d|a b|http://x", "LAMEDUCK_ON_STOP"));
    assert_eq!(by_variable.policy.unready, Unready::Never);
    assert_eq!((by_variable.policy.on_stop, by_variable.policy.on_exit), (Some(seconds(5)), None));
}

#[test]
fn without_any_of_them_nothing_is_asked_for() {
    assert_eq!(settings(&["-d", "1", "x"], &[]).extras, Extras::default());
}

#[test]
fn hooks_are_limited_and_count_towards_the_grace_period() {
    let s =
        settings(&["--on-stop", "a", "--on-exit", "b", "--hook-timeout", "3", "--grace", "30", "-d", "10", "x"], &[]);
    assert_eq!((s.policy.on_stop, s.policy.on_exit), (Some(seconds(3)), Some(seconds(3))));
    // 30 - 3 - 10 - 5 - 3 - 2
    assert_eq!(s.policy.drain, Some(seconds(7)));
    let refused = errors(&["--on-stop", "a", "--grace", "12", "x"], &[]);
    assert!(
        refused[0].starts_with("--grace: on-stop hook 5s + linger 5s + kill 2s = 12s leaves no second"),
        "{refused:?}"
    );
    let warned = settings(&["--hook-timeout", "3", "x"], &[]).warnings;
    assert_eq!(warned, ["--hook-timeout: there is no hook to limit"]);
}

#[test]
fn readiness_that_nobody_sees_is_warned_of() {
    let warned = |args: &[&str]| settings(args, &[("LAMEDUCK_UNREADY", "end")]).warnings;
    let expected = ["LAMEDUCK_UNREADY: nobody sees readiness without --health-listen or --ready-file"];
    assert_eq!(warned(&["x"]), expected);
    // It says that a stop runs, not whether the server is ready.
    assert_eq!(warned(&["--drain-file", "/d", "x"]), expected);
    for seen in [["--health-listen", ":1"], ["--ready-file", "/r"], ["--state-file", "/s"]] {
        assert_eq!(warned(&[&seen[..], &["x"]].concat()), [""; 0]);
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (args, environ, start) in [
        (&["--ready-file", "/", "x"][..], &[][..], "--ready-file: \"/\": not a file"),
        (&["--ready-file", "", "x"], &[], "--ready-file: \"\": not a file"),
        (&["--state-file", "/run/", "x"], &[], "--state-file: \"/run/\": not a file"),
        (&["--report", "..", "x"], &[], "--report: \"..\": not a file"),
        (&["--on-stop", "echo 'x", "x"], &[], "--on-stop: \"echo 'x\": a quote is not closed"),
        (&["--on-stop", "  ", "x"], &[], "--on-stop: \"  \": no command in it"),
        (&["--on-exit", "'' x", "x"], &[], "--on-exit: \"'' x\": the name of the program is empty"),
        (&["--hook-timeout", "0", "--on-exit", "y", "x"], &[], "--hook-timeout: \"0\": a hook needs time"),
        (&["--unready", "now", "x"], &[], "--unready: \"now\": unknown: write one of start, end, never"),
        (&["--report", "/a", "x"], &[("LAMEDUCK_STATE_FILE", "/a")], "--report: the same file as LAMEDUCK_STATE_FILE"),
        (&["--ready-file", "a", "--drain-file", "./a", "x"], &[], "--drain-file: the same file as --ready-file"),
        (
            &["--report", "/a.lock", "--state-file", "/a", "x"],
            &[],
            "--report: the same file as --state-file (its lock)",
        ),
        (
            &["--drain-file", "/a.lock", "--state-file", "/a", "x"],
            &[],
            "--state-file (its lock): the same file as --dra",
        ),
    ] {
        let errors = errors(args, environ);
        assert!(errors[0].starts_with(start) && errors.len() == 1, "{args:?}: {errors:?}");
    }
}

#[test]
fn the_variables_of_a_hook_are_known_to_a_lameduck_in_it() {
    let s = settings(&["x"], &[("LAMEDUCK_PHASE", "gone"), ("LAMEDUCK_EXIT_CODE", "3"), ("LAMEDUCK_PHASES", "x")]);
    assert_eq!(s.warnings.len(), 1, "{:?}", s.warnings);
}

#[test]
fn the_report_repeats_what_bounds_the_stop_and_what_was_given() {
    let shown = settings(&["--report", "/r", "-g", "--unready", "end", "x"], &[("LAMEDUCK_DELAY", "90")]).extras.shown;
    let get = |name: &str| shown.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    assert_eq!([get("delay"), get("drain-timeout"), get("group")], [Some("1m30s"), Some("30s"), Some("yes")]);
    assert_eq!([get("unready"), get("grace"), get("subreaper"), get("version")], [Some("end"), None, None, None]);
}

#[test]
fn explain_says_what_others_see() {
    let text =
        printed(&["--explain", "--drain-file", "/run/draining", "--on-stop", "leave --now 'a b'", "x"], &[]).text;
    assert!(text.contains("  on-stop hook 5s + drain 30s"), "{text}");
    assert!(
        text.ends_with(
            "\nWhat others see of it\n\n  on-stop leave --now 'a b'\n      runs at the stop signal, 5s at the most; the \
             delay follows\n  drain-file /run/draining\n      exists from the stop signal to the end\n"
        ),
        "{text}"
    );
}

/// Command lines that shells split as we do, and what they make of them; `None` = an open quote.
const CORPUS: [(&str, Option<&[&str]>); 18] = [
    ("a b  c", Some(&["a", "b", "c"])),
    ("\ta\nb\t", Some(&["a", "b"])),
    ("'a b' c", Some(&["a b", "c"])),
    ("\"a b\"c", Some(&["a bc"])),
    (r#""a \" \\ b""#, Some(&[r#"a " \ b"#])),
    (r"a\ b", Some(&["a b"])),
    (r"'a\b'", Some(&[r"a\b"])),
    (r#""a\b""#, Some(&[r"a\b"])),
    ("a ''", Some(&["a", ""])),
    ("a \"\" b", Some(&["a", "", "b"])),
    ("a\\\nb", Some(&["ab"])),
    ("a # b", Some(&["a"])),
    ("a#b", Some(&["a#b"])),
    ("é 'ü ß'", Some(&["é", "ü ß"])),
    ("a '", None),
    ("a \"b", None),
    ("a \"b\\\"", None),
    ("$HOME `x` $(y) *", Some(&["$HOME", "`x`", "$(y)", "*"])),
];

#[test]
fn hooks_are_split_as_a_shell_would_and_nothing_is_filled_in() {
    for (text, expected) in CORPUS {
        let words = value::command(text).ok();
        let expected = expected.map(|words| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(words, expected, "{text:?}");
    }
}

/// Whatever the text: it is split or refused, and what it was split into is what is read back.
fn split_holds(text: &str) {
    if let Ok(words) = value::command(text) {
        let joined = shell_words::join(&words);
        assert_eq!(value::command(&joined).as_ref(), Ok(&words), "{text:?} {joined:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_split_or_refused(text in ".{0,60}", marks in "[ \"'\\\\#\n\ta$]{0,40}") {
        split_holds(&text);
        split_holds(&marks);
    }
}

/// Another command line.
fn mutate(dice: &mut Dice, input: &mut Vec<u8>) {
    let seeds = CORPUS.map(|(text, _)| text.as_bytes());
    dice.mutant(input, &seeds, b"ab \t\n'\"\\#$=;");
}

fn bytes_hold(bytes: &[u8]) {
    split_holds(&String::from_utf8_lossy(bytes));
}

#[test]
fn mutants_of_command_lines_are_split_or_refused() {
    fuzz::run(SOME, mutate, bytes_hold);
}

#[test]
#[ignore = "takes a minute: see crate::fuzz"]
fn ten_million_command_lines_are_split_or_refused() {
    fuzz::run(TEN_MILLION, mutate, bytes_hold);
}
