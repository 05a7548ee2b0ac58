//! Command lines read the way getopt reads them.
//!
//! The programs that lameduck stands in for leave that to the C library, and so their scripts rely on
//! all of it: `-gs`, `-e143` and `-e 143`, options between and after the operands, `--rew 15:3`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What options a program has.
pub(super) struct Grammar {
    /// Each letter, and whether it takes a value.
    pub(super) letters: &'static [(u8, bool)],
    /// Each long name, and the letter it stands for.
    pub(super) names: &'static [(&'static str, u8)],
    /// Whether options are looked for after the first operand too.
    pub(super) anywhere: bool,
}

/// A command line taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The options in their order, each by its letter. What could not be read is the last one.
    pub(super) options: Vec<Result<(u8, OsString), String>>,
    /// Everything else: the command.
    pub(super) operands: Vec<OsString>,
}

/// Takes a command line apart, up to the first thing in it that cannot be read.
pub(super) fn read(grammar: &Grammar, args: &[OsString]) -> Line {
    let mut line = Line::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        let option = match bytes {
            b"--" => break,
            [b'-', b'-', name @ ..] if !grammar.names.is_empty() => long(grammar, name, &mut words),
            [b'-', cluster @ ..] if !cluster.is_empty() => short(grammar, cluster, &mut words, &mut line),
            _ => {
                line.operands.push(word.clone());
                if grammar.anywhere {
                    continue;
                }
                break;
            }
        };
        let unreadable = option.as_ref().is_some_and(Result::is_err);
        line.options.extend(option);
        if unreadable {
            return line;
        }
    }
    line.operands.extend(words.cloned());
    line
}

/// One or more letters. All but the last are added to `line` here.
fn short<'a>(
    grammar: &Grammar,
    mut cluster: &[u8],
    words: &mut impl Iterator<Item = &'a OsString>,
    line: &mut Line,
) -> Option<Result<(u8, OsString), String>> {
    while let [letter, rest @ ..] = cluster {
        let Some((_, takes_value)) = grammar.letters.iter().find(|(known, _)| known == letter) else {
            return Some(Err(format!("-{}: unknown option", letter.escape_ascii())));
        };
        if *takes_value {
            let value = if rest.is_empty() { words.next().cloned() } else { Some(OsString::from_vec(rest.to_vec())) };
            return Some(
                value.map(|value| (*letter, value)).ok_or_else(|| no_value(&format!("-{}", char::from(*letter)))),
            );
        }
        line.options.push(Ok((*letter, OsString::new())));
        cluster = rest;
    }
    None
}

/// A long name, or as much of one as tells it from the others.
fn long<'a>(
    grammar: &Grammar,
    word: &[u8],
    words: &mut impl Iterator<Item = &'a OsString>,
) -> Option<Result<(u8, OsString), String>> {
    let (given, value) = match word.iter().position(|byte| *byte == b'=') {
        Some(at) => (word.get(..at)?, word.get(at + 1..)),
        None => (word, None),
    };
    let shown = format!("--{}", OsStr::from_bytes(given).to_string_lossy().escape_debug());
    let meant: Vec<&(&str, u8)> = grammar.names.iter().filter(|(name, _)| name.as_bytes().starts_with(given)).collect();
    let exact = meant.iter().find(|(name, _)| name.as_bytes() == given);
    let letter = match (exact, meant.as_slice()) {
        (Some((_, letter)), _) | (None, [(_, letter)]) => *letter,
        (None, []) => return Some(Err(format!("{shown}: unknown option"))),
        (None, several) => {
            let names: Vec<String> = several.iter().map(|(name, _)| format!("--{name}")).collect();
            return Some(Err(format!("{shown}: stands for {}", names.join(" or "))));
        }
    };
    let takes_value = grammar.letters.contains(&(letter, true));
    Some(match (takes_value, value) {
        (false, None) => Ok((letter, OsString::new())),
        (false, Some(_)) => Err(format!("{shown}: takes no value")),
        (true, Some(value)) => Ok((letter, OsString::from_vec(value.to_vec()))),
        (true, None) => words.next().cloned().map(|value| (letter, value)).ok_or_else(|| no_value(&shown)),
    })
}

fn no_value(option: &str) -> String {
    format!("{option}: no value given")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: Grammar = Grammar {
        letters: &[(b'a', false), (b'b', false), (b'e', true)],
        names: &[("able", b'a'), ("about", b'b'), ("expect", b'e')],
        anywhere: true,
    };

    /// The options as `a`, `e=7`, `!` for an unreadable one; then the operands.
    fn in_words(grammar: &Grammar, args: &str) -> String {
        let args: Vec<OsString> = args.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
        let line = read(grammar, &args);
        let options = line.options.iter().map(|option| match option {
            Ok((letter, value)) if value.is_empty() => char::from(*letter).to_string(),
            Ok((letter, value)) => format!("{}={}", char::from(*letter), value.to_string_lossy()),
            Err(_) => "!".to_owned(),
        });
        let operands = line.operands.iter().map(|word| word.to_string_lossy().into_owned());
        format!("{}|{}", options.collect::<Vec<_>>().join(","), operands.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn options_are_found_anywhere_until_two_dashes() {
        for (args, expected) in [
            ("", "|"),
            ("-a -b c", "a,b|c"),
            ("c -a d -b", "a,b|c,d"),
            ("c -a -- -b", "a|c,-b"),
            ("-- -- c", "|--,c"),
            ("-ab -", "a,b|-"),
            ("-abe7 c", "a,b,e=7|c"),
            ("-e 7 c", "e=7|c"),
            ("-e -- c", "e=--|c"),
            ("-ae7", "a,e=7|"),
            ("-a -x -b c", "a,!|"),
            ("-ax", "a,!|"),
            ("c -e", "!|c"),
        ] {
            assert_eq!(in_words(&GRAMMAR, args), expected, "{args}");
        }
    }

    #[test]
    fn or_only_before_the_first_operand() {
        let grammar = Grammar { anywhere: false, ..GRAMMAR };
        for (args, expected) in
            [("-a c -b", "a|c,-b"), ("c -a -- d", "|c,-a,--,d"), ("-a -- -b", "a|-b"), ("- -a", "|-,-a")]
        {
            assert_eq!(in_words(&grammar, args), expected, "{args}");
        }
    }

    #[test]
    fn long_names_may_be_cut_short() {
        for (args, expected) in [
            ("--able c", "a|c"),
            ("--abl c", "a|c"),
            ("--ab c", "!|"),
            ("--x c", "!|"),
            ("--expect=7 c", "e=7|c"),
            ("--exp 7 c", "e=7|c"),
            ("--exp= c", "e|c"),
            ("--exp", "!|"),
            ("--able=1 c", "!|"),
            ("-- --able", "|--able"),
        ] {
            assert_eq!(in_words(&GRAMMAR, args), expected, "{args}");
        }
    }

    #[test]
    fn without_long_names_a_dash_is_a_letter_like_any_other() {
        let grammar = Grammar { names: &[], ..GRAMMAR };
        let line = read(&grammar, &["--able".into(), "c".into()]);
        assert_eq!(line.options, [Err("--: unknown option".to_owned())]);
    }

    #[test]
    fn values_are_bytes() {
        let odd = OsString::from_vec(vec![b'-', b'e', 0xff]);
        let line = read(&GRAMMAR, &[odd]);
        assert_eq!(line.options, [Ok((b'e', OsString::from_vec(vec![0xff])))]);
    }
}
