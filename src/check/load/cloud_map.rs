//! Cloud Map: what `servicediscovery get-service` prints.

use super::{Format, Loading, Reading, seconds};
use crate::check::fact::Fact;
use crate::check::model::Discovery;
use crate::check::tree::Node;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format { name: "Cloud Map service", read: Reading::Tree { is, load } };

fn is(node: &Node) -> bool {
    node.at(&["service", "dnsConfig"]).is_some()
}

fn load(node: &Rc<Node>, loading: &mut Loading<'_>) {
    let found = node.field("service").and_then(|service| discovery(service, loading));
    loading.model.discoveries.extend(found);
}

/// One service that clients find by DNS, in the spelling of the API or of `CloudFormation`.
pub(super) fn discovery(service: &Node, loading: &mut Loading<'_>) -> Option<Discovery> {
    let dns = service.field("dnsConfig").filter(|dns| !dns.is_null())?;
    let scalar = |key: &str| service.field(key).and_then(|node| node.text()).map(str::to_owned);
    let records = dns.field("dnsRecords").map_or(&[] as &[Rc<Node>], |list| list.items());
    // The field is written in capitals as a whole.
    let ttl = |record: &Rc<Node>| record.get("TTL").cloned();
    let ttls: Vec<Fact<_>> = records.iter().filter_map(ttl).map(|node| loading.fact(&node, "TTL", seconds)).collect();
    let longest = ttls.into_iter().max_by_key(|ttl| ttl.known().copied());
    Some(Discovery {
        name: scalar("name").unwrap_or_else(|| "Cloud Map service".to_owned()),
        references: ["arn", "id", "name"].iter().filter_map(|key| scalar(key)).collect(),
        ttl: longest.unwrap_or_else(|| Fact::unknown("TTL", "the TTL of its DNS records", Some(dns.place))),
    })
}
