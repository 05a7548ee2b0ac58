//! Whatever words come, in whatever order.

use super::*;
use crate::cli::options::Spec;
use proptest::prelude::*;

/// Words that are likely to be understood, at least in part.
fn word() -> impl Strategy<Value = OsString> {
    let known = OPTIONS.iter().flat_map(|spec| [Some(spec.flag()), spec.short.map(|letter| format!("-{letter}"))]);
    let known: Vec<String> = known.flatten().collect();
    let value = "(-?[0-9]{1,3}(ms|s|m|)|none|auto|TERM|KILL:0|HUP:TERM|=|--|-|,|json|)";
    prop_oneof![
        2 => proptest::sample::select(known.clone()).prop_map(OsString::from),
        2 => value.prop_map(OsString::from),
        1 => (proptest::sample::select(known), "=?", value).prop_map(|(flag, is, value)| format!("{flag}{is}{value}").into()),
        1 => "-{0,2}[a-zA-Z,:=+é-]{0,8}".prop_map(OsString::from),
        1 => proptest::collection::vec(1_u8.., 0..8).prop_map(OsString::from_vec),
    ]
}

fn variable() -> impl Strategy<Value = (OsString, OsString)> {
    let names: Vec<String> = OPTIONS.iter().filter_map(Spec::variable).collect();
    let name = prop_oneof![
        3 => proptest::sample::select(names).prop_map(OsString::from),
        1 => proptest::collection::vec(1_u8.., 0..8).prop_map(|rest| {
            OsString::from_vec([b"LAMEDUCK_".as_slice(), &rest].concat())
        }),
    ];
    (name, word())
}

proptest! {
    #[test]
    fn nothing_panics_and_every_complaint_is_whole_lines(
        args in proptest::collection::vec(word(), 0..8),
        environ in proptest::collection::vec(variable(), 0..4),
    ) {
        match read(&args, &environ) {
            Outcome::Run(settings) => prop_assert!(!settings.command.is_empty()),
            Outcome::Ask(_) => prop_assert!(args.iter().any(|word| word.as_encoded_bytes().starts_with(b"--"))),
            Outcome::Print(printed) => {
                prop_assert!(printed.text.ends_with('\n'));
                let complaint = printed.code == USAGE || printed.text.contains("nothing was started");
                prop_assert_eq!(printed.stream == Stream::Err, complaint);
                if printed.stream == Stream::Err {
                    prop_assert!(printed.text.lines().all(|line| line.starts_with("lameduck: ")), "{}", printed.text);
                    prop_assert!(printed.text.lines().count() > 1);
                }
            }
        }
    }

    #[test]
    fn a_command_after_dashes_arrives_unchanged(words in proptest::collection::vec(word(), 1..8)) {
        for before in [&["--"][..], &["-v", "--"], &["-d", "1", "--"]] {
            let args: Vec<OsString> = before.iter().map(OsString::from).chain(words.iter().cloned()).collect();
            match read(&args, &[]) {
                Outcome::Run(settings) => prop_assert_eq!(&settings.command, &words),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
