//! Who tells the balancer, and when: the question that decides which numbers have to fit together.

use super::fact::{Fact, Shown};
use super::model::{By, Platform, Workload};

/// How a balancer learns that a server is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// From its own health checks, and from nothing else.
    HealthChecks,
    /// It is told at the same moment as the server.
    Concurrent,
    /// It is told first, and the server only when the balancer is done.
    Sequential,
}

// === impl Flow ===

impl Flow {
    /// Its word on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::HealthChecks => "hc",
            Self::Concurrent => "concurrent",
            Self::Sequential => "sequential",
        }
    }

    /// Reads the word of the command line.
    ///
    /// # Errors
    /// Which words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let all = [Self::HealthChecks, Self::Concurrent, Self::Sequential];
        all.into_iter()
            .find(|flow| flow.word() == text)
            .ok_or_else(|| format!("--flow {text}: write hc, concurrent or sequential"))
    }
}

impl Shown for Flow {
    fn shown(&self) -> String {
        self.word().to_owned()
    }
}

/// The flow of a workload. It counts as derived, with the reason as its origin, unless it was given.
#[must_use]
pub fn of(workload: &Workload, given: Option<Flow>) -> Fact<Flow> {
    if let Some(flow) = given {
        return Fact { name: "flow".to_owned(), ..Fact::set("--flow", flow) };
    }
    let because = |flow, why: &str, place| Fact::derived(why, "flow", flow, place);
    let group = workload.routes.iter().find(|route| matches!(route.by, By::Group(_)));
    let elsewhere = workload.routes.iter().find(|route| matches!(route.by, By::ServiceConnect(_) | By::Dns(_)));
    match workload.platform {
        Platform::Kubernetes => because(
            Flow::Concurrent,
            "Kubernetes tells the balancers and the pod at the same moment",
            Some(workload.place),
        ),
        Platform::Fargate | Platform::EcsEc2 => match (group, elsewhere) {
            (Some(route), _) if workload.spot.is(&true) => because(
                Flow::HealthChecks,
                "on Fargate Spot the target may stay registered until the task is gone",
                workload.spot.place.or(route.place),
            ),
            (Some(route), _) => because(
                Flow::Sequential,
                "the ECS scheduler takes the target out of its group and waits for it to be unused before it stops the task",
                route.place,
            ),
            (None, Some(route)) => {
                because(Flow::Concurrent, "the other tasks learn of it while the task is being stopped", route.place)
            }
            (None, None) => Fact::unknown(
                "flow",
                format!(
                    "who tells the balancer of {}: give its service (`aws ecs describe-services`), or --flow",
                    workload.name
                ),
                Some(workload.place),
            ),
        },
        Platform::Compose | Platform::Docker => match group {
            Some(route) => {
                because(Flow::HealthChecks, "nothing tells the balancer but its own health checks", route.place)
            }
            None => Fact::unknown(
                "flow",
                format!("who tells the balancer of {}: --flow", workload.name),
                Some(workload.place),
            ),
        },
    }
}
