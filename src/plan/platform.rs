//! Where a server runs and by which ways requests reach it: the words of the command line, and what is
//! known of each.

use crate::check::flow::Flow;
use crate::check::model;
use std::time::Duration;

/// What stops the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// ECS on Fargate.
    EcsFargate,
    /// ECS on machines of one's own.
    EcsEc2,
    /// Kubernetes.
    Kubernetes,
    /// Docker Compose.
    Compose,
    /// `docker run` and `docker stop`.
    Docker,
    /// Nomad.
    Nomad,
}

/// What brings requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// An Application Load Balancer.
    Alb,
    /// A Network Load Balancer.
    Nlb,
    /// ECS Service Connect.
    ServiceConnect,
    /// Names in Cloud Map.
    CloudMap,
    /// A Service of Kubernetes.
    KubeProxy,
    /// `HAProxy`, or another balancer with health checks of its own.
    Haproxy,
}

/// A balancer's health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// From one to the next (I).
    pub interval: Duration,
    /// The time for an answer (T).
    pub timeout: Duration,
    /// So many failures in a row count (U).
    pub unhealthy: u64,
    /// So many good answers in a row count.
    pub healthy: u64,
}

/// A check that is quick on both sides: 5 s is the shortest interval of ELB, 2 the least threshold, and an
/// answer of lameduck takes milliseconds.
pub const QUICK: HealthCheck =
    HealthCheck { interval: Duration::from_secs(5), timeout: Duration::from_secs(3), unhealthy: 2, healthy: 2 };

const PLATFORMS: [Platform; 6] = [
    Platform::EcsFargate,
    Platform::EcsEc2,
    Platform::Kubernetes,
    Platform::Compose,
    Platform::Docker,
    Platform::Nomad,
];

const WAYS: [Way; 6] = [Way::Alb, Way::Nlb, Way::ServiceConnect, Way::CloudMap, Way::KubeProxy, Way::Haproxy];

// === impl Platform ===

impl Platform {
    /// Its word on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::EcsFargate => "ecs-fargate",
            Self::EcsEc2 => "ecs-ec2",
            Self::Kubernetes => "kubernetes",
            Self::Compose => "compose",
            Self::Docker => "docker",
            Self::Nomad => "nomad",
        }
    }

    /// Its name in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EcsFargate => "Fargate",
            Self::EcsEc2 => "ECS on EC2",
            Self::Kubernetes => "Kubernetes",
            Self::Compose => "Compose",
            Self::Docker => "Docker",
            Self::Nomad => "Nomad",
        }
    }

    /// Reads the word of the command line.
    ///
    /// # Errors
    /// Which words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = PLATFORMS.map(Self::word).join(", ");
        PLATFORMS
            .into_iter()
            .find(|platform| platform.word() == text)
            .ok_or_else(|| format!("--platform {text}: write one of {words}"))
    }

    /// Whether it is ECS.
    #[must_use]
    pub const fn is_ecs(self) -> bool {
        matches!(self, Self::EcsFargate | Self::EcsEc2)
    }

    /// The field for the grace period, and what holds when it is left out.
    #[must_use]
    pub const fn grace(self) -> (&'static str, &'static str) {
        match self {
            Self::EcsFargate => ("stopTimeout", "30 by default, 120 at the most"),
            Self::EcsEc2 => ("stopTimeout", "30 by default"),
            Self::Kubernetes => ("terminationGracePeriodSeconds", "30 by default"),
            Self::Compose => ("stop_grace_period", "10 s by default"),
            Self::Docker => ("--stop-timeout", "10 by default"),
            Self::Nomad => ("kill_timeout", "5 s by default; the client caps it at max_kill_timeout, 30 s by default"),
        }
    }

    /// What a deploy replaces one by one.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::EcsFargate | Self::EcsEc2 | Self::Nomad => "task",
            Self::Kubernetes => "pod",
            Self::Compose | Self::Docker => "container",
        }
    }

    /// The longest grace period it takes.
    #[must_use]
    pub const fn cap(self) -> Option<Duration> {
        match self {
            Self::EcsFargate => Some(Duration::from_secs(120)),
            _ => None,
        }
    }
}

impl From<model::Platform> for Platform {
    fn from(platform: model::Platform) -> Self {
        match platform {
            model::Platform::Fargate => Self::EcsFargate,
            model::Platform::EcsEc2 => Self::EcsEc2,
            model::Platform::Kubernetes => Self::Kubernetes,
            model::Platform::Compose => Self::Compose,
            model::Platform::Docker => Self::Docker,
        }
    }
}

// === impl Way ===

impl Way {
    /// Its word on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Alb => "alb",
            Self::Nlb => "nlb",
            Self::ServiceConnect => "service-connect",
            Self::CloudMap => "cloud-map",
            Self::KubeProxy => "kube-proxy",
            Self::Haproxy => "haproxy",
        }
    }

    /// Its name in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alb => "an ALB",
            Self::Nlb => "an NLB",
            Self::ServiceConnect => "Service Connect",
            Self::CloudMap => "Cloud Map",
            Self::KubeProxy => "kube-proxy",
            Self::Haproxy => "HAProxy",
        }
    }

    /// Reads the word of the command line.
    ///
    /// # Errors
    /// Which words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = WAYS.map(Self::word).join(", ");
        WAYS.into_iter().find(|way| way.word() == text).ok_or_else(|| format!("--lb {text}: write one of {words}"))
    }

    /// Whether it has health checks of its own.
    #[must_use]
    pub const fn checks(self) -> bool {
        matches!(self, Self::Alb | Self::Nlb | Self::Haproxy)
    }

    /// Whether it has target groups, with a deregistration delay.
    #[must_use]
    pub const fn has_groups(self) -> bool {
        matches!(self, Self::Alb | Self::Nlb)
    }
}

// === impl HealthCheck ===

impl HealthCheck {
    /// The longest it takes until a server that says no gets no more requests: I×U + T.
    #[must_use]
    pub fn detect(self) -> Duration {
        self.interval * u32::try_from(self.unhealthy).unwrap_or(u32::MAX) + self.timeout
    }
}

/// Who tells the balancer, and why it is so, where no file says more.
#[must_use]
pub fn flow(platform: Option<Platform>, ways: &[Way], spot: bool) -> (Flow, &'static str) {
    let grouped = ways.iter().any(|way| way.has_groups());
    let checked = ways.iter().any(|way| way.checks());
    match platform {
        Some(Platform::Kubernetes) => {
            (Flow::Concurrent, "Kubernetes tells the balancers and the pod at the same moment")
        }
        Some(platform) if platform.is_ecs() && grouped && spot => {
            (Flow::HealthChecks, "on Fargate Spot the target may stay registered until the task is gone")
        }
        Some(platform) if platform.is_ecs() && grouped => (
            Flow::Sequential,
            "the ECS scheduler takes the target out of its group and waits for it to be unused before it stops the task",
        ),
        _ if checked => (Flow::HealthChecks, "nothing tells the balancer but its own health checks"),
        _ => (Flow::Concurrent, "the clients learn of it while the server is being stopped"),
    }
}
