//! The numbers: pure, from what is known to what is recommended, each with its reason and its source.

use super::ask::Ask;
use super::platform::{HealthCheck, Platform, QUICK, Way};
use super::seen::{Sure, whole};
use crate::check::fact::{Cited, seconds};
use crate::check::flow::Flow;
use crate::core::{Budget, Policy};
use std::time::Duration;

/// What is recommended for one workload.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was made from.
    pub ask: Ask,
    /// D.
    pub delay: Number,
    /// G.
    pub drain: Number,
    /// K.
    pub grace: Number,
    /// R, behind a balancer that has it.
    pub deregistration: Option<Number>,
    /// The balancer's health check, behind one that has it.
    pub check: Option<(HealthCheck, String)>,
    /// Whether the server's readiness has to flip for the balancer to notice.
    pub flips: bool,
    /// What one stop costs a deploy.
    pub cost: Cost,
    /// Why it cannot be done as it is, with the way out.
    pub problems: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// A recommended number.
#[derive(Clone, Debug)]
pub struct Number {
    /// The number.
    pub value: Duration,
    /// Why so many.
    pub why: String,
    /// How that is known.
    pub source: String,
    /// What it is now.
    pub now: Option<Cited>,
}

/// What a deploy pays for each task or pod that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// When nothing is in flight.
    pub least: Duration,
    /// When everything takes as long as it may.
    pub most: Duration,
    /// In so many steps a deploy replaces all.
    pub batches: Option<u64>,
}

/// A balancer that has let go before the signal still has connections that are kept alive.
const AFTER_SEQUENTIAL: Duration = Duration::from_secs(10);
/// What the nodes' proxies take, with room.
const KUBE_PROXY: Duration = Duration::from_secs(10);
/// What was clean behind an ALB on Kubernetes with the controller's default health check.
const ALB_ON_KUBERNETES: Duration = Duration::from_secs(45);
/// What the tasks' proxies of Service Connect take, with room.
const SERVICE_CONNECT: Duration = Duration::from_secs(15);
/// What Cloud Map takes to take an address out.
const CLOUD_MAP: Duration = Duration::from_secs(30);
/// For how long an NLB was seen to send new connections to an address that is deregistered.
const NLB_BY_ADDRESS: Duration = Duration::from_secs(120);
/// What a delay is given beyond the last health check.
const SPARE: Duration = Duration::from_secs(5);
/// The shortest drain that is recommended: clients are slow, too.
const LEAST_DRAIN: Duration = Duration::from_secs(10);
/// What a request is given beyond twice the p99 where the balancer waits for it.
const REQUEST_SPARE: Duration = Duration::from_secs(20);
/// From so many drains on the longest one says something.
const ENOUGH_DRAINS: usize = 5;
/// A shorter check is worth a word when it saves so much.
const WORTH_A_WORD: Duration = Duration::from_secs(10);
/// lameduck's own default.
const DRAIN: Duration = Duration::from_secs(30);
/// People write such numbers in fives.
const STEP: u64 = 5;

/// Plans one workload.
#[must_use]
pub fn plan(ask: Ask) -> Plan {
    let delay = delay(&ask);
    let drain = drain(&ask);
    let (grace, mut problems) = grace(&ask, delay.value, drain.value);
    let behind_groups = ask.ways.iter().any(|way| way.has_groups());
    if behind_groups {
        problems.extend(refused(&ask));
    }
    let deregistration = behind_groups.then(|| deregistration(&ask, delay.value, drain.value));
    let checked = ask.ways.iter().any(|way| way.checks());
    let flips = checked && ask.flow.0 == Flow::HealthChecks;
    let first = if ask.flow.0 == Flow::Sequential {
        deregistration.as_ref().map_or(Duration::ZERO, |number| number.value)
    } else {
        Duration::ZERO
    };
    let cost = Cost { least: delay.value, most: first + delay.value + drain.value, batches: ask.batches };
    let check = checked.then(|| (ask.check, check_reason(&ask)));
    let notes = notes(&ask, delay.value, flips);
    Plan { ask, delay, drain, grace, deregistration, check, flips, cost, problems, notes }
}

fn delay(ask: &Ask) -> Number {
    let mut wanted =
        ask.ways.iter().flat_map(|way| notice(ask, *way)).max_by_key(|number| number.value).unwrap_or(Number {
            value: Duration::ZERO,
            why: "nothing that is known sends requests".to_owned(),
            source: "the files".to_owned(),
            now: None,
        });
    if let Some(judged) = ask.seen.as_ref().and_then(super::seen::Seen::judge) {
        if judged.delay > wanted.value || ask.ways.is_empty() {
            wanted = Number { value: judged.delay, why: judged.told(), source: "the reports".to_owned(), now: None };
        } else {
            wanted.why = format!("{}. {}, which this covers", wanted.why, capital(&judged.told()));
        }
    }
    Number { now: ask.now.delay.clone(), ..wanted }
}

/// What one way takes to notice.
fn notice(ask: &Ask, way: Way) -> Vec<Number> {
    let number =
        |value: Duration, why: String, source: &str| Number { value, why, source: source.to_owned(), now: None };
    let check = ask.check;
    let sum = format!(
        "I {} × U {} + T {} = {}",
        seconds(check.interval),
        check.unhealthy,
        seconds(check.timeout),
        seconds(check.detect())
    );
    let on_kubernetes = ask.platform == Some(Platform::Kubernetes);
    let mut numbers = Vec::new();
    match (way, ask.flow.0) {
        (Way::Alb | Way::Nlb | Way::Haproxy, Flow::HealthChecks) => {
            let why = format!("{} learns of the stop from its health checks: {sum}, and 5 to spare", way.name());
            numbers.push(number(
                check.detect() + SPARE,
                why,
                "measured on a deploy behind an ALB: 5 × 2 with 15 s lost nothing",
            ));
        }
        (Way::Alb | Way::Nlb | Way::Haproxy, Flow::Sequential) => {
            let why = "the balancer is done before the signal comes; what is left are connections that are kept alive";
            numbers.push(number(AFTER_SEQUENTIAL, why.to_owned(), "the ECS page on optimizing connection draining"));
        }
        (Way::Alb, Flow::Concurrent) if on_kubernetes => {
            let why = format!(
                "the balancer is told late, and may have to find out by itself: {sum}; 45 was clean, 15 too short"
            );
            let source = "aws-load-balancer-controller issues 1064 and 2106; quay issue 6871";
            numbers.push(number(check.detect().max(ALB_ON_KUBERNETES), why, source));
        }
        (Way::Alb, Flow::Concurrent) => {
            let why = "the target is deregistered after the signal: 3 to 5 s of errors were seen";
            numbers.push(number(AFTER_SEQUENTIAL, why.to_owned(), "aws/containers-roadmap issue 708"));
        }
        (Way::KubeProxy, _) | (Way::Haproxy | Way::Nlb, Flow::Concurrent) => {
            let why = "the nodes' proxies hear of the stop when the server does, and act a little later";
            numbers.push(number(KUBE_PROXY, why.to_owned(), "the EKS best practices"));
        }
        (Way::ServiceConnect, _) => {
            let why = "the proxies of the other tasks learn of it later: errors for 8 s were seen, some with 10, none with 15";
            numbers.push(number(SERVICE_CONNECT, why.to_owned(), "measured on a service in production"));
        }
        (Way::CloudMap, _) => {
            let (ttl, who) = &ask.ttl;
            let why = format!(
                "clients keep an address for its TTL of {} s ({who}), and Cloud Map takes up to 30 s to take it out",
                seconds(*ttl)
            );
            numbers.push(number(*ttl + CLOUD_MAP, why, "the API of Cloud Map"));
        }
    }
    // Fargate has no time for it: see `notes`.
    if way == Way::Nlb && ask.by_address && ask.flow.0 != Flow::Sequential && ask.platform != Some(Platform::EcsFargate)
    {
        let why = "an NLB was seen to send new connections to an address for two minutes after it was deregistered";
        numbers.push(number(NLB_BY_ADDRESS, why.to_owned(), "aws-load-balancer-controller issue 2366 (one report)"));
    }
    numbers
}

fn drain(ask: &Ask) -> Number {
    let mut numbers = Vec::new();
    if let Some(p99) = ask.p99 {
        let hook = if ask.hook.is_zero() { String::new() } else { format!(" + {} afterwards", seconds(ask.hook)) };
        let value = whole(p99 * 2 + ask.hook);
        let why = format!("the longest request: 2 × p99 {}{hook} = {}", seconds(p99), seconds(value));
        numbers.push((value, why, "twice the p99: the rule of thumb of a published experiment"));
    }
    let usual = ask.drain_now.unwrap_or(DRAIN);
    if let Some((longest, drains)) = ask.seen.as_ref().and_then(super::seen::Seen::longest_drain) {
        let value = whole(longest * 3 / 2);
        // A few quick ones are no reason to allow less than now, nor are others while some are killed.
        let killed = ask.seen.as_ref().map_or(0, super::seen::Seen::killed);
        if (drains >= ENOUGH_DRAINS && killed == 0) || value > usual {
            let why = format!("the longest of {drains} drains took {:.1} s; half as long again", longest.as_secs_f64());
            numbers.push((value, why, "the reports"));
        }
    }
    let (value, why, source) = match numbers.into_iter().max_by_key(|(value, ..)| *value) {
        Some((value, why, source)) if value >= LEAST_DRAIN => (value, why, source),
        Some((_, why, source)) => (LEAST_DRAIN, format!("{why}; less than 10 is too little for slow clients"), source),
        None => match ask.drain_now {
            Some(now) => (now, "as it is: nothing says how long requests take (--p99)".to_owned(), "the files"),
            None => (DRAIN, "lameduck's default: nothing says how long requests take (--p99)".to_owned(), "lameduck"),
        },
    };
    Number { value, why, source: source.to_owned(), now: ask.now.drain.clone() }
}

/// K, and what is wrong when the platform does not go so far.
fn grace(ask: &Ask, delay: Duration, drain: Duration) -> (Number, Vec<String>) {
    let own = Budget::of(&Policy { delay, drain: Some(drain), ..Policy::default() });
    let others = own.total().unwrap_or_default().saturating_sub(delay + drain);
    let spare = others.max(ask.buffer);
    let total = delay + drain + spare;
    // More than the sum: lameduck warns when it is all used up.
    let rounded = Duration::from_secs((total.as_secs() / STEP + 1) * STEP);
    let field = ask.platform.map_or(("", ""), Platform::grace);
    let sum = format!("D {} + G {} + {} to spare = {}", seconds(delay), seconds(drain), seconds(spare), seconds(total));
    let cap = ask.platform.and_then(Platform::cap);
    let value = cap.map_or(rounded, |cap| rounded.min(cap));
    let mut problems = Vec::new();
    if total >= value {
        problems.push(does_not_fit(ask, delay, drain, spare, value, &sum));
    }
    let why = match (problems.is_empty(), ask.platform) {
        (false, _) => format!("{sum}: more than it takes; {}: {}", field.0, field.1),
        (true, Some(_)) => format!("{sum}, rounded up; {}: {}", field.0, field.1),
        (true, None) => format!("{sum}, rounded up"),
    };
    let source = "the documentation of the platform; linger and kill are lameduck's".to_owned();
    (Number { value, why, source, now: ask.now.grace.clone() }, problems)
}

/// What a target group does not take of the health check.
fn refused(ask: &Ask) -> Option<String> {
    let HealthCheck { interval, timeout, unhealthy, healthy } = ask.check;
    let whole_within =
        |time: Duration, least: u64, most: u64| time.subsec_nanos() == 0 && (least..=most).contains(&time.as_secs());
    let by_alb = ask.by(Way::Alb);
    let below = if by_alb { timeout < interval } else { timeout <= interval };
    let counts = [unhealthy, healthy].iter().all(|count| (2..=10).contains(count));
    if whole_within(interval, 5, 300) && whole_within(timeout, 2, 120) && below && counts {
        return None;
    }
    let (who, than) = if by_alb { ("an ALB", "shorter than it") } else { ("an NLB", "not longer than it") };
    Some(format!(
        "{who} takes whole seconds: an interval from 5 to 300, a time-out from 2 to 120 and {than}, thresholds from 2 to 10. \
         Interval {}, time-out {}, unhealthy after {unhealthy} and healthy after {healthy} are refused",
        seconds(interval),
        seconds(timeout)
    ))
}

/// What has to give way, the cheapest first.
fn does_not_fit(ask: &Ask, delay: Duration, drain: Duration, spare: Duration, cap: Duration, sum: &str) -> String {
    let platform = ask.platform.map_or("the platform", Platform::name);
    let limit = seconds(cap);
    let quick = QUICK.detect() + SPARE;
    let by_check = ask.flow.0 == Flow::HealthChecks && delay > quick && ask.ways.iter().any(|way| way.checks());
    let second = Duration::from_secs(1);
    let way_out = if by_check && quick + drain + spare < cap {
        format!(
            "shorten the health check to interval 5, threshold 2, time-out 3: then a delay of {} is enough",
            seconds(quick)
        )
    } else if delay + spare + LEAST_DRAIN < cap {
        let left = cap.saturating_sub(delay + spare + second);
        format!("only {} are left for the drain: let no request take longer (--p99)", seconds(left))
    } else {
        format!(
            "the delay alone leaves no room: {} at the most with a drain of 10",
            seconds(cap.saturating_sub(LEAST_DRAIN + spare + second))
        )
    };
    format!("{platform} waits {limit} s at the most, and {sum}. {}", capital(&way_out))
}

fn deregistration(ask: &Ask, delay: Duration, drain: Duration) -> Number {
    let (value, why, source) = match ask.flow.0 {
        Flow::Sequential => {
            let before = "in this flow requests are in flight before the server hears of the stop";
            match ask.p99 {
                Some(p99) => {
                    let value = p99 * 2 + ask.hook + REQUEST_SPARE;
                    let sum =
                        format!("2 × p99 {} + hook {} + 20 = {}", seconds(p99), seconds(ask.hook), seconds(value));
                    (value, format!("{before}: {sum}"), "the rule of thumb of a published experiment")
                }
                None => {
                    (drain, format!("{before}: as long as the drain"), "the ECS page on optimizing connection draining")
                }
            }
        }
        Flow::HealthChecks | Flow::Concurrent => (
            delay + drain,
            format!(
                "D {} + G {}: it runs beside them, and then the balancer cuts what is left",
                seconds(delay),
                seconds(drain)
            ),
            "the API of Elastic Load Balancing",
        ),
    };
    Number { value: whole(value), why, source: source.to_owned(), now: ask.now.deregistration.clone() }
}

fn check_reason(ask: &Ask) -> String {
    let detect = format!("out after {} s at the most", seconds(ask.check.detect()));
    let back = ask.check.interval * u32::try_from(ask.check.healthy).unwrap_or(u32::MAX);
    let who = if ask.check_written { "as written" } else { "quick" };
    format!("{who}: {detect}, a new one is in after {} s", seconds(back))
}

fn notes(ask: &Ask, delay: Duration, flips: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let quick = QUICK.detect() + SPARE;
    if flips && delay >= quick + WORTH_A_WORD && ask.check.detect() > QUICK.detect() {
        notes.push(format!(
            "cheaper: interval 5, threshold 2 and time-out 3 in the health check make a delay of {} s enough",
            seconds(quick)
        ));
    }
    if flips {
        notes.push(
            "the health check has to ask lameduck's port (8086), not the server's: the server says yes until it stops"
                .to_owned(),
        );
    }
    if flips && ask.by(Way::Nlb) {
        notes.push(
            "an NLB cuts the connections of an unhealthy target at once unless \
             target_health_state.unhealthy.connection_termination.enabled is false"
                .to_owned(),
        );
    }
    if ask.by(Way::Nlb)
        && ask.by_address
        && ask.flow.0 != Flow::Sequential
        && ask.platform == Some(Platform::EcsFargate)
    {
        notes.push(
            "an NLB was seen to send new connections for two minutes more (LD015); on Fargate that cannot be covered"
                .to_owned(),
        );
    }
    if !ask.pre_stop.is_zero() {
        notes.push(format!(
            "take out the pre-stop hook of {} s: it waits for the same thing, out of the same grace period",
            seconds(ask.pre_stop)
        ));
    }
    if ask.platform == Some(Platform::Nomad) {
        notes.push(
            "the client caps kill_timeout at its max_kill_timeout (30 s by default) without a word: raise it there"
                .to_owned(),
        );
    }
    if let Some(seen) = &ask.seen {
        match seen.judge() {
            None => notes.push("no report says anything about the delay".to_owned()),
            Some(judged) if judged.sure == Sure::No => notes.push(
                "requests still arrived when the delay ended: that number is a guess until a report shows the end"
                    .to_owned(),
            ),
            Some(_) => {}
        }
        if seen.killed() > 0 {
            notes.push(format!(
                "{} of {} stops ended in SIGKILL: the drain timeout was too short, or the server never ends by itself",
                seen.killed(),
                seen.stops.len()
            ));
        }
    }
    notes
}

/// With a capital in front.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

// === impl Plan ===

impl Plan {
    /// The settings of lameduck that it comes to.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy { delay: self.delay.value, drain: Some(self.drain.value), ..Policy::default() }
    }
}

#[cfg(test)]
#[path = "compute_tests.rs"]
mod tests;
