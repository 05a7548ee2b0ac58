//! Takes here-documents out of a Dockerfile. What stands in them is for the build, and says nothing of
//! what the image runs.

use std::borrow::Cow;
use std::collections::HashMap;

/// The instructions that may have some.
const WITH: [&str; 3] = ["RUN", "COPY", "ADD"];

/// What may stand around the word that ends one.
const BLANKS: [char; 2] = ['\t', '\r'];

/// The same text with blanks in place of here-documents, every byte of the rest where it was.
#[must_use]
pub(super) fn blank(text: &str, escape: char) -> Cow<'_, str> {
    if !text.contains("<<") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // Where each line stands for the last time, so that looking for an end costs nothing.
    let last_of: HashMap<&str, usize> = text.lines().enumerate().map(|(at, line)| (line.trim_matches(BLANKS), at)).collect();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = lines.next() {
        if !may_have(line) {
            out.push_str(line);
            continue;
        }
        let start = out.len();
        out.push_str(line);
        let (mut last, mut number) = (line, number);
        // The instruction goes on behind lines that end in the escape, and over comments among them.
        while continues(last, escape) || last.trim_start().starts_with('#') {
            let Some((at, line)) = lines.next() else { break };
            out.push_str(line);
            (last, number) = (line, at);
        }
        let ends = delimiters(&out[start..]);
        // One that is never closed is none: `$((1<<n))`.
        let closed = ends.iter().all(|end| last_of.get(end.word.as_str()).is_some_and(|at| *at > number));
        if ends.is_empty() || !closed {
            continue;
        }
        let header = out[start..].replace("<<", "  ");
        out.replace_range(start.., &header);
        for end in &ends {
            for (_, line) in lines.by_ref() {
                out.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
                if end.is(line) {
                    break;
                }
            }
        }
    }
    Cow::Owned(out)
}

struct End {
    word: String,
    indented: bool,
}

fn may_have(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut first = words.next().unwrap_or_default();
    if first.eq_ignore_ascii_case("ONBUILD") {
        first = words.next().unwrap_or_default();
    }
    WITH.iter().any(|with| first.eq_ignore_ascii_case(with))
}

fn continues(line: &str, escape: char) -> bool {
    line.trim_end().ends_with(escape)
}

/// The words that end the here-documents which an instruction begins, in their order.
fn delimiters(instruction: &str) -> Vec<End> {
    let mut ends = Vec::new();
    let mut rest = instruction;
    while let Some(at) = rest.find("<<") {
        let before = rest[..at].chars().next_back();
        let behind = &rest[at + 2..];
        rest = behind;
        if before == Some('<') || behind.starts_with('<') {
            continue;
        }
        let (indented, behind) = behind.strip_prefix('-').map_or((false, behind), |behind| (true, behind));
        let behind = behind.strip_prefix(['"', '\'']).unwrap_or(behind);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = &behind[..behind.find(|c| !is_name(c)).unwrap_or(behind.len())];
        if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            ends.push(End { word: word.to_owned(), indented });
        }
    }
    ends
}

// === impl End ===

impl End {
    fn is(&self, line: &str) -> bool {
        let line = line.trim_end_matches(['\n', '\r']);
        self.word == if self.indented { line.trim_start_matches('\t') } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::blank;

    #[test]
    fn here_documents_become_blanks_and_the_rest_stays_where_it_was() {
        let text = "FROM a\nRUN cat > /x <<EOF \\\n  && y\nENTRYPOINT no\nEOF\nCOPY <<-'A' <<B /z\n\tA\né\nB\nUSER x\n";
        let found = blank(text, '\\');
        assert_eq!(found.lines().count(), text.lines().count());
        assert_eq!(found.len(), text.len());
        assert!(!found.contains("ENTRYPOINT") && !found.contains('é') && found.ends_with("USER x\n"), "{found}");
        assert_eq!(found.find("USER"), text.find("USER"));
    }

    #[test]
    fn what_only_looks_like_one_is_left() {
        for text in ["RUN a <<< b\nUSER c\n", "RUN echo $((1<<n))\nUSER n2\n", "ENV A=<<EOF\nEOF\n", "RUN a\n"] {
            assert_eq!(blank(text, '\\'), text);
        }
    }
}
