//! What a rule looks at: one container with everything around it.

use super::fact::{Fact, Origin};
use super::flow::Flow;
use super::launch::Settings;
use super::model::{By, Container, Model, Platform, TargetGroup, Workload};
use super::rules::Needs;
use super::settings::Given;
use std::time::Duration;

/// One container of a workload.
pub struct Case<'a> {
    /// Everything.
    pub model: &'a Model,
    /// What is started and stopped together.
    pub workload: &'a Workload,
    /// The container whose stop is looked at.
    pub container: &'a Container,
    /// Who tells the balancer, and when.
    pub flow: &'a Fact<Flow>,
    /// What nobody wrote down.
    pub given: &'a Given,
}

/// What a stop is given to spare unless `--set buffer` says otherwise.
const BUFFER: Duration = Duration::from_secs(5);

/// The containers of a workload whose stop is looked at: those that run lameduck. When none does: those
/// that requests come to, else all that the others cannot do without.
#[must_use]
pub fn subjects(workload: &Workload) -> Vec<&Container> {
    let with = |is: &dyn Fn(&Container) -> bool| workload.containers.iter().filter(|c| is(c)).collect::<Vec<_>>();
    let own = with(&|container| container.launch.lameduck().is_some());
    if !own.is_empty() {
        return own;
    }
    let named =
        |container: &Container| workload.routes.iter().any(|route| route.container.as_ref() == Some(&container.name));
    let reached = with(&named);
    if reached.is_empty() { with(&|container| !container.sidecar && !container.essential.is(&false)) } else { reached }
}

// === impl Case ===

impl<'a> Case<'a> {
    /// The platform.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.workload.platform
    }

    /// lameduck's settings, when it is known to be there.
    #[must_use]
    pub fn lameduck(&self) -> Option<&'a Settings> {
        self.container.launch.lameduck()
    }

    /// D. Without lameduck nothing delays.
    #[must_use]
    pub fn delay(&self) -> Fact<Duration> {
        self.setting("LAMEDUCK_DELAY", "nothing delays the stop", Ok(Duration::ZERO), |settings| settings.delay.clone())
    }

    /// G; `None` = without a limit.
    #[must_use]
    pub fn drain(&self) -> Fact<Option<Duration>> {
        let without = Err(format!("how long the drain of {} may take: nothing bounds it", self.container.name));
        self.setting("LAMEDUCK_DRAIN_TIMEOUT", "nothing bounds the drain", without, |settings| settings.drain.clone())
    }

    /// G where a drain without a limit counts as not known.
    #[must_use]
    pub fn bounded_drain(&self) -> Fact<Duration> {
        let drain = self.drain();
        let bounded = drain.value.and_then(|drain| {
            drain.ok_or_else(|| format!("how long the drain of {} may take: it has no limit", self.container.name))
        });
        Fact { name: drain.name, value: bounded, place: drain.place, origin: drain.origin }
    }

    /// B.
    #[must_use]
    pub fn buffer(&self) -> Fact<Duration> {
        let given = self.given.time("buffer");
        if given.value.is_ok() { given } else { Fact::default_of("the check", "buffer", BUFFER, None) }
    }

    /// The target groups that send requests here.
    ///
    /// # Errors
    /// Those that are in no file.
    pub fn groups(&self) -> Result<Vec<&'a TargetGroup>, Needs> {
        let by_group = self.workload.routes.iter().filter_map(|route| match &route.by {
            By::Group(group) => Some(group),
            _ => None,
        });
        let found: Result<Vec<_>, String> =
            by_group.map(|group| group.as_ref().copied().map_err(Clone::clone)).collect();
        Ok(found.map_err(Needs::one)?.into_iter().filter_map(|at| self.model.groups.get(at)).collect())
    }

    /// Whether the flow is that; not known = what would tell.
    ///
    /// # Errors
    /// The flow is not known.
    pub fn flows(&self, flow: Flow) -> Result<bool, Needs> {
        match &self.flow.value {
            Ok(known) => Ok(*known == flow),
            Err(why) => Err(Needs::one(why.clone())),
        }
    }

    /// Whether lameduck says anything outside when it stops: a port or a file.
    #[must_use]
    pub fn flips(&self) -> bool {
        self.lameduck().is_some_and(|settings| {
            !settings.unready.is(&"never".to_owned())
                && (settings.health_port.is_some() || settings.ready_file.is_some() || settings.drain_file.is_some())
        })
    }

    fn setting<T>(
        &self,
        name: &str,
        without: &'static str,
        value: Result<T, String>,
        read: impl FnOnce(&Settings) -> Fact<T>,
    ) -> Fact<T> {
        let launch = &self.container.launch;
        match &launch.lameduck {
            Ok(Some(settings)) => read(settings),
            Ok(None) => {
                let origin = Origin::Derived(without.to_owned());
                Fact { name: name.to_owned(), value, place: launch.place(), origin }
            }
            Err(why) => Fact::unknown(name, why.clone(), Some(self.container.place)),
        }
    }
}
