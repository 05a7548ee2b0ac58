//! Puts the values of variables where `$X` and `${X:-15s}` stand, as Compose, the Dockerfile and a shell do.

use super::fact::Origin;

/// What a text came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The text.
    pub(super) text: String,
    /// Who says so: it is written, or the default of a variable that is.
    pub(super) origin: Origin,
}

struct Writing<'a> {
    text: String,
    /// The variables of which a written default was taken, in the order in which they stand there.
    defaults: Vec<String>,
    dialect: Dialect,
    lookup: &'a dyn Fn(&str) -> Value,
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Its value, and whether that is a default which may be overridden.
    Known(String, bool),
    /// It has none unless somebody sets it, and then nobody here knows it.
    Open,
    /// It has none: it is empty.
    Empty,
}

/// Where variables stand: they differ in how a `$` is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `$$` is a `$`.
    Compose,
    /// `\$` is a `$`; quotes are taken off, and between single ones nothing is put in.
    Dockerfile,
    /// The same, and there is more than variables: `$1`, `$(…)`.
    Shell,
}

/// Defaults stand in defaults so often at the most.
const DEEPEST: usize = 16;

/// So long a text may come to be: variables made of variables can grow without end.
const LONGEST: usize = 1024 * 1024;

/// Puts in the values that `lookup` knows.
///
/// # Errors
/// The variable that has no value, half a sentence.
pub(super) fn expand(text: &str, dialect: Dialect, lookup: &dyn Fn(&str) -> Value) -> Result<Expanded, String> {
    let mut writing = Writing { text: String::new(), defaults: Vec::new(), dialect, lookup };
    into(&mut writing, text, 0)?;
    let origin = match writing.defaults.as_slice() {
        [] => Origin::Written,
        names => Origin::Derived(format!("default of ${}", names.join(", $"))),
    };
    Ok(Expanded { text: writing.text, origin })
}

fn into(out: &mut Writing<'_>, text: &str, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("its defaults stand too deep in each other".to_owned());
    }
    let quotes = out.dialect != Dialect::Compose;
    let mut quote = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if out.text.len() > LONGEST {
            return Err("it comes to more text than is looked at".to_owned());
        }
        let behind = &rest[c.len_utf8()..];
        match c {
            '\'' | '"' if quotes && quote.is_none_or(|open| open == c) => {
                quote = if quote.is_some() { None } else { Some(c) };
                rest = behind;
            }
            '\\' if quotes && quote != Some('\'') => {
                let Some(next) = behind.chars().next() else {
                    out.text.push(c);
                    break;
                };
                // Between double quotes a backslash is one unless it stands before what it could protect.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$') {
                    out.text.push(c);
                }
                out.text.push(next);
                rest = &behind[next.len_utf8()..];
            }
            '`' if out.dialect == Dialect::Shell && quote != Some('\'') => return Err(printed()),
            '$' if !quotes && behind.starts_with('$') => {
                out.text.push('$');
                rest = &behind[1..];
            }
            '$' if quote != Some('\'') => rest = variable(out, behind, depth)?,
            _ => {
                out.text.push(c);
                rest = behind;
            }
        }
    }
    Ok(())
}

/// What stands behind a `$`; returned is what stands behind that.
fn variable<'a>(out: &mut Writing<'_>, text: &'a str, depth: usize) -> Result<&'a str, String> {
    let (inner, rest) = match text.strip_prefix('{') {
        Some(inside) => {
            let end = closing(inside).ok_or_else(|| "its ${ is never closed".to_owned())?;
            (&inside[..end], &inside[end + 1..])
        }
        None => text.split_at(name_length(text)),
    };
    let (name, operator) = inner.split_at(name_length(inner));
    if name.is_empty() {
        if out.dialect == Dialect::Shell && text.starts_with('(') {
            return Err(printed());
        }
        let special = |c: char| c.is_ascii_digit() || "@*#?!$-".contains(c);
        if out.dialect == Dialect::Shell && text.starts_with(special) {
            return Err(format!("${} is only known later", text.chars().take(1).collect::<String>()));
        }
        if inner.is_empty() && !text.starts_with('{') {
            out.text.push('$');
            return Ok(rest);
        }
        return Err(format!("${{{inner}}} names no variable"));
    }
    let value = (out.lookup)(name);
    let known = match &value {
        Value::Known(text, _) => Some(text.as_str()),
        Value::Empty => Some(""),
        Value::Open => None,
    };
    let is_set = matches!(value, Value::Known(..));
    let set = |counts_empty: bool| if counts_empty { is_set } else { known.is_some_and(|text| !text.is_empty()) };
    let (sign, word) = match operator.strip_prefix(':') {
        Some(rest) => rest.split_at(rest.chars().next().map_or(0, char::len_utf8)),
        None => operator.split_at(operator.chars().next().map_or(0, char::len_utf8)),
    };
    let counts_empty = !operator.starts_with(':');
    let open = || format!("${name} has no default here, and is only known later");
    match sign {
        "-" if set(counts_empty) => put(out, name, &value),
        "-" => {
            if !matches!(value, Value::Empty) {
                out.defaults.push(name.to_owned());
            }
            into(out, word, depth + 1)?;
        }
        "+" if matches!(value, Value::Open) => return Err(open()),
        "+" if set(counts_empty) => into(out, word, depth + 1)?,
        "+" => {}
        "" | "?" if known.is_some() => put(out, name, &value),
        "" | "?" => return Err(open()),
        _ => return Err(format!("${{{inner}}} is more than can be worked out here")),
    }
    Ok(rest)
}

/// Why what stands between backquotes or in `$(…)` is not known.
fn printed() -> String {
    "what `$(…)` prints is only known later".to_owned()
}

fn put(out: &mut Writing<'_>, name: &str, value: &Value) {
    if let Value::Known(text, is_default) = value {
        out.text.push_str(text);
        if *is_default {
            out.defaults.push(name.to_owned());
        }
    }
}

/// Where the `}` stands that closes a `${`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' if before == '$' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

fn name_length(text: &str) -> usize {
    let digit_first = text.starts_with(|c: char| c.is_ascii_digit());
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if digit_first { 0 } else { text.find(|c| !is_name(c)).unwrap_or(text.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fact::Shown as _;

    fn lookup(name: &str) -> Value {
        match name {
            "SET" => Value::Known("7s".to_owned(), false),
            "ARG" => Value::Known("9s".to_owned(), true),
            "BLANK" => Value::Known(String::new(), false),
            "NONE" => Value::Empty,
            _ => Value::Open,
        }
    }

    fn compose(text: &str) -> Result<String, String> {
        expand(text, Dialect::Compose, &lookup).map(|expanded| format!("{}|{}", expanded.text, expanded.origin.shown()))
    }

    #[test]
    fn a_default_that_is_written_counts_and_is_named() {
        for (text, wanted) in [
            ("15s", "15s|written"),
            ("${X:-15s}", "15s|default of $X"),
            ("a${X-15s}b", "a15sb|default of $X"),
            ("${X:-${Y:-1${SET}}}", "17s|default of $X, $Y"),
            ("$SET/${SET:-2s}", "7s/7s|written"),
            ("${BLANK:-2s}${BLANK-3s}", "2s|default of $BLANK"),
            ("$$X costs 5$ and 6$", "$X costs 5$ and 6$|written"),
            ("${SET:+on}${NONE:+off}", "on|written"),
            ("${SET:?needed}", "7s|written"),
            ("$ARG", "9s|default of $ARG"),
        ] {
            assert_eq!(compose(text), Ok(wanted.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_has_no_value_is_named() {
        for (text, wanted) in [
            ("${X}", "$X has no default here"),
            ("$X", "$X has no default here"),
            ("${X:?set it}", "$X has no default here"),
            ("${X:+1}", "$X has no default here"),
            ("${X:-1", "never closed"),
            ("${}", "names no variable"),
            ("${1X}", "names no variable"),
            ("${SET#7}", "more than can be worked out"),
        ] {
            assert!(compose(text).is_err_and(|why| why.contains(wanted)), "{text}: {:?}", compose(text));
        }
        let deep = "${X:-".repeat(5000) + &"}".repeat(5000);
        assert!(compose(&deep).is_err_and(|why| why.contains("too deep")));
    }

    #[test]
    fn a_dockerfile_knows_quotes_and_backslashes() {
        for (text, wanted) in [
            (r#""daemon off;""#, "daemon off;"),
            (r"'$SET' \$SET a\ b", "$SET $SET a b"),
            (r#""$SET \"x\" \n" it's"#, "7s \"x\" \\n its"),
            ("${NONE}x$NONE", "x"),
            (r"a\", r"a\"),
        ] {
            for dialect in [Dialect::Dockerfile, Dialect::Shell] {
                let expanded = expand(text, dialect, &lookup);
                assert_eq!(expanded.map(|expanded| expanded.text), Ok(wanted.to_owned()), "{text}");
            }
        }
    }

    #[test]
    fn a_shell_knows_more_than_variables() {
        for (text, wanted) in [
            ("$(cat f)", "what `$(…)` prints is only known later"),
            ("`cat f`", "what `$(…)` prints is only known later"),
            ("\"`cat f`\"", "what `$(…)` prints is only known later"),
            ("a$1", "$1 is only known later"),
            ("$@", "$@ is only known later"),
            ("$$", "$$ is only known later"),
        ] {
            let expanded = expand(text, Dialect::Shell, &lookup);
            assert_eq!(expanded.map(|expanded| expanded.text), Err(wanted.to_owned()), "{text}");
        }
        for (text, wanted) in [("'$(cat `f`) $1'", "$(cat `f`) $1"), ("$", "$"), ("5$ a", "5$ a")] {
            let expanded = expand(text, Dialect::Shell, &lookup);
            assert_eq!(expanded.map(|expanded| expanded.text), Ok(wanted.to_owned()), "{text}");
        }
    }
}
