//! What a deployment is, whatever the platform calls it: the facts that the rules are written against.
//!
//! Loaders fill [`Model`] with what stands in their file and nothing else. Then [`super::link`] joins what
//! belongs together, [`super::launch`] finds out what each container runs, and [`super::flow`] who tells
//! the balancer. Rules see the result through [`super::case::Case`].

use super::cluster::Cluster;
use super::compose::Service as ComposeService;
use super::fact::{Fact, Origin};
use super::image::{Build, Image};
use super::launch::Launch;
use super::source::Place;
use crate::core::Signal;
use std::time::Duration;

/// Everything that was found in all files.
#[derive(Debug, Default)]
pub struct Model {
    /// What runs.
    pub workloads: Vec<Workload>,
    /// Who starts and stops it, where that stands in a file of its own (ECS).
    pub services: Vec<Service>,
    /// Where balancers send requests.
    pub groups: Vec<TargetGroup>,
    /// Attributes of a target group that do not say of which.
    pub group_attributes: Vec<GroupAttributes>,
    /// Attributes of a balancer.
    pub balancers: Vec<Balancer>,
    /// Names that clients look up.
    pub discoveries: Vec<Discovery>,
    /// What a cluster of Kubernetes joins by labels and names, until it is linked.
    pub cluster: Cluster,
    /// What containers run unless they say otherwise.
    pub images: Vec<Image>,
    /// Services of Compose as each file has them, before files are laid over each other.
    pub compose: Vec<ComposeService>,
}

/// The platform that stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Platform {
    /// ECS on Fargate.
    Fargate,
    /// ECS on machines of one's own.
    EcsEc2,
    /// Kubernetes.
    Kubernetes,
    /// Docker Compose.
    Compose,
    /// An image, run by whatever.
    Docker,
}

/// Containers that are started and stopped together: a task definition, a pod, a Compose service.
#[derive(Debug)]
pub struct Workload {
    /// The platform.
    pub platform: Platform,
    /// Its name for people.
    pub name: String,
    /// The names by which others refer to it.
    pub references: Vec<String>,
    /// Where it begins.
    pub place: Place,
    /// What runs in it.
    pub containers: Vec<Container>,
    /// Whether the containers share one PID namespace with each other or with the host.
    pub shared_pids: Fact<bool>,
    /// Whether the platform may take the machine away, with short notice.
    pub spot: Fact<bool>,
    /// How it is replaced; `None` = not said in any file.
    pub rollout: Option<Rollout>,
    /// How requests reach it.
    pub routes: Vec<Route>,
    /// The proxies of a mesh that are put beside the containers.
    pub mesh: Vec<MeshProxy>,
}

/// The name of the stop signal as long as it is that of the image.
pub const STOPSIGNAL: &str = "STOPSIGNAL";

/// One container.
#[derive(Clone, Debug)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The image.
    pub image: Option<Fact<String>>,
    /// The image that its own is built from.
    pub base: Option<Fact<String>>,
    /// What the image is built from, where that is said beside it (Compose).
    pub build: Option<Build>,
    /// `ENTRYPOINT`; `None` = the image's.
    pub entrypoint: Option<Words>,
    /// `CMD`; `None` = the image's, when the entrypoint is.
    pub command: Option<Words>,
    /// The environment, that of the image first.
    pub environment: Vec<Variable>,
    /// What the platform waits between its stop signal and SIGKILL (K).
    pub grace: Fact<Duration>,
    /// What the platform does before its stop signal, inside of the grace (P); unknown when it takes as
    /// long as it takes.
    pub pre_stop: Fact<Duration>,
    /// The program that the pre-stop hook runs in the container, if any.
    pub pre_stop_program: Option<Fact<String>>,
    /// The signal that the platform sends; unknown = the image's.
    pub stop_signal: Fact<Signal>,
    /// Whether the platform puts an init of its own in front.
    pub init: Fact<bool>,
    /// Whether the others end when it does.
    pub essential: Fact<bool>,
    /// Whether the platform stops it only after all the others (a native sidecar).
    pub sidecar: bool,
    /// The containers that start before it, and so stop after it.
    pub depends_on: Vec<Fact<String>>,
    /// The platform's check that kills or replaces it.
    pub liveness: Option<Probe>,
    /// What the platform waits instead of the grace when it is the liveness check that failed.
    pub grace_unhealthy: Option<Fact<Duration>>,
    /// Whether the `HEALTHCHECK` of the image counts here when nothing else is said.
    pub image_check: bool,
    /// The platform's check that takes it out of the balancers.
    pub readiness: Option<Probe>,
    /// The ports it offers.
    pub ports: Vec<Fact<u64>>,
    /// The policy under which the platform starts it again, when it does so after any end.
    pub restart: Option<Fact<String>>,
    /// What it runs; found out after everything is linked.
    pub launch: Launch,
}

/// The words of a command, each where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The words; unknown when one of them is.
    pub words: Result<Vec<Word>, String>,
    /// Where they stand.
    pub place: Place,
}

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, or why that is not known.
    pub value: Result<String, String>,
    /// Where it stands.
    pub place: Place,
    /// Who says the value.
    pub origin: Origin,
}

/// A check of a container or target.
#[derive(Clone, Debug)]
pub struct Probe {
    /// What it is called where it stands: `livenessProbe`, `healthCheck`.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// The time from one to the next (I).
    pub interval: Fact<Duration>,
    /// The time for an answer (T).
    pub timeout: Fact<Duration>,
    /// So many failures in a row count (U).
    pub failures: Fact<u64>,
    /// What is asked.
    pub asks: Asks,
}

/// What a check asks.
#[derive(Clone, Debug)]
pub enum Asks {
    /// `GET` of a path at a port.
    Http {
        /// The path.
        path: Fact<String>,
        /// The port; unknown when it is that of the traffic or has a name.
        port: Fact<u64>,
    },
    /// A connection to a port.
    Connect(Fact<u64>),
    /// A command, as one text.
    Command(Fact<String>),
}

/// How a workload is replaced.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// How many run (desired).
    pub replicas: Fact<u64>,
    /// So many of them, in percent, have to be there all the time.
    pub least_percent: Fact<u64>,
    /// So many, in percent, may be there at once; more than 100 = new before old.
    pub most_percent: Fact<u64>,
    /// The old ones all end before the first new one starts.
    pub recreate: Option<Fact<String>>,
    /// The time in which a rollout has to get on.
    pub deadline: Option<Fact<Duration>>,
    /// How long a new one has to be ready to count.
    pub settle: Option<Fact<Duration>>,
    /// How long the platform overlooks failing checks after a start.
    pub check_grace: Option<Fact<Duration>>,
}

/// One way by which requests reach a workload.
#[derive(Clone, Debug)]
pub struct Route {
    /// Which.
    pub by: By,
    /// Where that is said.
    pub place: Option<Place>,
    /// The container that is meant; `None` = any.
    pub container: Option<String>,
    /// The container's port.
    pub port: Option<Fact<u64>>,
}

/// What brings requests.
#[derive(Clone, Debug)]
pub enum By {
    /// A balancer, through the target group of this number in [`Model::groups`], or one that is in no file.
    Group(Result<usize, String>),
    /// Service Connect.
    ServiceConnect(Fact<bool>),
    /// Names, through the discovery of this number, or one that is in no file.
    Dns(Result<usize, String>),
    /// A Service of Kubernetes.
    KubernetesService(KubernetesService),
}

/// How a Service of Kubernetes sends requests.
#[derive(Clone, Debug)]
pub struct KubernetesService {
    /// Whether it keeps requests on the node they come to.
    pub local: Fact<bool>,
    /// Whether it goes on sending to a pod that is not ready, and so to one that is being stopped.
    pub always: Fact<bool>,
    /// Whether it is only a name, and no proxy stands in between.
    pub headless: bool,
}

/// A target group, or what stands for one.
#[derive(Debug)]
pub struct TargetGroup {
    /// Its name for people.
    pub name: String,
    /// The names by which others refer to it.
    pub references: Vec<String>,
    /// Where it begins.
    pub place: Place,
    /// Which kind of balancer uses it.
    pub balancer: Fact<BalancerKind>,
    /// Its health check (I, T, U and what it asks).
    pub check: Probe,
    /// So many good answers in a row make a target healthy.
    pub successes: Fact<u64>,
    /// The statuses that count as good, as written: `200`, `200-299,301`.
    pub matcher: Fact<String>,
    /// Whether targets are addresses of tasks or pods rather than machines.
    pub by_address: Fact<bool>,
    /// How long a target that was taken out may answer what is in flight (R).
    pub deregistration: Fact<Duration>,
    /// Whether connections to an unhealthy target are cut at once.
    pub cuts_unhealthy: Fact<bool>,
    /// The balancers it belongs to, by reference.
    pub balancers: Vec<String>,
}

/// What kind of balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancerKind {
    /// Requests (ALB).
    Application,
    /// Connections (NLB).
    Network,
}

/// Attributes that `describe-target-group-attributes` gave.
#[derive(Clone, Debug)]
pub struct GroupAttributes {
    /// Where they begin.
    pub place: Place,
    /// R.
    pub deregistration: Option<Fact<Duration>>,
    /// As in [`TargetGroup`].
    pub cuts_unhealthy: Option<Fact<bool>>,
}

/// A balancer.
#[derive(Debug)]
pub struct Balancer {
    /// Where its attributes begin.
    pub place: Place,
    /// How long it keeps a silent connection to a server (A).
    pub idle: Fact<Duration>,
}

/// A name that clients look up.
#[derive(Debug)]
pub struct Discovery {
    /// Its name for people.
    pub name: String,
    /// The names by which others refer to it.
    pub references: Vec<String>,
    /// How long clients may keep an answer.
    pub ttl: Fact<Duration>,
}

/// An ECS service: who starts and stops a task definition.
#[derive(Debug)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The task definition it names: an ARN, `family:revision` or `family`.
    pub workload: Option<Fact<String>>,
    /// How it replaces tasks.
    pub rollout: Rollout,
    /// What brings requests; groups and discoveries by reference, still to be linked.
    pub targets: Vec<(Fact<String>, Route)>,
    /// Whether it runs on Fargate, when it says so.
    pub fargate: Option<Fact<bool>>,
    /// Whether it runs on Spot.
    pub spot: Fact<bool>,
}

/// The proxy of a mesh beside the containers of a pod.
#[derive(Debug)]
pub struct MeshProxy {
    /// The mesh.
    pub mesh: &'static str,
    /// What its container is called, where the pod writes down a part of it.
    pub container: &'static str,
    /// How long the proxy goes on after the stop signal.
    pub serves_on: Fact<Duration>,
    /// Whether it waits for connections to end by itself.
    pub waits: Fact<bool>,
}

// === impl Platform ===

impl Platform {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fargate => "Fargate",
            Self::EcsEc2 => "ECS on EC2",
            Self::Kubernetes => "Kubernetes",
            Self::Compose => "Compose",
            Self::Docker => "Docker",
        }
    }

    /// Whether it is ECS.
    #[must_use]
    pub const fn is_ecs(self) -> bool {
        matches!(self, Self::Fargate | Self::EcsEc2)
    }

    /// The field that says how long the platform waits before it kills.
    #[must_use]
    pub const fn grace_field(self) -> &'static str {
        match self {
            Self::Fargate | Self::EcsEc2 => "stopTimeout",
            Self::Kubernetes => "terminationGracePeriodSeconds",
            Self::Compose => "stop_grace_period",
            Self::Docker => "docker stop --time",
        }
    }
}

// === impl GroupAttributes ===

/// What ELB lets a deregistered target go on when nobody set it.
pub const DEREGISTRATION: Duration = Duration::from_secs(300);

impl GroupAttributes {
    /// Writes them to the group they are of, with what ELB takes for those that are not there.
    pub fn apply(self, group: &mut TargetGroup) {
        let place = Some(self.place);
        group.deregistration = self
            .deregistration
            .unwrap_or_else(|| Fact::default_of("ELB", group.deregistration.name.clone(), DEREGISTRATION, place));
        group.cuts_unhealthy = self
            .cuts_unhealthy
            .unwrap_or_else(|| Fact::default_of("ELB", group.cuts_unhealthy.name.clone(), true, place));
    }
}

// === impl BalancerKind ===

impl super::fact::Shown for BalancerKind {
    fn shown(&self) -> String {
        match self {
            Self::Application => "ALB".to_owned(),
            Self::Network => "NLB".to_owned(),
        }
    }
}

// === impl Container ===

impl Container {
    /// A container of which nothing is known yet but where it stands; loaders fill in what they find.
    #[must_use]
    pub fn new(platform: Platform, name: String, place: Place) -> Self {
        let whose = platform.name();
        let at = Some(place);
        Self {
            place,
            image: None,
            base: None,
            build: None,
            entrypoint: None,
            command: None,
            environment: Vec::new(),
            grace: Fact::unknown(platform.grace_field(), "how long the platform waits is in no file", at),
            pre_stop: Fact::default_of(whose, "preStop", Duration::ZERO, at),
            pre_stop_program: None,
            stop_signal: Fact::unknown(STOPSIGNAL, format!("the STOPSIGNAL of the image of {name}"), at),
            init: Fact::default_of(whose, "init", false, at),
            essential: Fact::default_of(whose, "essential", true, at),
            sidecar: false,
            depends_on: Vec::new(),
            liveness: None,
            grace_unhealthy: None,
            image_check: matches!(platform, Platform::Compose | Platform::Docker),
            readiness: None,
            ports: Vec::new(),
            restart: None,
            launch: Launch::default(),
            name,
        }
    }
}
