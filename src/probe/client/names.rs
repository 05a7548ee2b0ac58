//! The addresses of a name: asked again every second, so that a deploy that changes them is followed,
//! and no more often, so that the resolver is not what is measured.

use super::super::args::Family;
use super::super::target::Target;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an answer of the resolver counts, a failure too.
const FRESH: Duration = Duration::from_secs(1);

type Answer = Result<Vec<SocketAddr>, String>;

/// What is known of one name and port.
#[derive(Debug, Default)]
struct Entry(Mutex<Option<(Instant, Answer)>>);

/// The names of a run.
#[derive(Debug)]
pub(super) struct Names {
    family: Family,
    entries: std::sync::Mutex<HashMap<(String, u16), Arc<Entry>>>,
}

// === impl Names ===

impl Names {
    pub(super) fn new(family: Family) -> Self {
        Self { family, entries: std::sync::Mutex::default() }
    }

    /// The addresses to try for a target, in their order.
    pub(super) async fn addresses(&self, target: &Target) -> Answer {
        if let Some(address) = target.fixed() {
            return Ok(vec![SocketAddr::new(address, target.port)]);
        }
        let key = (target.host.clone(), target.port);
        let entry = self.entries.lock().map(|mut entries| Arc::clone(entries.entry(key).or_default()));
        let entry = entry.map_err(|_| "the list of names is broken".to_owned())?;
        // Whoever comes while the resolver is asked waits for that same answer.
        let mut known = entry.0.lock().await;
        if let Some((asked, answer)) = &*known
            && asked.elapsed() < FRESH
        {
            return answer.clone();
        }
        let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await;
        let answer = found.map_err(|why| why.to_string()).and_then(|all| self.allowed(&target.host, all.collect()));
        *known = Some((Instant::now(), answer.clone()));
        answer
    }

    fn allowed(&self, host: &str, mut addresses: Vec<SocketAddr>) -> Answer {
        addresses.retain(|address| self.family.has(address.ip()));
        let kind = match self.family {
            Family::Any => "",
            Family::V4 => "IPv4 ",
            Family::V6 => "IPv6 ",
        };
        if addresses.is_empty() { Err(format!("{host} has no {kind}address")) } else { Ok(addresses) }
    }
}
