//! Bad input for all loaders: whatever stands in a file, reading it ends and says what is wrong.

use super::super::model::Model;
use super::super::settings::Given;
use super::super::source::{Source, Sources};
use super::super::{detect, link};
use proptest::prelude::*;

/// Reads a text as a file of that name, and joins what was found.
fn read(name: &str, text: &str) -> Vec<String> {
    let mut sources = Sources::default();
    let mut model = Model::default();
    let file = sources.add(Source::new(name.to_owned(), text.to_owned()));
    let loaded = detect::load(file, sources.get(file), true, &mut model);
    link::link(&mut model, &Given::default(), &sources);
    for workload in &mut model.workloads {
        for container in &mut workload.containers {
            container.launch = super::super::launch::read(container);
        }
    }
    // A place outside of its file would be shown wrongly, or not at all.
    for container in model.workloads.iter().flat_map(|workload| &workload.containers) {
        for place in container.environment.iter().map(|variable| variable.place).chain([container.place]) {
            assert!(place.start <= place.end && place.end as usize <= text.len(), "{place:?} of {text:?}");
            assert!(text.is_char_boundary(place.start as usize), "{place:?} of {text:?}");
        }
    }
    loaded.problems.into_iter().map(|problem| problem.message).collect()
}

/// What Dockerfiles are made of, in any order.
const PIECES: [&str; 40] = [
    "FROM",
    "ARG",
    "ENV",
    "CMD",
    "ENTRYPOINT",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "RUN",
    "COPY",
    "SHELL",
    "ONBUILD",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\n",
    "\\\n",
    "\\",
    "`",
    "#",
    "# escape=`\n",
    "<<EOF",
    "<<-'X'",
    "EOF\n",
    "[\"a\", \"b\"]",
    "[\"",
    "\"",
    "'",
    "$",
    "${A:-",
    "}",
    "$A",
    "A=",
    "A",
    "é",
    "scratch",
    "AS a",
    "--interval=5s",
    "SIGTERM",
];

const COMPOSE: [&str; 32] = [
    "services:\n",
    "  web:\n",
    "    image: a\n",
    "    <<: *x\n",
    "    command: ",
    "    environment:\n",
    "      A: ",
    "      - A=",
    "    extends: web\n",
    "    stop_grace_period: ",
    "    healthcheck: ",
    "{test: ",
    "[CMD, a]",
    "}",
    "${X:-",
    "$",
    "'",
    "\"",
    "\n",
    "1m30s",
    "5",
    "&x ",
    "*x",
    "!reset ",
    "    build: .\n",
    "é",
    "[",
    "]",
    "    deploy: {replicas: 0, update_config: {}}\n",
    "    pre_stop: [{command: sleep 5}]\n",
    "null",
    "yes",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_dockerfile_is_too_strange(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        read("Dockerfile", &format!("FROM a\n{}", pieces.concat()));
        read("Dockerfile", &pieces.concat());
    }

    #[test]
    fn no_compose_file_is_too_strange(pieces in prop::collection::vec(prop::sample::select(&COMPOSE[..]), 0..40)) {
        read("compose.yaml", &format!("x: &x {{image: b}}\nservices:\n  web:\n{}", pieces.concat()));
        read("compose.yaml", &pieces.concat());
    }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn what_is_shared_by_many_services_is_read_within_bounds() {
    let variables = lines(2_000, |at| format!("  A{at}: \"{at}\"\n"));
    let services = lines(200, |at| format!("  s{at}:\n    image: a\n    environment: *env\n"));
    let problems = read("compose.yaml", &format!("x: &env\n{variables}services:\n{services}"));
    assert!(problems.iter().any(|problem| problem.contains("from here on nothing is read")), "{problems:?}");
}

#[test]
fn a_thousand_stages_on_top_of_each_other_are_read_within_bounds() {
    let variables = lines(5_000, |at| format!("ENV A{at}={at}\n"));
    let stages = lines(999, |at| format!("FROM s{at} AS s{}\n", at + 1));
    let problems = read("Dockerfile", &format!("FROM scratch AS s0\n{variables}{stages}ENTRYPOINT [\"/x\"]\n"));
    assert!(problems.iter().any(|problem| problem.contains("more is set in this file")), "{problems:?}");
}

#[test]
fn a_long_dockerfile_is_read_in_time_that_grows_with_it() {
    let long = "ENV A=b \\\n".to_owned() + &"  # c\n  X=y \\\n".repeat(50_000) + "  Z=1\n";
    assert_eq!(read("Dockerfile", &format!("FROM scratch\n{long}RUN <<EOF\n{}EOF\n", "x\n".repeat(50_000))), [""; 0]);
    // Here-documents that are never closed.
    let open = "RUN a <<E\n".repeat(3_000);
    read("Dockerfile", &format!("FROM scratch\n{open}"));
}
