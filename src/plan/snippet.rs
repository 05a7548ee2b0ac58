//! Ready to paste: the numbers of a plan in the form in which each platform takes them.
//!
//! What `lameduckctl check` reads of these it has nothing to say against; a test holds every one of them
//! against it.

use super::compute::Plan;
use super::platform::{Platform, Way};
use crate::check::fact::seconds;
use crate::core::duration::Written;
use std::fmt::Write as _;
use std::time::Duration;

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Where it belongs.
    pub title: &'static str,
    /// The language, as a Markdown fence names it.
    pub language: &'static str,
    /// Its text, whole lines.
    pub text: String,
}

/// Where lameduck answers health checks, where that is needed.
const HEALTH: &str = ":8086";
const HEALTH_PORT: &str = "8086";

/// Everything to paste for a plan. Nothing when it cannot be done.
#[must_use]
pub fn all(plan: &Plan) -> Vec<Snippet> {
    if !plan.problems.is_empty() {
        return Vec::new();
    }
    let mut snippets = Vec::new();
    match plan.ask.platform {
        Some(Platform::EcsFargate | Platform::EcsEc2) => snippets.push(task_definition(plan)),
        Some(Platform::Kubernetes) => snippets.push(manifests(plan)),
        Some(Platform::Compose) => snippets.push(compose(plan)),
        Some(Platform::Docker) => snippets.push(docker(plan)),
        Some(Platform::Nomad) => snippets.push(nomad(plan)),
        None => snippets.push(environment(plan)),
    }
    let on_kubernetes = plan.ask.platform == Some(Platform::Kubernetes);
    if plan.deregistration.is_some() && !on_kubernetes {
        snippets.push(target_group(plan));
    }
    if plan.ask.by(Way::Haproxy) && plan.flips {
        snippets.push(haproxy(plan));
    }
    snippets
}

/// lameduck's variables.
fn variables(plan: &Plan) -> Vec<(&'static str, String)> {
    let written = |duration: Duration| format!("{}s", seconds(duration));
    let mut variables = vec![
        ("LAMEDUCK_DELAY", written(plan.delay.value)),
        ("LAMEDUCK_DRAIN_TIMEOUT", written(plan.drain.value)),
        ("LAMEDUCK_GRACE", written(plan.grace.value)),
    ];
    if plan.flips {
        variables.push(("LAMEDUCK_HEALTH_LISTEN", HEALTH.to_owned()));
    }
    variables
}

fn name(plan: &Plan) -> String {
    // What is pasted has to be called what it is called already.
    let more = match plan.ask.platform {
        Some(Platform::EcsFargate | Platform::EcsEc2) => "_",
        Some(Platform::Compose | Platform::Nomad) => "_.",
        _ => "",
    };
    let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || more.contains(*c);
    let name: String = plan.ask.name.chars().filter(fits).collect();
    if name.is_empty() { "web".to_owned() } else { name }
}

/// The container and its image as they are named, for what is pasted over them.
fn container(plan: &Plan) -> (String, String) {
    let kept = |text: &String, more: &str| {
        let fits = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || more.contains(c));
        Some(text.clone()).filter(|text| fits && !text.is_empty())
    };
    let (own, image) = plan.ask.container.as_ref().map_or((None, None), |(own, image)| (Some(own), image.as_ref()));
    let own = own.and_then(|own| kept(own, "_")).unwrap_or_else(|| name(plan));
    let image = image.and_then(|image| kept(image, "_./:@")).unwrap_or_else(|| own.clone());
    (own, image)
}

fn environment(plan: &Plan) -> Snippet {
    let text = variables(plan).iter().fold(String::new(), |text, (name, value)| text + name + "=" + value + "\n");
    Snippet { title: "environment of the container", language: "sh", text }
}

fn task_definition(plan: &Plan) -> Snippet {
    let name = name(plan);
    let (container, image) = container(plan);
    let pairs: Vec<String> = variables(plan)
        .iter()
        .map(|(name, value)| format!("        {{ \"name\": \"{name}\", \"value\": \"{value}\" }}"))
        .collect();
    let launch = if plan.ask.platform == Some(Platform::EcsFargate) {
        "  \"requiresCompatibilities\": [\"FARGATE\"],\n"
    } else {
        ""
    };
    let text = format!(
        "{{\n  \"family\": \"{name}\",\n{launch}  \"containerDefinitions\": [\n    {{\n      \"name\": \"{container}\",\n      \
         \"image\": \"{image}\",\n      \"essential\": true,\n      \"environment\": [\n{}\n      ],\n      \
         \"stopTimeout\": {}\n    }}\n  ]\n}}\n",
        pairs.join(",\n"),
        seconds(plan.grace.value)
    );
    Snippet { title: "task definition", language: "json", text }
}

fn target_group(plan: &Plan) -> Snippet {
    let mut text = String::new();
    if let Some((check, _)) = &plan.check {
        let port = if plan.flips {
            format!(" \\\n  --health-check-port {HEALTH_PORT} --health-check-path /readyz")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "aws elbv2 modify-target-group --target-group-arn \"$TARGET_GROUP\" \\\n  --health-check-interval-seconds {} \
             --health-check-timeout-seconds {} \\\n  --unhealthy-threshold-count {} --healthy-threshold-count {}{port}",
            seconds(check.interval),
            seconds(check.timeout),
            check.unhealthy,
            check.healthy
        );
    }
    let cuts = "target_health_state.unhealthy.connection_termination.enabled";
    let keep =
        if plan.flips && plan.ask.by(Way::Nlb) { format!(" \\\n  Key={cuts},Value=false") } else { String::new() };
    if let Some(deregistration) = &plan.deregistration {
        let _ = writeln!(
            text,
            "aws elbv2 modify-target-group-attributes --target-group-arn \"$TARGET_GROUP\" --attributes \\\n  \
             Key=deregistration_delay.timeout_seconds,Value={}{keep}",
            seconds(deregistration.value)
        );
    }
    Snippet { title: "target group", language: "sh", text }
}

fn manifests(plan: &Plan) -> Snippet {
    let name = name(plan);
    let (container, image) = container(plan);
    let env = variables(plan).iter().fold(String::new(), |text, (name, value)| {
        format!("{text}            - {{ name: {name}, value: {value:?} }}\n")
    });
    let mut text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: 2\n  selector:\n    \
         matchLabels: {{ app: {name} }}\n  strategy:\n    rollingUpdate: {{ maxUnavailable: 0, maxSurge: 1 }}\n  template:\n    \
         metadata:\n      labels: {{ app: {name} }}\n    spec:\n      terminationGracePeriodSeconds: {}\n      containers:\n        \
         - name: {container}\n          image: {image}\n          env:\n{env}",
        seconds(plan.grace.value)
    );
    let annotations = if plan.ask.by(Way::Nlb) { nlb_annotations(plan) } else { String::new() };
    let kind = if plan.ask.by(Way::Nlb) { "  type: LoadBalancer\n" } else { "" };
    let _ = write!(
        text,
        "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n{annotations}spec:\n{kind}  selector: {{ app: {name} }}\n  \
         ports:\n    - port: 80\n      targetPort: 8080\n"
    );
    if plan.ask.by(Way::Alb) {
        let _ = write!(
            text,
            "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\n{}spec:\n  ingressClassName: alb\n  \
             defaultBackend:\n    service: {{ name: {name}, port: {{ number: 80 }} }}\n",
            alb_annotations(plan)
        );
    }
    Snippet { title: "manifests", language: "yaml", text }
}

fn alb_annotations(plan: &Plan) -> String {
    let mut rows = vec![("target-type", "ip".to_owned())];
    if let Some((check, _)) = &plan.check {
        rows.push(("healthcheck-interval-seconds", seconds(check.interval)));
        rows.push(("healthcheck-timeout-seconds", seconds(check.timeout)));
        rows.push(("unhealthy-threshold-count", check.unhealthy.to_string()));
        rows.push(("healthy-threshold-count", check.healthy.to_string()));
    }
    if let Some(deregistration) = &plan.deregistration {
        rows.push((
            "target-group-attributes",
            format!("deregistration_delay.timeout_seconds={}", seconds(deregistration.value)),
        ));
    }
    annotations("alb.ingress.kubernetes.io/", &rows)
}

fn nlb_annotations(plan: &Plan) -> String {
    let mut rows = vec![("type", "external".to_owned()), ("nlb-target-type", "ip".to_owned())];
    if let Some((check, _)) = &plan.check {
        rows.push(("healthcheck-interval", seconds(check.interval)));
        rows.push(("healthcheck-timeout", seconds(check.timeout)));
        rows.push(("healthcheck-unhealthy-threshold", check.unhealthy.to_string()));
        rows.push(("healthcheck-healthy-threshold", check.healthy.to_string()));
    }
    if let Some(deregistration) = &plan.deregistration {
        rows.push((
            "target-group-attributes",
            format!("deregistration_delay.timeout_seconds={}", seconds(deregistration.value)),
        ));
    }
    annotations("service.beta.kubernetes.io/aws-load-balancer-", &rows)
}

fn annotations(prefix: &str, rows: &[(&str, String)]) -> String {
    rows.iter()
        .fold("  annotations:\n".to_owned(), |text, (name, value)| format!("{text}    {prefix}{name}: {value:?}\n"))
}

fn compose(plan: &Plan) -> Snippet {
    let name = name(plan);
    let environment =
        variables(plan).iter().fold(String::new(), |text, (name, value)| format!("{text}      {name}: {value:?}\n"));
    // What is built has no image to name.
    let is_built = plan.ask.container.as_ref().is_some_and(|(_, image)| image.is_none());
    let image = if is_built { String::new() } else { format!("    image: {}\n", container(plan).1) };
    let text = format!(
        "services:\n  {name}:\n{image}    environment:\n{environment}    stop_grace_period: {}s\n",
        seconds(plan.grace.value)
    );
    Snippet { title: "compose.yaml", language: "yaml", text }
}

fn docker(plan: &Plan) -> Snippet {
    let environment =
        variables(plan).iter().fold(String::new(), |text, (name, value)| format!("{text} \\\n  -e {name}={value}"));
    let text =
        format!("docker run --stop-timeout {}{environment} \\\n  {}\n", seconds(plan.grace.value), container(plan).1);
    Snippet { title: "command line", language: "sh", text }
}

fn nomad(plan: &Plan) -> Snippet {
    let environment =
        variables(plan).iter().fold(String::new(), |text, (name, value)| format!("{text}    {name} = {value:?}\n"));
    let text = format!(
        "task \"{}\" {{\n  kill_signal  = \"SIGTERM\"\n  kill_timeout = \"{}s\"\n  env {{\n{environment}  }}\n}}\n",
        name(plan),
        seconds(plan.grace.value)
    );
    Snippet { title: "job file", language: "hcl", text }
}

fn haproxy(plan: &Plan) -> Snippet {
    let mut text = String::new();
    if let Some((check, _)) = &plan.check {
        let _ = write!(
            text,
            "backend {name}\n    option httpchk GET /readyz\n    timeout check {}\n    default-server check port {HEALTH_PORT} inter {} \
             fall {} rise {}\n    server {name}1 ADDRESS:8080\n",
            Written(check.timeout),
            Written(check.interval),
            check.unhealthy,
            check.healthy,
            name = name(plan)
        );
    }
    Snippet { title: "haproxy.cfg", language: "haproxy", text }
}
