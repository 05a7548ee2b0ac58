//! What `describe-target-group-attributes` and `describe-load-balancer-attributes` print: a list of keys
//! with texts as values, which does not say whose they are.

use super::{Format, Loading, Reading};
use crate::check::fact::Fact;
use crate::check::model::{Balancer, GroupAttributes};
use crate::check::source::Place;
use crate::check::tree::{Kind, Node};
use std::rc::Rc;
use std::time::Duration;

pub(super) const FORMAT: Format = Format { name: "attributes of a target group or balancer", read: Reading::Tree { is, load } };

const DEREGISTRATION: &str = "deregistration_delay.timeout_seconds";
const CUTS: &str = "target_health_state.unhealthy.connection_termination.enabled";
const IDLE: &str = "idle_timeout.timeout_seconds";

/// What an ALB keeps a silent connection when nobody set it.
const IDLE_DEFAULT: Duration = Duration::from_secs(60);

fn is(node: &Node) -> bool {
    let list = node.field("attributes").map_or(&[] as &[Rc<Node>], |list| list.items());
    matches!(node.field("attributes").map(|list| &list.kind), Some(Kind::List(_)))
        && list.iter().all(|item| item.field("key").is_some())
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    let Some(list) = node.field("attributes") else { return };
    let keys = || list.items().iter().filter_map(|item| item.field("key").and_then(|key| key.text()));
    if keys().any(|key| key.starts_with("deregistration_delay.") || key.starts_with("target_")) {
        let attributes = group(list, loading);
        loading.model.group_attributes.push(attributes);
    } else {
        let balancer = balancer(list, loading);
        loading.model.balancers.push(balancer);
    }
}

/// The attributes of a balancer, from such a list.
pub(super) fn balancer(list: &Node, loading: &mut Loading<'_>) -> Balancer {
    let idle = find(list, IDLE, loading, seconds);
    Balancer { place: list.place, idle: idle.unwrap_or_else(|| default_idle(list.place)) }
}

/// What a balancer does whose idle timeout nobody wrote at that place.
pub(super) fn default_idle(place: Place) -> Fact<Duration> {
    Fact::default_of("ELB", IDLE, IDLE_DEFAULT, Some(place))
}

/// The attributes of a target group, from such a list.
pub(super) fn group(list: &Node, loading: &mut Loading<'_>) -> GroupAttributes {
    GroupAttributes {
        place: list.place,
        deregistration: find(list, DEREGISTRATION, loading, seconds),
        cuts_unhealthy: find(list, CUTS, loading, |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!("true or false is wanted here, not {other:?}")),
        }),
    }
}

fn find<T>(
    list: &Node,
    key: &str,
    loading: &mut Loading<'_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<Fact<T>> {
    let is_it = |item: &&Rc<Node>| item.field("key").and_then(|found| found.text()) == Some(key);
    let value = list.items().iter().find(is_it)?.field("value")?;
    Some(loading.fact(value, key, |node| read(&super::text(node)?)))
}

/// The values are texts, numbers among them.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: u32 = text.parse().map_err(|_| format!("a number of seconds is wanted here, not {text:?}"))?;
    Ok(Duration::from_secs(number.into()))
}
