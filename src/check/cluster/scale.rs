//! How many pods there are while they are replaced: the limits of a rollout, and who sets the number.

use crate::check::fact::{Fact, Origin};

/// So many of the pods: `25%` or `1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Of a hundred.
    Percent(u64),
    /// Of all.
    Count(u64),
}

/// The limits of a rollout as they are written.
#[derive(Clone, Debug)]
pub struct Limits {
    /// So many may be missing.
    pub unavailable: Fact<Share>,
    /// So many may be there in addition.
    pub surge: Fact<Share>,
}

/// What sets the number of pods in place of `replicas`.
#[derive(Debug)]
pub struct Autoscaler {
    /// What it scales: `deployment/web`.
    pub target: String,
    /// Its namespace, if that is written.
    pub namespace: Option<String>,
    /// The least it sets.
    pub least: Fact<u64>,
}

// === impl Limits ===

impl Limits {
    /// So many percent of the pods are there all the time.
    #[must_use]
    pub fn least(&self, replicas: &Fact<u64>) -> Fact<u64> {
        percent("available %", &self.unavailable, replicas, u64::saturating_sub)
    }

    /// So many percent may be there at once.
    #[must_use]
    pub fn most(&self, replicas: &Fact<u64>) -> Fact<u64> {
        percent("running %", &self.surge, replicas, u64::saturating_add)
    }
}

/// A limit as a percentage of all: `with` says how it counts, below them or on top.
fn percent(name: &str, limit: &Fact<Share>, replicas: &Fact<u64>, with: impl Fn(u64, u64) -> u64) -> Fact<u64> {
    let value = limit.value.clone().and_then(|share| match share {
        Share::Percent(percent) => Ok(with(100, percent)),
        Share::Count(0) => Ok(100),
        Share::Count(count) => {
            let all = replicas.value.clone()?;
            // Rounded up: one of a thousand is more than none.
            Ok(with(all, count).saturating_mul(100).div_ceil(all.max(1)))
        }
    });
    let shown = match limit.known() {
        Some(Share::Percent(percent)) => format!("{} {percent}%", limit.name),
        Some(Share::Count(count)) => format!("{} {count}", limit.name),
        None => limit.name.clone(),
    };
    let whose = if limit.is_written() { "" } else { ", the default of Kubernetes" };
    Fact { name: name.to_owned(), value, place: limit.place, origin: Origin::Derived(format!("{shown}{whose}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_become_percentages_of_all() {
        let least = |share, all| {
            let (limit, replicas) = (Fact::set("maxUnavailable", share), Fact::set("replicas", all));
            percent("least", &limit, &replicas, u64::saturating_sub).value
        };
        assert_eq!(least(Share::Percent(25), 4), Ok(75));
        assert_eq!(least(Share::Percent(100), 4), Ok(0));
        assert_eq!(least(Share::Count(1), 1), Ok(0));
        assert_eq!(least(Share::Count(1), 3), Ok(67));
        assert_eq!(least(Share::Count(999), 1000), Ok(1), "one is left");
        assert_eq!(least(Share::Count(5), 3), Ok(0));
        assert_eq!(least(Share::Count(0), 0), Ok(100));
    }
}
