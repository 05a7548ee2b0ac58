//! What a cluster of Kubernetes joins by labels and names: a Service to the pods that it selects, an Ingress
//! to its Services, a `ConfigMap` to the containers that take their environment from it. Loaders fill [`Cluster`]; [`link`] turns it into the routes and target groups of the
//! model.

use super::fact::Fact;
use super::model::{Asks, BalancerKind, By, GroupAttributes, KubernetesService, Model, Probe, Route, TargetGroup, Variable};
use super::source::Place;
use std::time::Duration;

/// What was found of a cluster, still to be linked.
#[derive(Debug, Default)]
pub struct Cluster {
    /// Its pods, or what they are made from.
    pub pods: Vec<Pod>,
    /// Its Services.
    pub services: Vec<Service>,
    /// Its Ingresses that the AWS load balancer controller serves. Others send to pods as a Service does.
    pub ingresses: Vec<Ingress>,
    /// Its `ConfigMaps`.
    pub config_maps: Vec<ConfigMap>,
}

/// Keys and values.
pub type Labels = Vec<(String, String)>;

/// A pod, as far as a Service looks at it.
#[derive(Debug)]
pub struct Pod {
    /// Which of [`Model::workloads`] it is.
    pub workload: usize,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// Its labels.
    pub labels: Labels,
    /// The ports of its containers.
    pub ports: Vec<Port>,
    /// What the environments of its containers take from elsewhere.
    pub borrowed: Vec<Borrowed>,
}

/// What an environment takes from elsewhere.
#[derive(Debug)]
pub struct Borrowed {
    /// Which of the pod's containers.
    pub container: usize,
    /// `ConfigMap` or `Secret`.
    pub kind: &'static str,
    /// Of that name.
    pub name: String,
    /// What.
    pub what: What,
}

/// What is taken from a `ConfigMap`.
#[derive(Debug)]
pub enum What {
    /// All of it, each name with this in front.
    All {
        /// Empty for none.
        prefix: String,
    },
    /// One key, for one variable.
    One {
        /// The variable.
        variable: String,
        /// The key.
        key: String,
    },
}

/// A `ConfigMap`: names and texts, each where it stands.
#[derive(Debug)]
pub struct ConfigMap {
    /// Its name.
    pub name: String,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// What it holds.
    pub data: Vec<(String, String, Place)>,
}

/// A port of a container.
#[derive(Clone, Debug)]
pub struct Port {
    /// The container's name.
    pub container: String,
    /// The port's name.
    pub name: Option<String>,
    /// Its number.
    pub number: u64,
    /// Where that stands.
    pub place: Place,
}

/// A Service.
#[derive(Debug)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// Where it begins.
    pub place: Place,
    /// The labels that its pods have; empty = it selects none by itself.
    pub selector: Labels,
    /// Its ports.
    pub ports: Vec<ServicePort>,
    /// How it sends requests.
    pub sends: KubernetesService,
    /// What its annotations say about target groups.
    pub annotated: Annotated,
    /// Whether it has an NLB of its own.
    pub balancer: bool,
}

/// A port of a Service.
#[derive(Clone, Debug)]
pub struct ServicePort {
    /// Its name.
    pub name: Option<String>,
    /// Its number, as text.
    pub number: String,
    /// The port of the pod: a number or a name.
    pub target: String,
}

/// An Ingress.
#[derive(Debug)]
pub struct Ingress {
    /// Its name.
    pub name: String,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// The Services it sends to: name, and name or number of the port.
    pub backends: Vec<(String, Option<String>)>,
    /// What its annotations say about target groups.
    pub annotated: Annotated,
}

/// What annotations say about a target group; `None` = nothing.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// Where the object with the annotations begins.
    pub place: Place,
    /// I.
    pub interval: Option<Fact<Duration>>,
    /// T.
    pub timeout: Option<Fact<Duration>>,
    /// U.
    pub failures: Option<Fact<u64>>,
    /// So many good answers in a row.
    pub successes: Option<Fact<u64>>,
    /// What is asked by HTTP.
    pub path: Option<Fact<String>>,
    /// The port that is asked: a number, a name, `traffic-port`.
    pub port: Option<Fact<String>>,
    /// How it is asked.
    pub protocol: Option<Fact<String>>,
    /// The statuses that count as good.
    pub matcher: Option<Fact<String>>,
    /// Whether targets are pods rather than nodes.
    pub by_address: Option<Fact<bool>>,
    /// The attributes of the target group, all of them.
    pub attributes: Option<GroupAttributes>,
}

/// What the AWS load balancer controller takes when no annotation says otherwise, by kind of balancer.
struct Defaults {
    interval: u64,
    timeout: u64,
    failures: u64,
    successes: u64,
    http: bool,
}

const ALB: Defaults = Defaults { interval: 15, timeout: 5, failures: 2, successes: 2, http: true };
const NLB: Defaults = Defaults { interval: 10, timeout: 10, failures: 3, successes: 3, http: false };

const CONTROLLER: &str = "the AWS load balancer controller";

/// Joins everything of the cluster; returned is what was left out.
pub fn link(model: &mut Model) -> Vec<String> {
    let cluster = std::mem::take(&mut model.cluster);
    let mut left_out = Vec::new();
    for pod in &cluster.pods {
        lend(model, pod, &cluster.config_maps, &mut left_out);
    }
    for service in &cluster.services {
        let pods = service.pods(&cluster.pods);
        if pods.is_empty() && !service.selector.is_empty() && !cluster.pods.is_empty() {
            left_out.push(format!("Service {} was left out: it selects no pod in these files", service.name));
        }
        for pod in &pods {
            for container in pod.reached(service, &service.ports) {
                let by = By::KubernetesService(service.sends.clone());
                model.workloads[pod.workload].routes.push(service.route(by, container));
            }
        }
        if service.balancer && !pods.is_empty() {
            let traffic = service.ports.first();
            let group = service.annotated.clone().group(&service.name, BalancerKind::Network, pods[0], traffic);
            send(model, group, service, &service.ports, &pods);
        }
    }
    for ingress in &cluster.ingresses {
        for (name, port) in &ingress.backends {
            let here = |service: &&Service| service.name == *name && together(&service.namespace, &ingress.namespace);
            let Some(service) = cluster.services.iter().find(here) else {
                left_out.push(format!("Ingress {} was left out: its Service {name} is in no file", ingress.name));
                continue;
            };
            let pods = service.pods(&cluster.pods);
            if pods.is_empty() {
                continue;
            }
            let is_it = |other: &&ServicePort| port.as_ref().is_none_or(|port| other.goes_by(port));
            let ports: Vec<ServicePort> = service.ports.iter().filter(is_it).take(1).cloned().collect();
            let annotated = service.annotated.clone().or(&ingress.annotated);
            let name = format!("{}/{name}", ingress.name);
            let group = annotated.group(&name, BalancerKind::Application, pods[0], ports.first());
            send(model, group, service, &ports, &pods);
        }
    }
    left_out
}

/// Puts what `ConfigMaps` hold into the environments of a pod. Secrets, and what is in no file, stay unknown.
fn lend(model: &mut Model, pod: &Pod, config_maps: &[ConfigMap], left_out: &mut Vec<String>) {
    let workload = &mut model.workloads[pod.workload];
    for borrowed in &pod.borrowed {
        let Some(container) = workload.containers.get_mut(borrowed.container) else { continue };
        let is_it = |map: &&ConfigMap| map.name == borrowed.name && together(&map.namespace, &pod.namespace);
        let map = config_maps.iter().find(is_it).filter(|_| borrowed.kind == "ConfigMap");
        match (&borrowed.what, map) {
            (What::All { prefix }, Some(map)) => {
                // What `env` says itself comes last, and counts.
                let lent = map.data.iter().map(|(key, value, place)| Variable {
                    name: format!("{prefix}{key}"),
                    value: Ok(value.clone()),
                    place: *place,
                });
                container.environment.splice(0..0, lent);
            }
            (What::All { .. }, None) => left_out.push(format!(
                "{}: nothing of lameduck's comes from {} {}, which cannot be seen here",
                container.name, borrowed.kind, borrowed.name
            )),
            (What::One { variable, key }, Some(map)) => {
                let found = map.data.iter().find(|(name, ..)| name == key);
                let own = container.environment.iter_mut().rev().find(|own| own.name == *variable);
                if let (Some((_, value, place)), Some(own)) = (found, own) {
                    (own.value, own.place) = (Ok(value.clone()), *place);
                }
            }
            (What::One { .. }, None) => {}
        }
    }
}

/// Has a target group send requests to pods.
fn send(model: &mut Model, group: TargetGroup, service: &Service, ports: &[ServicePort], pods: &[&Pod]) {
    model.groups.push(group);
    let at = model.groups.len() - 1;
    for pod in pods {
        for container in pod.reached(service, ports) {
            model.workloads[pod.workload].routes.push(service.route(By::Group(Ok(at)), container));
        }
    }
}

/// Whether two things are in the same namespace. What is not written is said when the files are applied.
fn together(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_none() || other.is_none() || one == other
}

// === impl Pod ===

impl Pod {
    fn port(&self, target: &str) -> Option<&Port> {
        let number = target.parse::<u64>().ok();
        self.ports.iter().find(|port| port.name.as_deref() == Some(target) || Some(port.number) == number)
    }

    /// The containers that these ports of a Service lead to, each once; `None` stands for any.
    fn reached(&self, service: &Service, ports: &[ServicePort]) -> Vec<Option<&Port>> {
        let mut found: Vec<&Port> = Vec::new();
        for port in ports.iter().filter_map(|port| self.port(&port.target)) {
            if !found.iter().any(|other| other.container == port.container) {
                found.push(port);
            }
        }
        // Without ports it is a name, and leads to all of them.
        if found.is_empty() || service.ports.is_empty() { vec![None] } else { found.into_iter().map(Some).collect() }
    }
}

// === impl Service ===

impl Service {
    fn pods<'a>(&self, pods: &'a [Pod]) -> Vec<&'a Pod> {
        let selects = |pod: &&Pod| {
            !self.selector.is_empty()
                && together(&self.namespace, &pod.namespace)
                && self.selector.iter().all(|label| pod.labels.contains(label))
        };
        pods.iter().filter(selects).collect()
    }

    fn route(&self, by: By, port: Option<&Port>) -> Route {
        Route {
            by,
            place: Some(self.place),
            container: port.map(|port| port.container.clone()),
            port: port.map(|port| Fact::written("containerPort", port.number, port.place)),
        }
    }
}

// === impl ServicePort ===

impl ServicePort {
    fn goes_by(&self, port: &str) -> bool {
        self.number == port || self.name.as_deref() == Some(port)
    }
}

// === impl Annotated ===

impl Annotated {
    /// Nothing, yet.
    #[must_use]
    pub const fn none(place: Place) -> Self {
        Self {
            place,
            interval: None,
            timeout: None,
            failures: None,
            successes: None,
            path: None,
            port: None,
            protocol: None,
            matcher: None,
            by_address: None,
            attributes: None,
        }
    }

    /// What a Service says itself beats what its Ingress says, annotation by annotation.
    fn or(self, ingress: &Self) -> Self {
        let other = ingress.clone();
        Self {
            place: other.place,
            interval: self.interval.or(other.interval),
            timeout: self.timeout.or(other.timeout),
            failures: self.failures.or(other.failures),
            successes: self.successes.or(other.successes),
            path: self.path.or(other.path),
            port: self.port.or(other.port),
            protocol: self.protocol.or(other.protocol),
            matcher: self.matcher.or(other.matcher),
            by_address: self.by_address.or(other.by_address),
            attributes: self.attributes.or(other.attributes),
        }
    }

    /// The target group that the controller makes of it.
    fn group(self, name: &str, kind: BalancerKind, pod: &Pod, traffic: Option<&ServicePort>) -> TargetGroup {
        let (at, place) = (Some(self.place), self.place);
        let defaults = if kind == BalancerKind::Application { ALB } else { NLB };
        let by_address =
            self.by_address.unwrap_or_else(|| Fact::default_of(CONTROLLER, "target-type: ip", false, at));
        let number = traffic.and_then(|port| pod.port(&port.target)).filter(|_| by_address.is(&true));
        let port = match self.port {
            Some(Fact { name, value: Ok(text), place, .. }) if text != "traffic-port" => {
                match (text.parse(), pod.port(&text)) {
                    (Ok(number), _) => Fact { value: Ok(number), ..Fact::unknown(name, "", place) },
                    (_, Some(port)) => Fact { value: Ok(port.number), ..Fact::unknown(name, "", place) },
                    _ => Fact::unknown(name, format!("the number of the port {text}"), place),
                }
            }
            other => {
                let place = other.and_then(|port| port.place).or(at);
                let unknown = || Fact::unknown("healthcheck-port", "the port of the traffic", place);
                let derived = |port: &Port| Fact::derived("the port of the traffic", "healthcheck-port", port.number, place);
                number.map_or_else(unknown, derived)
            }
        };
        let http = self.protocol.as_ref().and_then(|protocol| protocol.known()).map_or(defaults.http, |protocol| {
            protocol.to_ascii_uppercase().starts_with("HTTP")
        });
        let timeout = if http && !defaults.http { 6 } else { defaults.timeout };
        let seconds = |name, seconds| Fact::default_of(CONTROLLER, name, Duration::from_secs(seconds), at);
        let path = self.path.unwrap_or_else(|| Fact::default_of(CONTROLLER, "healthcheck-path", "/".to_owned(), at));
        let (deregistration, cuts) = self.attributes.map_or((None, None), |a| (a.deregistration, a.cuts_unhealthy));
        TargetGroup {
            name: name.to_owned(),
            references: vec![name.to_owned()],
            place,
            balancer: Fact::derived("what Kubernetes makes of the object", "balancer", kind, at),
            check: Probe {
                name: "health check",
                place,
                interval: self.interval.unwrap_or_else(|| seconds("healthcheck-interval", defaults.interval)),
                timeout: self.timeout.unwrap_or_else(|| seconds("healthcheck-timeout", timeout)),
                failures: self
                    .failures
                    .unwrap_or_else(|| Fact::default_of(CONTROLLER, "unhealthy-threshold", defaults.failures, at)),
                asks: if http { Asks::Http { path, port } } else { Asks::Connect(port) },
            },
            successes: self
                .successes
                .unwrap_or_else(|| Fact::default_of(CONTROLLER, "healthy-threshold", defaults.successes, at)),
            matcher: self
                .matcher
                .unwrap_or_else(|| Fact::default_of(CONTROLLER, "success-codes", "200".to_owned(), at)),
            by_address,
            deregistration: deregistration.unwrap_or_else(|| {
                Fact::default_of("ELB", "deregistration_delay.timeout_seconds", super::link::DEREGISTRATION, at)
            }),
            cuts_unhealthy: cuts.unwrap_or_else(|| {
                Fact::default_of("ELB", "target_health_state.unhealthy.connection_termination.enabled", true, at)
            }),
            balancers: Vec::new(),
        }
    }
}
