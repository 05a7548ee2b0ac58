//! Broken input: whatever a file holds, it is read or refused with its line, and every report of it can be
//! written.

use super::*;
use source::Source;
use std::collections::BTreeSet;
use std::path::Path;

/// All files of the scenarios, each content once.
fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check");
    let mut texts = BTreeSet::new();
    for scenario in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(scenario).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if let Ok(text) = std::fs::read_to_string(&file) {
                texts.insert(text);
            }
        }
    }
    assert!(texts.len() > 30, "the corpus is not where it was");
    texts.into_iter().collect()
}

/// Goes the whole way of the check with these files.
fn survives(texts: &[&str]) {
    let mut sources = Sources::default();
    let mut model = Model::default();
    let mut problems = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let file = sources.add(Source::new(format!("{at}"), (*text).to_owned()));
        problems.extend(detect::load(file, sources.get(file), at % 2 == 0, &mut model).problems);
    }
    let given = Given::default();
    let mut assumed = link::link(&mut model, &given, &sources);
    for container in model.workloads.iter_mut().flat_map(|workload| &mut workload.containers) {
        container.launch = launch::read(container);
        assumed.extend(container.launch.assumed.clone());
    }
    problems.extend(refused(&model, &sources));
    let mut report = examine(&model, assumed, &given);
    report.errors = in_order(problems, &sources);
    suppress::apply(&mut report, &sources, &[]);
    for problem in &report.errors {
        let lines = sources.iter().find(|(_, source)| source.name == problem.file).unwrap().1.text.lines().count();
        assert!(problem.line.is_none_or(|line| (1..=lines.max(1) + 1).contains(&line)), "{problem:?} of {lines}");
        assert!(!problem.message.is_empty());
    }
    for format in [Format::Text, Format::Json, Format::Sarif, Format::Github] {
        let _ = report::write(&report, &sources, format, format == Format::Text);
    }
}

#[test]
fn every_file_of_the_scenarios_may_end_after_any_line() {
    for text in corpus() {
        for (at, _) in text.match_indices('\n') {
            survives(&[&text[..at]]);
        }
    }
}

#[test]
fn containers_that_all_depend_on_all_others_are_followed_once_each() {
    let container = |at: usize| {
        let on = (0..40).filter(|other| *other != at).map(|other| format!("{{\"containerName\": \"c{other}\"}}"));
        format!("{{\"name\": \"c{at}\", \"image\": \"web\", \"dependsOn\": [{}]}}", on.collect::<Vec<_>>().join(","))
    };
    let containers: Vec<String> = (0..40).map(container).collect();
    let task = format!("{{\"family\": \"web\", \"containerDefinitions\": [{}]}}", containers.join(","));
    let spot = "{\"capacityProvider\": \"FARGATE_SPOT\", \"weight\": 1}";
    let service = format!(
        "{{\"services\": [{{\"serviceName\": \"web\", \"taskDefinition\": \"web\", \"capacityProviderStrategy\": [{spot}]}}]}}"
    );
    survives(&[&task, &service]);
}

mod anything {
    use super::*;
    use proptest::prelude::*;

    /// What is put into a file: what stands there usually, and what should not.
    const PIECES: [&str; 29] = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\n",
        "- ",
        "  ",
        "&a ",
        "*a",
        "<<: *a",
        "!Ref x",
        "null",
        "-1",
        "1e9",
        "99999999999999999999",
        "18446744073709551615",
        "true",
        "\u{0}",
        "é",
        "\u{1F986}",
        "{{ x }}",
        "${X:-15s}",
        "---\n",
        "? ",
        "LAMEDUCK_DELAY",
        "#",
    ];

    #[derive(Clone, Debug)]
    enum Change {
        Cut(usize, usize),
        Put(usize, usize),
        Double(usize, usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (any::<usize>(), 0..80_usize).prop_map(|(at, length)| Change::Cut(at, length)),
            (any::<usize>(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Put(at, piece)),
            (any::<usize>(), 0..80_usize).prop_map(|(at, length)| Change::Double(at, length)),
        ]
    }

    fn changed(text: &str, changes: &[Change]) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for change in changes {
            let (Change::Cut(at, _) | Change::Put(at, _) | Change::Double(at, _)) = change;
            let at = at % (letters.len() + 1);
            match change {
                Change::Cut(_, length) => drop(letters.drain(at..(at + length).min(letters.len()))),
                Change::Put(_, piece) => drop(letters.splice(at..at, PIECES[*piece].chars())),
                Change::Double(_, length) => {
                    let copy: Vec<char> = letters[at..(at + length).min(letters.len())].to_vec();
                    letters.splice(at..at, copy);
                }
            }
        }
        letters.into_iter().collect()
    }

    proptest! {
        #[test]
        fn in_a_file_is_survived(
            picks in proptest::collection::vec((any::<usize>(), proptest::collection::vec(change(), 0..6)), 1..4)
        ) {
            let corpus = corpus();
            let texts: Vec<String> =
                picks.iter().map(|(pick, changes)| changed(&corpus[pick % corpus.len()], changes)).collect();
            survives(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        }

        #[test]
        fn that_is_no_file_of_a_deployment_at_all_is_survived(text in "\\PC{0,200}", more in "[\\[\\]{}:,\"&*!|>\n -]{0,200}") {
            survives(&[&text, &more]);
        }
    }
}
