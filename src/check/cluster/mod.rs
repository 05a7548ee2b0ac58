//! What a cluster of Kubernetes joins by labels and names: a Service to the pods that it selects, an Ingress
//! to its Services, a `ConfigMap` to the containers that take their environment from it.
//!
//! Loaders fill [`Cluster`]; [`link()`] turns it into the routes and target groups of the model, for what a
//! Service selects is only known when all files are read.

mod group;
mod join;
mod scale;

pub use group::Annotated;
pub use join::link;
pub use scale::{Autoscaler, Limits, Share};

use super::model::{KubernetesService, MeshProxy};
use super::source::Place;

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
    /// Its namespaces.
    pub namespaces: Vec<Namespace>,
    /// What sets the number of pods.
    pub autoscalers: Vec<Autoscaler>,
}

/// Keys and values.
pub type Labels = Vec<(String, String)>;

/// A pod, as far as a Service looks at it.
#[derive(Debug)]
pub struct Pod {
    /// Which of the workloads of the model it is.
    pub workload: usize,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// Its labels.
    pub labels: Labels,
    /// The ports of its containers.
    pub ports: Vec<Port>,
    /// What the environments of its containers take from elsewhere.
    pub borrowed: Vec<Borrowed>,
    /// The limits of their rollout.
    pub limits: Option<Limits>,
    /// The proxies that it has if its namespace asks for them.
    pub injectable: Vec<MeshProxy>,
}

/// A namespace.
#[derive(Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// The proxies that it wants in its pods.
    pub proxies: Vec<MeshProxy>,
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
