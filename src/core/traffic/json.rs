//! The evidence as JSON: what a report says under `traffic`.

use super::verdict::Verdict;
use super::{Evidence, Row};
use crate::json::Value;

// === impl Evidence ===

impl Evidence {
    /// All keys are always there; what is not known is null. Times are seconds after the stop signal.
    ///
    /// | key | what |
    /// |---|---|
    /// | `source` | `sock_diag`; `proc`: only connections are seen, no requests; `none` |
    /// | `ports` | the ports that were watched |
    /// | `connections_at_stop` | connections when the stop signal came |
    /// | `new_connections` | opened since then, until the graceful signal; null when others accept connections in the same network namespace |
    /// | `namespace_opens` | connections that the whole network namespace accepted, where it is shared |
    /// | `requests` | requests until the graceful signal |
    /// | `per_second` | `[{second, connections, requests}]`, seconds without any left out |
    /// | `last_connection_s`, `last_request_s` | when the last one came |
    /// | `margin_s` | from the last request to the planned end of the delay; null when a later one may have come unseen |
    /// | `accept_queue_at_signal`, `owed_at_signal` | connections not yet accepted and answers owed at the graceful signal |
    /// | `held_s` | how long that signal was held for answers |
    /// | `connections_left` | connections at the last sample before the server ended |
    /// | `ended` | how the delay ended: `delay`, `quiet`, `hurried`, `died` |
    /// | `verdict` | the same in words |
    #[must_use]
    pub fn json(&self, ports: &[u16], signal: &str) -> Value {
        let verdict = Verdict { evidence: self, signal }.to_string();
        Self::object(self.source.name(), ports, Some(self), verdict)
    }

    /// The same when nothing could be seen, because of `why`.
    #[must_use]
    pub fn json_of_nothing(why: &str) -> Value {
        Self::object("none", &[], None, format!("the traffic was not seen: {why}"))
    }

    fn object(source: &'static str, ports: &[u16], seen: Option<&Self>, verdict: String) -> Value {
        let count = |of: fn(&Self) -> Option<u32>| Value::from(seen.and_then(of).map(i64::from));
        let many = |of: fn(&Self) -> Option<u64>| {
            Value::from(seen.and_then(of).map(|many| i64::try_from(many).unwrap_or(i64::MAX)))
        };
        let time = |of: fn(&Self) -> Option<std::time::Duration>| Value::from(seen.and_then(of));
        let rows = seen.map_or_else(Vec::new, |seen| seen.per_second.iter().map(Row::json).collect());
        Value::Object(vec![
            ("source", source.into()),
            ("ports", Value::List(ports.iter().map(|port| i64::from(*port).into()).collect())),
            ("connections_at_stop", count(|seen| seen.connections_at_stop)),
            ("new_connections", many(|seen| seen.new_connections)),
            ("namespace_opens", many(|seen| seen.namespace_opens)),
            ("requests", many(|seen| seen.requests)),
            ("per_second", Value::List(rows)),
            ("last_connection_s", time(|seen| seen.last_connection)),
            ("last_request_s", time(|seen| seen.last_request)),
            ("margin_s", time(|seen| seen.margin)),
            ("accept_queue_at_signal", count(|seen| seen.accept_queue_at_signal)),
            ("owed_at_signal", count(|seen| seen.owed_at_signal)),
            ("held_s", time(|seen| seen.held)),
            ("connections_left", count(|seen| seen.connections_left)),
            ("ended", seen.map(|seen| seen.ended.name().to_owned()).into()),
            ("verdict", verdict.into()),
        ])
    }
}

// === impl Row ===

impl Row {
    fn json(&self) -> Value {
        Value::Object(vec![
            ("second", i64::from(self.second).into()),
            ("connections", i64::from(self.connections).into()),
            ("requests", i64::from(self.requests).into()),
        ])
    }
}
