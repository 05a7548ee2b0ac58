//! The `NAME=value` pairs of `ENV` and `ARG`, each where it stands.

use std::ops::Range;

/// A pair, quotes and variables still in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The name.
    pub(super) name: String,
    /// The value as written; `None` = no `=` follows the name.
    pub(super) value: Option<String>,
    /// The bytes of the value, else of the name.
    pub(super) range: Range<usize>,
}

/// Reads the pairs in a stretch of a Dockerfile, and the old form `ENV NAME value with blanks`.
pub(super) fn read(text: &str, mut range: Range<usize>, escape: char, old_form: bool) -> Vec<Pair> {
    // A line that goes on into an empty one: the escape at its end breaks the line, and is no word.
    let breaks_line = |rest: &str| rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    if text.get(range.clone()).is_some_and(|text| text.ends_with(escape)) && text.get(range.end..).is_some_and(breaks_line) {
        range.end -= escape.len_utf8();
    }
    let words = words(text.get(range.clone()).unwrap_or_default(), range.start, escape);
    if let Some((first, at)) = words.first()
        && old_form
        && !first.contains('=')
    {
        let rest = words.get(1).zip(words.last()).map(|((_, from), (_, to))| from.start..to.end);
        let value = rest.clone().and_then(|rest| text.get(rest)).map(|text| without_line_ends(text, escape));
        return vec![Pair { name: first.clone(), value, range: rest.unwrap_or_else(|| at.clone()) }];
    }
    let pair = |(word, at): (String, Range<usize>)| match word.split_once('=') {
        Some((name, value)) => {
            // With a line's end in between nobody knows which byte became which.
            let start = if at.len() == word.len() { at.start + name.len() + 1 } else { at.start };
            Pair { name: name.to_owned(), value: Some(value.to_owned()), range: start..at.end }
        }
        None => Pair { name: word, value: None, range: at },
    };
    words.into_iter().map(pair).collect()
}

/// Takes out what only breaks a line, and comments between.
pub(super) fn without_line_ends(text: &str, escape: char) -> String {
    let mut out = String::new();
    let mut goes_on = false;
    for line in text.split('\n') {
        if goes_on && line.trim_start().starts_with('#') {
            continue;
        }
        let trimmed = line.trim_end();
        match trimmed.strip_suffix(escape) {
            Some(part) => out.push_str(part),
            None => out.push_str(line),
        }
        goes_on = trimmed.ends_with(escape);
        if !goes_on {
            out.push('\n');
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// Words at blanks that no quote and no escape protects; quotes and escapes are left in.
fn words(text: &str, base: usize, escape: char) -> Vec<(String, Range<usize>)> {
    let mut words = Vec::new();
    let mut word: Option<(String, usize)> = None;
    let mut quote = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        if c == escape
            && let Some(behind) = behind_line_end(&text[next..])
        {
            at = next + behind;
            continue;
        }
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take().map(|(word, start)| (word, base + start..base + at)));
            at = next;
            continue;
        }
        let (word, _) = word.get_or_insert_with(|| (String::new(), at));
        word.push(c);
        at = next;
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ if c == escape && quote != Some('\'') => {
                if let Some(protected) = text[at..].chars().next() {
                    word.push(protected);
                    at += protected.len_utf8();
                }
            }
            _ => {}
        }
    }
    words.extend(word.map(|(word, start)| (word, base + start..base + text.len())));
    words
}

/// Where the text goes on behind an escape that only breaks the line; comments and empty lines that follow
/// are passed over.
fn behind_line_end(rest: &str) -> Option<usize> {
    let end = rest.find(|c| !matches!(c, ' ' | '\t' | '\r')).filter(|at| rest[*at..].starts_with('\n'))?;
    let mut behind = end + 1;
    for line in rest[behind..].split_inclusive('\n') {
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            break;
        }
        behind += line.len();
    }
    Some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, Option<String>, String)> {
        let pairs = read(text, 0..text.len(), '\\', true);
        pairs.into_iter().map(|pair| (pair.name, pair.value, text[pair.range].to_owned())).collect()
    }

    fn pair(name: &str, value: &str, place: &str) -> (String, Option<String>, String) {
        (name.to_owned(), Some(value.to_owned()), place.to_owned())
    }

    #[test]
    fn pairs_know_where_their_values_stand() {
        assert_eq!(
            pairs("A=1 B=\"x y\" \\\n  # why\n\n  C=a\\ b"),
            [pair("A", "1", "1"), pair("B", "\"x y\"", "\"x y\""), pair("C", "a\\ b", "a\\ b")]
        );
        assert_eq!(pairs("A"), [("A".to_owned(), None, "A".to_owned())]);
        assert_eq!(pairs("A="), [pair("A", "", "")]);
        let text = "A=1 \\\n\n";
        assert_eq!(read(text, 0..5, '\\', false).len(), 1, "the parser leaves the escape at the end");
        assert_eq!(pairs("A\\\né=1"), [pair("Aé", "1", "A\\\né=1")]);
    }

    #[test]
    fn the_old_form_takes_the_rest_of_the_line() {
        assert_eq!(pairs("LAMEDUCK_DELAY 15s"), [pair("LAMEDUCK_DELAY", "15s", "15s")]);
        assert_eq!(pairs("A b  c=d"), [pair("A", "b  c=d", "b  c=d")]);
    }

    #[test]
    fn line_ends_that_only_break_a_command_are_taken_out() {
        assert_eq!(without_line_ends("a \\\n# no\n  && b", '\\'), "a   && b");
        assert_eq!(without_line_ends("a", '\\'), "a");
    }
}
