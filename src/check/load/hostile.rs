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

const CLOUDFORMATION: [&str; 34] = [
    "!Ref ",
    "!Sub ",
    "!GetAtt ",
    "!If ",
    "!Join ",
    "!FindInMap ",
    "!Select ",
    "!Split ",
    "!Other ",
    "{Ref: ",
    "{Fn::Sub: ",
    "{Condition: ",
    "[",
    "]",
    "}",
    ", ",
    "\"",
    "${A}",
    "${B.Arn}",
    "${",
    "A",
    "B",
    "0",
    "30",
    "AWS::NoValue",
    "AWS::Region",
    "é",
    "\n          StopTimeout: ",
    "\n          EntryPoint: ",
    "\n          Environment: ",
    "\n          Command: ",
    "{{resolve:ssm:x}}",
    "&x ",
    "*x",
];

const NAMES: [&str; 6] =
    ["aws_lb.x", "module.a.aws_lb.x[\"b.c\"]", "", "a[", "[{\"name\":\"é\\u00e9\",\"stopTimeout\":5}]", "*x"];

const KEYS: [&str; 14] = [
    "references",
    "container_definitions",
    "health_check",
    "load_balancer",
    "target_group_arn",
    "interval",
    "timeout",
    "task_definition",
    "dns_config",
    "dns_records",
    "ttl",
    "family",
    "container_name",
    "deregistration_delay",
];

/// Values as they may stand anywhere in a plan.
fn anything() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        prop::sample::select(&NAMES[..]).prop_map(Into::into),
        "\\PC{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..6)
                .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

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

    #[test]
    fn no_template_is_too_strange(pieces in prop::collection::vec(prop::sample::select(&CLOUDFORMATION[..]), 0..30)) {
        let head = "Parameters:\n  A: {Type: CommaDelimitedList, Default: 'a,${B}'}\nConditions:\n  A: !Not [!Condition A]\n";
        let task = "Resources:\n  B:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions:\n        - Name: ";
        read("template.yaml", &format!("{head}{task}{}", pieces.concat()));
    }

    #[test]
    fn no_plan_is_too_strange(
        of in prop::sample::select(&["aws_ecs_service", "aws_ecs_task_definition", "aws_lb_target_group", "aws_lb", "aws_service_discovery_service"][..]),
        address in prop::sample::select(&["x.y", "module.a.x.y[0]", "module.a[\"b.c\"].x.y", "x", "", "module.module.module"][..]),
        values in anything(),
        unknown in anything(),
        expressions in anything(),
    ) {
        let configured = serde_json::json!({"resources": [{"address": "x.y", "expressions": expressions}]});
        let plan = serde_json::json!({
            "format_version": "1.2",
            "planned_values": {"root_module": {"resources": [{"type": of, "address": address, "values": values}]}},
            "resource_changes": [{"address": address, "change": {"after_unknown": unknown}}],
            "configuration": {"root_module": {"module_calls": {"a": {"module": configured}}, "resources": configured["resources"]}},
        });
        read("plan.json", &plan.to_string());
        read("plan.json", &serde_json::to_string_pretty(&plan).unwrap());
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

#[test]
fn what_templates_and_plans_share_is_read_within_bounds() {
    let variables = lines(2_000, |at| format!("    - {{Name: A{at}, Value: b}}\n"));
    let task = "Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: a, Environment: *env}]}";
    let tasks = lines(1_000, |at| format!("  T{at}: {{{task}}}\n"));
    let problems = read("template.yaml", &format!("Metadata:\n  x: &env\n{variables}Resources:\n{tasks}"));
    assert!(problems.iter().any(|problem| problem.contains("from here on nothing is read")), "{problems:?}");

    let long = format!("Parameters:\n  A: {{Type: String, Default: {}}}\n", "a".repeat(100_000));
    let texts = lines(5_000, |_| "          - !Sub '${A}${A}${A}${A}x'\n".to_owned());
    let task = "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions:\n        - Command:\n";
    let problems = read("template.yaml", &format!("{long}{task}{texts}"));
    assert!(problems.iter().any(|problem| problem.contains("from here on nothing is read")), "{problems:?}");

    let bomb = lines(30, |at| format!("a{}: &a{} [{}]\n", at + 1, at + 1, vec![format!("*a{at}"); 9].join(", ")));
    let inside = serde_json::to_string(&format!("- &a0 {{name: x}}\n- {{{}}}\n", bomb.replace('\n', ",\n"))).unwrap();
    let resource =
        format!("{{type: aws_ecs_task_definition, address: a.b, values: {{container_definitions: {inside}}}}}");
    let problems =
        read("plan.yaml", &format!("{{format_version: '1', values: {{root_module: {{resources: [{resource}]}}}}}}"));
    assert!(problems.iter().any(|problem| problem.contains("too much")), "{problems:?}");
}

#[test]
fn a_mapping_that_names_itself_through_others_ends() {
    let map = "Mappings: {A: {a: {x: !FindInMap [A, a, y], y: [!FindInMap [A, a, x], !FindInMap [A, a, x]]}}}\n";
    let task = "Resources: {T: {Type: 'AWS::ECS::TaskDefinition', Properties: {ContainerDefinitions: [{StopTimeout: !FindInMap [A, a, x]}]}}}\n";
    read("template.yaml", &format!("{map}{task}"));
}

#[test]
fn long_templates_and_plans_are_read_in_time_that_grows_with_them() {
    let many = 6_000;
    let service = "{Type: 'AWS::ECS::TaskDefinition', Properties: {Family: !Ref P";
    let resources = lines(many, |at| format!("  R{at}: {service}{at}}}}}\n"));
    let parameters = lines(many, |at| format!("  P{at}: {{Type: String, Default: f{at}}}\n"));
    assert_eq!(read("template.yaml", &format!("Parameters:\n{parameters}Resources:\n{resources}")), [""; 0]);

    let group = |at: usize| {
        let values = "{\"health_check\":[{\"interval\":5}]}";
        format!(
            "{{\"address\":\"aws_lb_target_group.g{at}\",\"type\":\"aws_lb_target_group\",\"values\":{values},\"expressions\":{{}}}},"
        )
    };
    let groups = format!("[{}]", lines(many, group).trim_end_matches(','));
    let plan = format!("\"planned_values\":{{\"root_module\":{{\"resources\":{groups}}}}}");
    let configured = format!("\"configuration\":{{\"root_module\":{{\"resources\":{groups}}}}}");
    assert_eq!(read("plan.json", &format!("{{\"format_version\":\"1.2\",{plan},{configured}}}")), [""; 0]);
}
