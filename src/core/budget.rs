//! The sum that must fit into the platform's own limit: how long a stop can take at the most.

use super::Policy;
use super::duration::Written;
use super::policy::KILLING;
use std::fmt;
use std::time::Duration;

/// The parts of the longest possible stop, in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Name and length of each part that is not nothing; `None` = without a limit.
    pub parts: Vec<(&'static str, Option<Duration>)>,
}

impl Budget {
    /// The budget of a policy.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let parts = [
            ("on-stop hook", policy.on_stop),
            ("delay", Some(policy.delay)),
            ("drain", policy.drain.filter(|d| !d.is_zero())),
            ("linger", Some(policy.linger_after_stop())),
            ("on-exit hook", policy.on_exit),
            ("kill", Some(KILLING)),
        ];
        let unlimited_drain = policy.drain.is_none();
        Self {
            parts: parts
                .into_iter()
                .filter(|(name, length)| match length {
                    Some(length) => !length.is_zero(),
                    None => *name == "drain" && unlimited_drain,
                })
                .collect(),
        }
    }

    /// The longest a stop can take; `None` when the drain has no limit.
    #[must_use]
    pub fn total(&self) -> Option<Duration> {
        self.parts.iter().map(|(_, length)| *length).sum()
    }

    /// All parts but the drain: what a drain time-out derived from the platform's limit must leave.
    #[must_use]
    pub fn without_drain(&self) -> Duration {
        self.parts.iter().filter(|(name, _)| *name != "drain").filter_map(|(_, length)| *length).sum()
    }
}

impl fmt::Display for Budget {
    /// `delay 15s + drain 30s + linger 5s + kill 2s = 52s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, length)) in self.parts.iter().enumerate() {
            let plus = if at == 0 { "" } else { " + " };
            match length {
                Some(length) => write!(f, "{plus}{name} {}", Written(*length))?,
                None => write!(f, "{plus}{name} without limit")?,
            }
        }
        match self.total() {
            Some(total) => write!(f, " = {}", Written(total)),
            None => f.write_str(" = without limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_written_out() {
        let policy = Policy { delay: Duration::from_secs(15), ..Policy::default() };
        let budget = Budget::of(&policy);
        assert_eq!(budget.to_string(), "delay 15s + drain 30s + linger 5s + kill 2s = 52s");
        assert_eq!(budget.total(), Some(Duration::from_secs(52)));
        assert_eq!(budget.without_drain(), Duration::from_secs(22));
    }

    #[test]
    fn a_drain_without_limit_makes_the_sum_one_without() {
        let budget = Budget::of(&Policy { drain: None, ..Policy::default() });
        assert_eq!(budget.total(), None);
        assert_eq!(budget.to_string(), "drain without limit + linger 5s + kill 2s = without limit");
        assert_eq!(budget.without_drain(), Duration::from_secs(7));
    }

    #[test]
    fn hooks_count() {
        let hook = Some(Duration::from_secs(5));
        let policy = Policy { on_stop: hook, on_exit: hook, drain: Some(Duration::ZERO), ..Policy::default() };
        assert_eq!(Budget::of(&policy).to_string(), "on-stop hook 5s + linger 5s + on-exit hook 5s + kill 2s = 17s");
    }
}
