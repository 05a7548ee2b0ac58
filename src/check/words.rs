//! Splits a command in a string into its words, as a shell would, without running one.

use std::ops::Range;

/// The words of a text, each with the bytes it was read from. Quotes and backslashes are taken off; what
/// is quoted and never closed goes to the end.
#[must_use]
pub(super) fn split(text: &str) -> Vec<(String, Range<usize>)> {
    let mut words = Vec::new();
    let mut word: Option<(String, usize)> = None;
    let mut quote = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take().map(|(word, start)| (word, start..at)));
            continue;
        }
        // The line goes on in the next: that is nothing, not even an empty word.
        if quote != Some('\'') && c == '\\' && letters.next_if(|(_, next)| *next == '\n').is_some() {
            continue;
        }
        let (word, _) = word.get_or_insert_with(|| (String::new(), at));
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            // Between double quotes a backslash is one unless it stands before what it could protect.
            (None | Some('"'), '\\') => match letters.peek().copied() {
                Some((_, next)) if quote.is_none() || matches!(next, '"' | '\\' | '$' | '`') => {
                    letters.next();
                    word.push(next);
                }
                _ => word.push(c),
            },
            _ => word.push(c),
        }
    }
    words.extend(word.map(|(word, start)| (word, start..text.len())));
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_string_is_split_as_a_shell_would() {
        let words = |text: &str| split(text).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(words("nginx -g 'daemon off;'"), ["nginx", "-g", "daemon off;"]);
        assert_eq!(words(r#"a\ b "c \"d\" \n" '' e'f'g"#), ["a b", "c \"d\" \\n", "", "efg"]);
        assert_eq!(words("  a\t\n b\\\nc 'never closed"), ["a", "bc", "never closed"]);
        assert_eq!(words("a \\\n  b \"c\\\nd\" \\\n"), ["a", "b", "cd"]);
        assert_eq!(words(" \n"), [""; 0]);
        assert_eq!(words("a\\"), ["a\\"]);
    }

    #[test]
    fn each_word_knows_where_it_stands() {
        let text = " é 'a b'c";
        let places: Vec<&str> = split(text).into_iter().map(|(_, range)| &text[range]).collect();
        assert_eq!(places, ["é", "'a b'c"]);
    }
}
