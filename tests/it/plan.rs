//! `lameduckctl plan` on the scenarios below `tests/plan`, and what it proposes held against `check`.

use crate::support::files::tempdir;
use crate::support::scenarios::{compare, folders, nothing_differs, run, run_on, schema, transcript, words};
use crate::support::schema::faults;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn every_scenario_prints_what_is_expected_of_it() {
    let schema = schema("examples/plan/schema.json");
    let mut wrong = Vec::new();
    for scenario in folders("plan") {
        compare(&scenario, "plan.txt", &transcript("plan", &scenario), &mut wrong);
        if words(&scenario).iter().any(|word| word == "--format") {
            continue;
        }
        let (text, _) = run_on("plan", &scenario, &["--format", "json"]);
        // What is wrong with the command line comes as text in any format.
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            compare(&scenario, "plan.json", &(serde_json::to_string_pretty(&value).unwrap() + "\n"), &mut wrong);
            assert_eq!(faults(&schema, &value), Vec::<String>::new(), "{}", scenario.display());
        } else {
            assert!(text.lines().all(|line| line.starts_with("lameduckctl: ")), "{text}");
        }
    }
    nothing_differs(&wrong);
}

/// The plan of these words.
fn planned(words: &[&str]) -> Value {
    let all: Vec<&str> = ["plan", "--format", "json"].iter().chain(words).copied().collect();
    let (text, status) = run(Path::new("/"), &all);
    assert_eq!(status, 0, "{words:?}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// What `check` has against these files: ids of errors and warnings, and all that it prints.
fn checked(directory: &Path, words: &[&str]) -> (Vec<String>, String) {
    let mut files: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut all = vec!["check", "--format", "json"];
    all.extend(words);
    all.extend(files.iter().map(String::as_str));
    let (text, status) = run(directory, &all);
    assert_ne!(status, 2, "{}: {text}", directory.display());
    let report: Value = serde_json::from_str(&text).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|finding| finding["severity"] != "info");
    (bad.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect(), text)
}

/// The rest of an ECS deployment with the numbers of a plan, as the AWS command line prints it.
fn around(directory: &Path, plan: &Value, way: &str) {
    let arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef";
    let mut service = serde_json::json!({
        "serviceName": "web", "taskDefinition": "web", "desiredCount": 2,
        "launchType": if plan["platform"] == "ecs-fargate" { "FARGATE" } else { "EC2" },
    });
    match way {
        "service-connect" => service["serviceConnectConfiguration"] = serde_json::json!({"enabled": true}),
        "cloud-map" => service["serviceRegistries"] = serde_json::json!([{"registryArn": "arn:aws:s/srv-1"}]),
        _ => service["loadBalancers"] = serde_json::json!([{"targetGroupArn": arn, "containerName": "web"}]),
    }
    let write = |name: &str, value: Value| fs::write(directory.join(name), value.to_string()).unwrap();
    write("service.json", serde_json::json!({"services": [service]}));
    if way == "cloud-map" {
        write(
            "registry.json",
            serde_json::json!({"Service": {"Arn": "arn:aws:s/srv-1", "DnsConfig": {"DnsRecords": [{"TTL": 60}]}}}),
        );
    }
    let check = &plan["health_check"];
    if check.is_null() {
        return;
    }
    let seconds = |value: &Value| value.as_f64().unwrap();
    #[allow(clippy::cast_possible_truncation, reason = "they are small")]
    let whole = |value: &Value| seconds(value) as i64;
    let own = check["on_lameducks_port"] == true;
    write(
        "groups.json",
        serde_json::json!({"TargetGroups": [{
            "TargetGroupArn": arn, "TargetGroupName": "web", "TargetType": "ip",
            "Protocol": if way == "nlb" { "TCP" } else { "HTTP" }, "HealthCheckProtocol": "HTTP",
            "HealthCheckPort": if own { "8086" } else { "traffic-port" }, "HealthCheckPath": "/readyz",
            "HealthCheckIntervalSeconds": whole(&check["interval_s"]),
            "HealthCheckTimeoutSeconds": whole(&check["timeout_s"]),
            "UnhealthyThresholdCount": check["unhealthy_threshold"], "HealthyThresholdCount": check["healthy_threshold"],
        }]}),
    );
    let r = whole(&plan["deregistration_delay"]["seconds"]).to_string();
    write(
        "attributes.json",
        serde_json::json!({"Attributes": [
            {"Key": "deregistration_delay.timeout_seconds", "Value": r},
            {"Key": "target_health_state.unhealthy.connection_termination.enabled", "Value": "false"},
        ]}),
    );
}

#[test]
fn check_has_nothing_against_what_plan_proposes_for_ecs() {
    for platform in ["ecs-fargate", "ecs-ec2"] {
        for (way, flow) in [
            ("alb", ""),
            ("nlb", ""),
            ("service-connect", ""),
            ("cloud-map", ""),
            ("alb", "hc"),
            ("alb", "concurrent"),
            ("alb", "sequential"),
        ] {
            for p99 in ["2s", "200ms"] {
                let mut words = vec!["--platform", platform, "--lb", way, "--p99", p99];
                let given = ["--flow", flow];
                let flow: &[&str] = if flow.is_empty() { &[] } else { &given };
                words.extend(flow);
                let plan = &planned(&words)["plans"][0];
                let directory = tempdir();
                around(&directory.path, plan, way);
                let task = &plan["snippets"][0];
                assert_eq!(task["title"], "task definition");
                directory.file("task.json", task["text"].as_str().unwrap(), 0o644);
                let set = format!("p99={p99}");
                let mut words = vec!["--set", set.as_str()];
                words.extend(flow);
                let (bad, text) = checked(&directory.path, &words);
                assert_eq!(bad, Vec::<String>::new(), "{platform} {way} {flow:?} {p99}: {text}\n{task}");
                // The rules on the numbers were looked at, not left out for want of something.
                for rule in ["LD002", "LD005", "LD008", "LD013", "LD014"] {
                    assert!(!text.contains(&format!("{{\"rule\":\"{rule}\",\"needs\"")), "{rule} in {text}");
                }
            }
        }
    }
}

#[test]
fn check_has_nothing_against_what_plan_proposes_for_kubernetes_and_compose() {
    for (platform, way, title, file) in [
        ("kubernetes", "kube-proxy", "manifests", "manifests.yaml"),
        ("kubernetes", "alb", "manifests", "manifests.yaml"),
        ("kubernetes", "nlb", "manifests", "manifests.yaml"),
        ("kubernetes", "haproxy", "manifests", "manifests.yaml"),
        ("compose", "haproxy", "compose.yaml", "compose.yaml"),
        ("compose", "alb", "compose.yaml", "compose.yaml"),
    ] {
        for p99 in ["20s", "200ms"] {
            let plan = &planned(&["--platform", platform, "--lb", way, "--p99", p99])["plans"][0];
            let directory = tempdir();
            if (platform, way) == ("compose", "alb") {
                around(&directory.path, plan, way);
                fs::remove_file(directory.path.join("service.json")).unwrap();
            }
            let snippet = &plan["snippets"][0];
            assert_eq!(snippet["title"], title);
            directory.file(file, snippet["text"].as_str().unwrap(), 0o644);
            let (bad, text) = checked(&directory.path, &[]);
            assert_eq!(bad, Vec::<String>::new(), "{platform} {way}: {text}\n{snippet}");
            for rule in ["LD001", "LD002", "LD007", "LD008", "LD015", "LD017"] {
                let unlooked = text.contains(&format!("{{\"rule\":\"{rule}\",\"needs\""));
                // Of HAProxy nothing stands in these files.
                assert!(!unlooked || way == "haproxy", "{rule} in {text}");
            }
        }
    }
}

#[test]
fn a_number_that_is_one_less_does_not_pass() {
    // The test above can fail: what it holds is not what the check lets pass anyway.
    let plan = &planned(&["--platform", "ecs-fargate", "--lb", "alb", "--flow", "hc", "--p99", "2s"])["plans"][0];
    let task = plan["snippets"][0]["text"].as_str().unwrap();
    for (number, less, rule) in
        [("\"18s\"", "\"12s\"", "LD001"), ("\"stopTimeout\": 40", "\"stopTimeout\": 32", "LD002")]
    {
        let directory = tempdir();
        around(&directory.path, plan, "alb");
        assert!(task.contains(number), "{task}");
        directory.file("task.json", task.replace(number, less), 0o644);
        let (bad, text) = checked(&directory.path, &["--flow", "hc", "--set", "p99=2s"]);
        assert_eq!(bad, [rule], "{text}");
    }
}
