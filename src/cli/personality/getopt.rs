//! Command lines read the way getopt reads them.
//!
//! The programs that lameduck stands in for leave that to the C library, and so their scripts rely on
//! all of it: `-gs`, `-e143` and `-e 143`, options between and after the operands, `--rew 15:3`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::slice::Iter;

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
    /// The options in their order, each by its letter, with its value or nothing.
    pub(super) options: Vec<(u8, OsString)>,
    /// What came after them and could not be read: nothing was read from there on.
    pub(super) unreadable: Option<String>,
    /// Everything else: the command.
    pub(super) operands: Vec<OsString>,
}

/// Takes a command line apart.
pub(super) fn read(grammar: &Grammar, args: &[OsString]) -> Line {
    let mut line = Line::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let read = match word.as_bytes() {
            b"--" => break,
            [b'-', b'-', name @ ..] if !grammar.names.is_empty() => line.long(grammar, name, &mut words),
            [b'-', letters @ ..] if !letters.is_empty() => line.short(grammar, letters, &mut words),
            _ => {
                line.operands.push(word.clone());
                if grammar.anywhere {
                    continue;
                }
                break;
            }
        };
        if let Err(why) = read {
            line.unreadable = Some(why);
            return line;
        }
    }
    line.operands.extend(words.cloned());
    line
}

// === impl Grammar ===

impl Grammar {
    /// Whether a letter takes a value; `None` when there is no such letter.
    fn takes_value(&self, letter: u8) -> Option<bool> {
        self.letters.iter().find(|(known, _)| *known == letter).map(|(_, takes_value)| *takes_value)
    }
}

// === impl Line ===

impl Line {
    /// One or more letters; the last may be followed by its value.
    fn short(&mut self, grammar: &Grammar, mut letters: &[u8], words: &mut Iter<'_, OsString>) -> Result<(), String> {
        while let [letter, rest @ ..] = letters {
            let shown = || format!("-{}", letter.escape_ascii());
            match grammar.takes_value(*letter) {
                None => return Err(unknown(&shown())),
                Some(false) => self.options.push((*letter, OsString::new())),
                Some(true) => {
                    let value = if rest.is_empty() { None } else { Some(rest) };
                    return self.with_value(*letter, &shown(), value, words);
                }
            }
            letters = rest;
        }
        Ok(())
    }

    /// A long name, or as much of one as tells it from the others.
    fn long(&mut self, grammar: &Grammar, word: &[u8], words: &mut Iter<'_, OsString>) -> Result<(), String> {
        let mut parts = word.splitn(2, |byte| *byte == b'=');
        let (given, value) = (parts.next().unwrap_or_default(), parts.next());
        let shown = format!("--{}", given.escape_ascii());
        let mut meant = grammar.names.iter().filter(|(name, _)| name.as_bytes().starts_with(given));
        let exact = meant.clone().find(|(name, _)| name.len() == given.len());
        let letter = match (exact.or_else(|| meant.next()), meant.next()) {
            (Some((name, _)), Some((other, _))) if exact.is_none() => {
                return Err(format!("{shown}: stands for --{name} and --{other}"));
            }
            (Some((_, letter)), _) => *letter,
            (None, _) => return Err(unknown(&shown)),
        };
        match (grammar.takes_value(letter), value) {
            (Some(true), _) => return self.with_value(letter, &shown, value, words),
            (_, Some(_)) => return Err(format!("{shown}: takes no value")),
            _ => self.options.push((letter, OsString::new())),
        }
        Ok(())
    }

    /// An option whose value stands in the same word, or else is the next.
    fn with_value(
        &mut self,
        letter: u8,
        shown: &str,
        value: Option<&[u8]>,
        words: &mut Iter<'_, OsString>,
    ) -> Result<(), String> {
        let value = match value {
            Some(value) => OsStr::from_bytes(value),
            None => words.next().ok_or_else(|| format!("{shown}: no value given"))?,
        };
        self.options.push((letter, value.to_owned()));
        Ok(())
    }
}

fn unknown(option: &str) -> String {
    format!("{option}: unknown option")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    const GRAMMAR: Grammar = Grammar {
        letters: &[(b'a', false), (b'b', false), (b'e', true)],
        names: &[("able", b'a'), ("about", b'b'), ("expect", b'e')],
        anywhere: true,
    };

    /// The options as `a`, `e=7`, `!` for an unreadable one; then the operands.
    fn in_words(grammar: &Grammar, args: &str) -> String {
        let args: Vec<OsString> = args.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
        let line = read(grammar, &args);
        let options = line.options.iter().map(|(letter, value)| match value.to_string_lossy() {
            value if value.is_empty() => char::from(*letter).to_string(),
            value => format!("{}={value}", char::from(*letter)),
        });
        let options = options.chain(line.unreadable.map(|_| "!".to_owned()));
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
        assert_eq!(line.unreadable.as_deref(), Some("--: unknown option"));
    }

    #[test]
    fn values_are_bytes() {
        let odd = OsString::from_vec(vec![b'-', b'e', 0xff]);
        let line = read(&GRAMMAR, &[odd]);
        assert_eq!(line.options, [(b'e', OsString::from_vec(vec![0xff]))]);
    }
}
