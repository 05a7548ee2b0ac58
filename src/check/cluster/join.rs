//! Joins what is in a [`Cluster`].

use super::{Autoscaler, Borrowed, Cluster, ConfigMap, Namespace, Pod, Port, Service, ServicePort, What};
use crate::check::fact::{Fact, Origin};
use crate::check::model::{BalancerKind, By, Model, Route, TargetGroup, Variable, Workload};
use std::collections::HashMap;

/// Joins everything of the cluster; returned is what was left out.
pub fn link(model: &mut Model) -> Vec<String> {
    let mut cluster = std::mem::take(&mut model.cluster);
    let mut left_out = Vec::new();
    for pod in &mut cluster.pods {
        inject(&mut model.workloads[pod.workload], pod, &cluster.namespaces);
    }
    for pod in &cluster.pods {
        // Each goes to the front: the last one of a name counts.
        for borrowed in pod.borrowed.iter().rev() {
            left_out.extend(lend(&mut model.workloads[pod.workload], pod, borrowed, &cluster));
        }
    }
    for scaler in &cluster.autoscalers {
        for pod in &cluster.pods {
            scale(&mut model.workloads[pod.workload], pod, scaler);
        }
    }
    let pods_by_label = by_label(&cluster.pods);
    let mut services: HashMap<&str, Vec<&Service>> = HashMap::new();
    for service in &cluster.services {
        services.entry(&service.name).or_default().push(service);
        let pods = service.pods(&pods_by_label);
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
            let of_name = services.get(name.as_str()).map_or(&[] as &[&Service], Vec::as_slice);
            let here = |service: &&&Service| together(service.namespace.as_deref(), ingress.namespace.as_deref());
            let Some(service) = of_name.iter().find(here) else {
                left_out.push(format!("Ingress {} was left out: its Service {name} is in no file", ingress.name));
                continue;
            };
            let pods = service.pods(&pods_by_label);
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

/// Puts the proxies beside the containers that the pod's namespace asks for. A pod that does not name its
/// namespace goes into the only one there is.
fn inject(workload: &mut Workload, pod: &mut Pod, namespaces: &[Namespace]) {
    let namespace = match (&pod.namespace, namespaces) {
        (Some(name), _) => namespaces.iter().find(|namespace| namespace.name == *name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let wanted = namespace.map_or(&[] as &[_], |namespace| &namespace.proxies);
    for mut proxy in pod.injectable.drain(..) {
        if let Some(wanted) = wanted.iter().find(|wanted| wanted.mesh == proxy.mesh) {
            // What the pod writes itself counts.
            if matches!(proxy.serves_on.origin, Origin::Default(_)) {
                proxy.serves_on = wanted.serves_on.clone();
            }
            if matches!(proxy.waits.origin, Origin::Default(_)) {
                proxy.waits = wanted.waits.clone();
            }
            workload.mesh.push(proxy);
        }
    }
}

/// Where an autoscaler sets the number of pods, the least it sets is what counts on.
fn scale(workload: &mut Workload, pod: &Pod, scaler: &Autoscaler) {
    let is_it =
        workload.references.contains(&scaler.target) && together(scaler.namespace.as_deref(), pod.namespace.as_deref());
    if let (true, Some(rollout), Some(limits)) = (is_it, &mut workload.rollout, &pod.limits) {
        rollout.least_percent = limits.least(&scaler.least);
        rollout.most_percent = limits.most(&scaler.least);
        rollout.replicas = scaler.least.clone();
    }
}

/// Pods by each of their labels: of ten thousand Services none has to look at ten thousand pods.
type ByLabel<'a> = HashMap<&'a (String, String), Vec<&'a Pod>>;

fn by_label(pods: &[Pod]) -> ByLabel<'_> {
    let mut found = ByLabel::new();
    for pod in pods {
        for label in &pod.labels {
            found.entry(label).or_default().push(pod);
        }
    }
    found
}

/// Puts what a `ConfigMap` holds into the environment of a container; returned is what cannot be seen.
fn lend(workload: &mut Workload, pod: &Pod, borrowed: &Borrowed, cluster: &Cluster) -> Option<String> {
    let container = workload.containers.get_mut(borrowed.container)?;
    let is_it =
        |map: &&ConfigMap| map.name == borrowed.name && together(map.namespace.as_deref(), pod.namespace.as_deref());
    let map = cluster.config_maps.iter().find(is_it).filter(|_| borrowed.kind == "ConfigMap");
    match (&borrowed.what, map) {
        (What::All { prefix }, Some(map)) => {
            let lent = map.data.iter().map(|(key, value, place)| Variable {
                name: format!("{prefix}{key}"),
                value: Ok(value.clone()),
                place: *place,
                origin: Origin::Written,
            });
            // What `env` says itself comes last, and counts.
            container.environment.splice(0..0, lent);
        }
        (What::All { .. }, None) => {
            let (kind, name) = (borrowed.kind, &borrowed.name);
            return Some(format!(
                "{}: nothing of lameduck's comes from {kind} {name}, which cannot be seen here",
                container.name
            ));
        }
        (What::One { variable, key }, Some(map)) => {
            let found = map.data.iter().find(|(name, ..)| name == key);
            let own = container.environment.iter_mut().rev().find(|own| own.name == *variable);
            if let (Some((_, value, place)), Some(own)) = (found, own) {
                (own.value, own.place) = (Ok(value.clone()), *place);
            }
        }
        (What::One { .. }, None) => {}
    }
    None
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
fn together(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}

// === impl Pod ===

impl Pod {
    pub(super) fn port(&self, target: &str) -> Option<&Port> {
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
    /// The pods that have all labels of the selector, found by the one that the fewest have.
    fn pods<'a>(&self, pods: &ByLabel<'a>) -> Vec<&'a Pod> {
        let with = |label| pods.get(label).map_or(&[] as &[&Pod], Vec::as_slice);
        let fewest = self.selector.iter().map(with).min_by_key(|pods| pods.len()).unwrap_or_default();
        let selects = |pod: &&Pod| {
            together(self.namespace.as_deref(), pod.namespace.as_deref())
                && self.selector.iter().all(|label| pod.labels.contains(label))
        };
        fewest.iter().copied().filter(selects).collect()
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
