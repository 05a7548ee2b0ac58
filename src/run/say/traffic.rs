//! What is said of the traffic of the delay.

use super::Say;
use super::words::names;
use crate::core::Phase;
use crate::core::traffic::verdict::Verdict;
use crate::core::traffic::{Evidence, Source};
use crate::json::Value;
use std::time::Duration;
use tracing::{debug, info};

// === impl Say ===

impl Say {
    pub(in crate::run) fn watching(&mut self, ports: &[u16], source: Source, hidden: bool) {
        if self.debugs() {
            let ports = names(ports.iter().map(u16::to_string));
            let how = if hidden { ", found by its user: what the server has open is not shown" } else { "" };
            debug!(ports = %ports, source = source.name(), "watching port {ports} by {}{how}", source.name());
        }
    }

    /// Something is not seen that nobody asked for.
    pub(in crate::run) fn watch_misses(&mut self, what: &str) {
        if self.debugs() {
            debug!("{what}");
        }
    }

    /// All that is known of the traffic of the whole stop.
    pub(in crate::run) fn traffic_in_full(&mut self, traffic: &Value) {
        if self.debugs() {
            debug!("traffic: {traffic}");
        }
    }

    /// What came during the delay, now that it is over. That nothing came is hardly news; that something
    /// may have come is.
    pub(in crate::run) fn traffic(&mut self, evidence: &Evidence, signal: &str) {
        let came = evidence.last_request.is_some()
            || evidence.last_connection.is_some()
            || evidence.unattributed.is_some()
            || evidence.closed > 0;
        if !came && !self.debugs() {
            return;
        }
        self.wake();
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let verdict = Verdict { evidence, signal };
        let (phase, elapsed) = (Phase::LameDuck.name(), evidence.delay_over.as_secs_f64());
        if came {
            info!(
                phase,
                requests = evidence.requests,
                new_connections = evidence.new_connections,
                namespace_opens = evidence.namespace_opens,
                last_request_s = seconds(evidence.last_request),
                margin_s = seconds(evidence.margin),
                elapsed_s = elapsed,
                "{verdict}"
            );
        } else {
            debug!(phase, elapsed_s = elapsed, "{verdict}");
        }
    }
}
