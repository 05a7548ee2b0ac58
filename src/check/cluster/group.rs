//! The target group that the AWS load balancer controller makes of a Service or an Ingress, as its
//! annotations say.

use super::{Pod, Port, ServicePort};
use crate::check::fact::Fact;
use crate::check::model::{Asks, BalancerKind, DEREGISTRATION, GroupAttributes, Probe, TargetGroup};
use crate::check::source::Place;
use std::time::Duration;

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
    pub(super) fn or(self, ingress: &Self) -> Self {
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
    pub(super) fn group(self, name: &str, kind: BalancerKind, pod: &Pod, traffic: Option<&ServicePort>) -> TargetGroup {
        let (at, place) = (Some(self.place), self.place);
        let defaults = if kind == BalancerKind::Application { ALB } else { NLB };
        let by_address = self.by_address.unwrap_or_else(|| Fact::default_of(CONTROLLER, "target-type: ip", false, at));
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
                let derived =
                    |port: &Port| Fact::derived("the port of the traffic", "healthcheck-port", port.number, place);
                number.map_or_else(unknown, derived)
            }
        };
        let http = self
            .protocol
            .as_ref()
            .and_then(|protocol| protocol.known())
            .map_or(defaults.http, |protocol| protocol.to_ascii_uppercase().starts_with("HTTP"));
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
            deregistration: deregistration
                .unwrap_or_else(|| Fact::default_of("ELB", "deregistration_delay.timeout_seconds", DEREGISTRATION, at)),
            cuts_unhealthy: cuts.unwrap_or_else(|| {
                Fact::default_of("ELB", "target_health_state.unhealthy.connection_termination.enabled", true, at)
            }),
            balancers: Vec::new(),
        }
    }
}
