//! What a plan starts from: what the files say of one workload, and what the flags say instead.

use super::Flags;
use super::platform::{self, HealthCheck, Platform, QUICK, Way};
use super::seen::Seen;
use crate::check::Deployment;
use crate::check::case::{self, Case};
use crate::check::fact::{Cited, Fact, Shown};
use crate::check::flow::{self, Flow};
use crate::check::model::{BalancerKind, By, Model, Rollout, TargetGroup, Workload};
use crate::check::settings::Given;
use std::time::Duration;

/// Everything that is known before the numbers.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is planned for.
    pub name: String,
    /// The container that runs lameduck, and its image, where the files say so.
    pub container: Option<(String, Option<String>)>,
    /// Where it runs; `None` = not said.
    pub platform: Option<Platform>,
    /// What brings requests.
    pub ways: Vec<Way>,
    /// Who tells the balancer, and why it is taken to be so.
    pub flow: (Flow, String),
    /// Whether the platform may take the machine away.
    pub spot: bool,
    /// The balancer's health check, as it is to be.
    pub check: HealthCheck,
    /// Whether that is what somebody wrote: then it is kept.
    pub check_written: bool,
    /// Whether an NLB sends to addresses of tasks or pods.
    pub by_address: bool,
    /// How long clients may keep an address, and who says so.
    pub ttl: (Duration, String),
    /// The longest usual request.
    pub p99: Option<Duration>,
    /// What the program does after its last request.
    pub hook: Duration,
    /// What a stop is given to spare (B).
    pub buffer: Duration,
    /// What a pre-stop hook takes now.
    pub pre_stop: Duration,
    /// The drain timeout as it is now, when somebody wrote it.
    pub drain_now: Option<Duration>,
    /// What the numbers are now.
    pub now: Now,
    /// How many there are, how many are replaced at once.
    pub batches: Option<u64>,
    /// What was seen in real stops.
    pub seen: Option<Seen>,
}

/// The numbers as they are written now.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// D.
    pub delay: Option<Cited>,
    /// G.
    pub drain: Option<Cited>,
    /// K.
    pub grace: Option<Cited>,
    /// R.
    pub deregistration: Option<Cited>,
    /// I.
    pub interval: Option<Cited>,
    /// T.
    pub timeout: Option<Cited>,
    /// U.
    pub unhealthy: Option<Cited>,
    /// The healthy threshold.
    pub healthy: Option<Cited>,
}

/// How long clients keep an address when nothing says so: the TTL that the ECS console proposes.
const TTL: Duration = Duration::from_secs(60);

/// What a stop is given to spare unless `--set buffer` says otherwise, as in the check.
const BUFFER: Duration = Duration::from_secs(5);

/// Without files: from the flags alone.
///
/// # Errors
/// What has to be said.
pub fn of_flags(flags: &Flags, given: &Given, seen: Option<Seen>) -> Result<Ask, String> {
    let mut ways = flags.ways.clone();
    if ways.is_empty() && flags.platform == Some(Platform::Kubernetes) {
        ways.push(Way::KubeProxy);
    }
    if ways.is_empty() && seen.is_none() {
        return Err(
            "how do requests reach the server? Say --lb, give the deployment's files, or --from-reports".to_owned()
        );
    }
    let flow = chosen_flow(flags.platform, &ways, false, given);
    let mut ask = Ask::new("web".to_owned(), flags.platform, ways, flow, given, seen);
    ask.by_address = flags.platform != Some(Platform::Docker) && flags.platform != Some(Platform::Compose);
    ask.take(flags);
    Ok(ask)
}

/// One for each workload of the files whose requests come by a known way.
///
/// # Errors
/// What is missing of each that cannot be planned.
#[must_use]
pub fn of_files(
    deployment: &Deployment,
    flags: &Flags,
    given: &Given,
    seen: Option<&Seen>,
) -> Vec<Result<Ask, String>> {
    let model = &deployment.model;
    model.workloads.iter().map(|workload| of_workload(model, workload, flags, given, seen)).collect()
}

fn of_workload(
    model: &Model,
    workload: &Workload,
    flags: &Flags,
    given: &Given,
    seen: Option<&Seen>,
) -> Result<Ask, String> {
    let known = flow::of(workload, given.flow);
    let group = group_of(model, workload);
    let ways = if flags.ways.is_empty() { ways_of(model, workload) } else { flags.ways.clone() };
    if ways.is_empty() && seen.is_none() {
        return Err(format!("{}: how requests reach it is in no file: --lb", workload.name));
    }
    let platform = flags.platform.or(Some(workload.platform.into()));
    let spot = workload.spot.is(&true);
    let flow = match &known.value {
        Ok(flow) if flags.ways.is_empty() && flags.platform.is_none() => (*flow, known.origin.shown()),
        _ => chosen_flow(platform, &ways, spot, given),
    };
    let subjects = case::subjects(workload);
    let container = *subjects.first().ok_or_else(|| format!("{}: it has no container", workload.name))?;
    let mut ask = Ask::new(workload.name.clone(), platform, ways, flow, given, seen.cloned());
    let case = Case { model, workload, container, flow: &known, given };
    let image = container.image.as_ref().and_then(|image| image.known().cloned());
    ask.container = Some((container.name.clone(), image));
    ask.spot = spot;
    ask.pre_stop = container.pre_stop.known().copied().unwrap_or_default();
    ask.now.delay = cited(&case.delay());
    ask.now.drain = cited(&case.drain());
    ask.now.grace = cited(&container.grace);
    ask.drain_now = Some(case.bounded_drain()).filter(Fact::is_written).and_then(|drain| drain.known().copied());
    ask.batches = workload.rollout.as_ref().and_then(batches);
    ask.by_address = group.is_none_or(|group| group.by_address.is(&true));
    if let Some(group) = group {
        ask.take_group(group);
    }
    let discovery = workload.routes.iter().find_map(|route| match &route.by {
        By::Dns(Ok(at)) => model.discoveries.get(*at),
        _ => None,
    });
    if let Some(Ok(ttl)) = discovery.map(|discovery| discovery.ttl.value.clone())
        && given.time("dns-ttl").value.is_err()
    {
        ask.ttl = (ttl, "as its records say".to_owned());
    }
    ask.take(flags);
    Ok(ask)
}

fn chosen_flow(platform: Option<Platform>, ways: &[Way], spot: bool, given: &Given) -> (Flow, String) {
    given.flow.map_or_else(
        || {
            let (flow, why) = platform::flow(platform, ways, spot);
            (flow, why.to_owned())
        },
        |flow| (flow, "as --flow says".to_owned()),
    )
}

fn ways_of(model: &Model, workload: &Workload) -> Vec<Way> {
    let mut ways = Vec::new();
    for route in &workload.routes {
        let way = match &route.by {
            By::Group(Ok(at)) => {
                let network = model.groups.get(*at).is_some_and(|group| group.balancer.is(&BalancerKind::Network));
                if network { Way::Nlb } else { Way::Alb }
            }
            By::Group(Err(_)) => Way::Alb,
            By::ServiceConnect(on) if on.is(&false) => continue,
            By::ServiceConnect(_) => Way::ServiceConnect,
            By::Dns(_) => Way::CloudMap,
            By::KubernetesService(_) => Way::KubeProxy,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

fn group_of<'a>(model: &'a Model, workload: &Workload) -> Option<&'a TargetGroup> {
    workload.routes.iter().find_map(|route| match &route.by {
        By::Group(Ok(at)) => model.groups.get(*at),
        _ => None,
    })
}

/// In how many steps a deploy replaces all.
fn batches(rollout: &Rollout) -> Option<u64> {
    let replicas = *rollout.replicas.known()?;
    let (least, most) = (*rollout.least_percent.known()?, *rollout.most_percent.known()?);
    // So many more, and so many fewer, as the scheduler rounds them.
    let more = replicas * most.saturating_sub(100) / 100;
    let fewer = replicas.saturating_sub((replicas * least).div_ceil(100));
    Some(replicas.div_ceil((more + fewer).max(1)))
}

fn cited<T: Shown>(fact: &Fact<T>) -> Option<Cited> {
    fact.value.is_ok().then(|| fact.cite())
}

// === impl Ask ===

impl Ask {
    fn new(
        name: String,
        platform: Option<Platform>,
        ways: Vec<Way>,
        flow: (Flow, String),
        given: &Given,
        seen: Option<Seen>,
    ) -> Self {
        let time = |name: &str| given.time(name).value.ok();
        let ttl = time("dns-ttl").map(|ttl| (ttl, "as --set dns-ttl says".to_owned()));
        Self {
            name,
            container: None,
            platform,
            ways,
            flow,
            spot: false,
            check: QUICK,
            check_written: false,
            by_address: true,
            ttl: ttl.unwrap_or_else(|| (TTL, "assumed; --set dns-ttl says otherwise".to_owned())),
            p99: time("p99"),
            hook: time("hook").unwrap_or_default(),
            buffer: time("buffer").unwrap_or(BUFFER),
            pre_stop: Duration::ZERO,
            drain_now: None,
            now: Now::default(),
            batches: None,
            seen,
        }
    }

    /// The flags beat what the files say.
    fn take(&mut self, flags: &Flags) {
        let check = &mut self.check;
        check.interval = flags.interval.unwrap_or(check.interval);
        check.timeout = flags.timeout.unwrap_or(check.timeout);
        check.unhealthy = flags.threshold.unwrap_or(check.unhealthy);
        self.check_written |= flags.interval.is_some() || flags.timeout.is_some() || flags.threshold.is_some();
    }

    /// What a target group says: what somebody wrote is kept, a default is not worth keeping.
    fn take_group(&mut self, group: &TargetGroup) {
        let check = &group.check;
        self.now.interval = cited(&check.interval);
        self.now.timeout = cited(&check.timeout);
        self.now.unhealthy = cited(&check.failures);
        self.now.healthy = cited(&group.successes);
        self.now.deregistration = cited(&group.deregistration);
        let written = check.interval.is_written() || check.failures.is_written();
        if let (Some(interval), Some(timeout), Some(unhealthy), Some(healthy)) =
            (check.interval.known(), check.timeout.known(), check.failures.known(), group.successes.known())
            && written
        {
            // A default that does not go with what is written is none: it would be refused.
            let timeout = if !check.timeout.is_written() && timeout >= interval { QUICK.timeout } else { *timeout };
            self.check = HealthCheck { interval: *interval, timeout, unhealthy: *unhealthy, healthy: *healthy };
            self.check_written = true;
        }
    }

    /// Whether it is reached by that way.
    #[must_use]
    pub fn by(&self, way: Way) -> bool {
        self.ways.contains(&way)
    }
}
