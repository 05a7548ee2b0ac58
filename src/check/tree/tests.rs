//! YAML and JSON as they are written in the wild, and what no tree may be made of.

use super::*;
use crate::check::source::{Source, Sources};
use std::fmt::Write as _;

fn read(text: &str) -> Result<Vec<Rc<Node>>, String> {
    let mut sources = Sources::default();
    let file = sources.add(Source::new("a".to_owned(), text.to_owned()));
    parse(file, text).map_err(|wrong| format!("{}: {}", sources.get(file).position(wrong.at).0, wrong.message))
}

fn slice<'a>(text: &'a str, node: &Node) -> &'a str {
    &text[node.place.start as usize..node.place.end as usize]
}

#[test]
fn json_with_tabs_and_escapes_is_read_with_places() {
    let text = "{\n\t\"a\\/b\": \"\\ud834\\udd1e\",\n\t\"n\": [1, 2.5, true, null]\n}\n";
    let tree = read(text).unwrap();
    assert_eq!(tree[0].get("a/b").and_then(|node| node.text()), Some("\u{1d11e}"));
    let items = tree[0].get("n").unwrap().items();
    assert_eq!(items[0].number(), Ok(1));
    assert!(items[1].number().unwrap_err().contains("2.5"));
    assert_eq!(items[2].boolean(), Ok(true));
    assert!(items[3].is_null());
    assert_eq!(slice(text, &items[1]), "2.5");
}

#[test]
fn merged_maps_are_looked_into_after_the_own_keys() {
    let text = "x: &x {a: 1, b: 1}\ny: &y {c: 3}\nz:\n  <<: [*x, *y]\n  b: 2\n";
    let tree = read(text).unwrap();
    let z = tree[0].get("z").unwrap();
    let number = |key| z.get(key).map(|node| node.number().unwrap());
    assert_eq!([number("a"), number("b"), number("c"), number("d")], [Some(1), Some(2), Some(3), None]);
}

#[test]
fn a_text_is_no_number_and_a_number_no_switch() {
    let tree = read("[\"15\", yes, 'yes', -1, {}]").unwrap();
    let items = tree[0].items();
    assert!(items[0].number().unwrap_err().contains("the text \"15\""));
    assert_eq!(items[1].boolean(), Ok(true));
    assert!(items[2].boolean().is_err());
    assert!(items[3].number().is_err());
    assert!(items[4].number().unwrap_err().ends_with("a map"));
}

#[test]
fn keys_of_aws_are_found_in_either_spelling() {
    let tree = read("{StopTimeout: 1, other: {Deep: 2}}").unwrap();
    assert!(tree[0].field("stopTimeout").is_some() && tree[0].get("stopTimeout").is_none());
    assert_eq!(tree[0].at(&["Other", "deep"]).map(|node| node.number()), Some(Ok(2)));
    assert!(tree[0].field("").is_none());
}

#[test]
fn what_is_no_tree_is_refused_with_its_line() {
    for (text, line, why) in [
        ("a: 1\nb: 2\na: 3\n", 3, "second time"),
        ("{\"a\": {\n\"b\": [1,\n", 2, "complete"),
        ("a: &a\n  b: *a\n", 2, "never end"),
        ("a: *nowhere\n", 1, "unknown anchor"),
        ("? [a]\n: b\n", 1, "a key has to be a text"),
        ("a: {{ .Values.x }}\n", 1, "a template, not YAML yet: `a: {{ .Values.x }}`; render it first"),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n", 1, "a template"),
        ("b: \"{{ x }}\"\n? [a]\n: b\n", 2, "a key has to be a text"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(&format!("{line}: ")) && error.contains(why), "{text:?}: {error}");
    }
    assert!(read(&"[".repeat(100_000)).is_err());
    assert!(read(&"- ".repeat(100_000)).is_err());
}

#[test]
fn a_bomb_of_aliases_costs_no_more_than_its_text() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..60 {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{inner}]").unwrap();
    }
    let tree = read(&text).unwrap();
    assert_eq!(tree[0].get("a59").unwrap().items().len(), 9);
}

#[test]
fn merges_of_merges_cost_no_more_than_their_text() {
    let mut text = String::from("a0: &a0 {x: 1}\n");
    for level in 1..60 {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} {{<<: [{inner}], k{level}: {level}}}").unwrap();
    }
    let tree = read(&text).unwrap();
    let last = tree[0].get("a59").unwrap();
    assert_eq!(last.get("x").map(|node| node.number()), Some(Ok(1)));
    assert!(last.get("nowhere").is_none());
    assert_eq!(last.all_entries().len(), 60);
    assert_eq!(last.all_entries()[0].key, "k59");
}

#[test]
fn tags_and_documents_are_kept_apart() {
    let tree = read("a: !Ref B\n---\nb: !!str 5\n").unwrap();
    assert_eq!(tree.len(), 2);
    assert_eq!(tree[0].get("a").unwrap().tag, "Ref");
    assert_eq!(tree[1].get("b").unwrap().tag, "");
}

#[test]
fn a_chain_of_aliases_is_no_deeper_than_what_is_written_out() {
    let mut text = String::from("a0: &a0 [x]\n");
    for level in 1..100_000 {
        writeln!(text, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    assert!(read(&text).unwrap_err().contains("stand in each other"));
}

#[test]
fn what_stands_in_a_string_or_a_block_keeps_its_places() {
    let text = r#"{"a": "[{\"é\\u00e9\": \"\\ud83e\\udd86\", \"n\": 15}]"}"#;
    let outer = &read(text).unwrap()[0];
    let value = outer.get("a").unwrap();
    let inner = &super::parse_inside_of(value.place, value.text().unwrap(), text).unwrap()[0];
    let number = inner.items()[0].get("n").unwrap();
    assert_eq!(&text[number.place.start as usize..number.place.end as usize], "15");
    // A block of YAML keeps its lines, whatever their indentation.
    let text = "a: |\n    b: 1\n\n    c:\n      - 15\nd: |-\n  e: 16";
    let outer = &read(text).unwrap()[0];
    for (key, wanted) in [("a", "15"), ("d", "16")] {
        let value = outer.get(key).unwrap();
        let inner = &super::parse_inside_of(value.place, value.text().unwrap(), text).unwrap()[0];
        let number = inner.get("c").map_or_else(|| inner.get("e").unwrap(), |list| &list.items()[0]);
        assert_eq!(&text[number.place.start as usize..number.place.end as usize], wanted);
    }
    // Written in another way, all of it is at the place of the text.
    let text = "a: '[5]'";
    let value = read(text).unwrap()[0].get("a").cloned().unwrap();
    let inner = &super::parse_inside_of(value.place, value.text().unwrap(), text).unwrap()[0];
    assert_eq!(inner.items()[0].place, value.place);
}
