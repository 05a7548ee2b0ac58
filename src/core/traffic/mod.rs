//! What traffic came during the delay: evidence gathered from samples, and what follows from it.
//!
//! Pure: a sample goes in connection by connection ([`Traffic::connection`]) and is closed with
//! [`Traffic::end_of_sample`]; out come the answers still owed, whether it has been quiet for long
//! enough ([`quiet`]), and in the end [`Evidence`] with its verdict in words ([`verdict`]).
//!
//! Seen from outside the server, and so blind in places: a body that is being streamed and HTTP/2 look
//! like nothing owed; a health check on a watched port is a request like any other; requests are told
//! apart by the segments that go in and out, so a TLS handshake counts as one or two; a connection
//! that comes and goes between two samples counts as one request, where others share the network
//! namespace as none: it may be theirs, and while one is the last that came nothing is claimed.

pub mod connection;
mod json;
pub mod quiet;
pub mod verdict;

#[cfg(test)]
mod tests;

use super::Tick;
pub use connection::Counters;
use connection::Known;
pub use quiet::Quiet;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
pub use verdict::Ended;

/// The most seconds of which the requests are kept one by one: longer delays are rare, and memory is
/// not to grow with them.
pub const MOST_ROWS: usize = 900;

/// The most connections that are followed. More would cost PID 1 tens of megabytes.
pub const MOST_CONNECTIONS: usize = 100_000;

/// A connection that so many samples running did not show is gone. A dump may miss one that is there,
/// when the kernel's table changes under it.
const FORGOTTEN_AFTER: u32 = 4;

/// How the traffic is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The kernel's socket diagnostics, with counters and times for each connection.
    SockDiag,
    /// `/proc/net/tcp`: which connections there are, no more.
    Proc,
}

/// What the samples since the stop signal came to.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The stop signal.
    began: Tick,
    source: Source,
    /// Whether every connection that the network namespace accepts is one of the watched ports', so
    /// that the namespace's own count is exact.
    alone: bool,
    known: HashMap<u64, Known>,
    /// The sample that is being taken.
    open: Open,
    /// How many are complete.
    samples: u32,
    /// When the last one was complete, and what it showed.
    last: Option<(Tick, Shown)>,
    connections_at_stop: Option<u32>,
    /// Connections that the namespace had accepted at the stop signal, and has since.
    opens_at_first: Option<u64>,
    opens: Option<u64>,
    /// Connections that were seen for the first time after the first sample.
    fresh: u64,
    /// Connections that were counted and never seen.
    unseen: u64,
    /// Those of them that may have been others', since the last request.
    unattributed: Option<Unattributed>,
    /// Whether since the last request there was a sample without the namespace's count.
    uncounted: bool,
    requests: u64,
    rows: Vec<Row>,
    /// The samples of the last second: when, and how many requests they brought.
    recent: VecDeque<(Tick, u32)>,
    last_connection: Option<Tick>,
    last_request: Option<Tick>,
    /// The last sign of anybody out there, requests or not.
    last_activity: Option<Tick>,
    /// The first.
    first_activity: Option<Tick>,
    /// For how many samples running there was none.
    silent_samples: u32,
    delay_over: Option<Over>,
    told: Option<(Tick, Shown)>,
}

/// The end of the delay.
#[derive(Clone, Copy, Debug)]
struct Over {
    at: Tick,
    ended: Ended,
    in_last_second: u32,
    closed: u32,
}

/// A sample in the making.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    shown: Shown,
    fresh: u32,
    requests: u32,
    last_connection: Option<Tick>,
    last_received: Option<Tick>,
}

/// What one sample shows of the watched ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Connections, those not yet accepted by the server included.
    pub connections: u32,
    /// Answers owed.
    pub owed: u32,
    /// Connections that the server has yet to accept.
    pub accept_queue: u32,
}

/// What came in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which second after the stop signal, from 0.
    pub second: u32,
    /// Connections opened.
    pub connections: u32,
    /// Requests.
    pub requests: u32,
}

/// Connections that a shared network namespace accepted and that were gone before anybody looked: the
/// server's or another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unattributed {
    /// How many.
    pub connections: u64,
    /// When the last one was counted: after the stop signal.
    pub last: Duration,
}

/// What is known once it is over. Times are those after the stop signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// How it was seen.
    pub source: Source,
    /// Connections at the first sample; `None` when there was none.
    pub connections_at_stop: Option<u32>,
    /// Connections opened since; `None` when that cannot be told from what else the namespace accepts.
    pub new_connections: Option<u64>,
    /// Connections that the whole network namespace accepted, where it is shared.
    pub namespace_opens: Option<u64>,
    /// Requests; `None` where only connections are seen.
    pub requests: Option<u64>,
    /// Second by second, those without traffic left out; at most [`MOST_ROWS`] seconds.
    pub per_second: Vec<Row>,
    /// When the last new connection came.
    pub last_connection: Option<Duration>,
    /// When the last request came.
    pub last_request: Option<Duration>,
    /// Connections that came after the last request and may have brought another; `None` when there were
    /// none.
    pub unattributed: Option<Unattributed>,
    /// Whether such connections could not be counted.
    pub uncounted: bool,
    /// How long before the planned end of the delay the last request came; `None` when there was none,
    /// when a later one may have come unseen, or when the delay did not run its course.
    pub margin: Option<Duration>,
    /// Connections that the server had yet to accept when it was sent its graceful signal.
    pub accept_queue_at_signal: Option<u32>,
    /// Answers owed then.
    pub owed_at_signal: Option<u32>,
    /// How long the signal was held.
    pub held: Option<Duration>,
    /// Connections at the last sample.
    pub connections_left: Option<u32>,
    /// How the delay ended.
    pub ended: Ended,
    /// When.
    pub delay_over: Duration,
    /// Requests in the last second before.
    pub in_last_second: u32,
    /// By how many the connections had become fewer. A last request on one of them, if its answer closed
    /// it, went unseen.
    pub closed: u32,
    /// How long the delay was to be.
    pub delay: Duration,
}

// === impl Source ===

impl Source {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SockDiag => "sock_diag",
            Self::Proc => "proc",
        }
    }
}

// === impl Traffic ===

impl Traffic {
    /// Nothing seen yet of a stop that began at `began`, in a network namespace that may be shared and
    /// has accepted so many connections so far.
    #[must_use]
    pub fn new(began: Tick, source: Source, opens: Option<u64>) -> Self {
        Self {
            began,
            source,
            alone: false,
            known: HashMap::new(),
            open: Open::default(),
            samples: 0,
            last: None,
            connections_at_stop: None,
            opens_at_first: opens,
            opens,
            fresh: 0,
            unseen: 0,
            unattributed: None,
            uncounted: false,
            requests: 0,
            rows: Vec::new(),
            recent: VecDeque::new(),
            last_connection: None,
            last_request: None,
            last_activity: None,
            first_activity: None,
            silent_samples: 0,
            delay_over: None,
            told: None,
        }
    }

    /// From here on it is seen in another way: what was counted stands.
    pub fn fall_back(&mut self, source: Source) {
        self.source = source;
        self.known = HashMap::new();
        self.open = Open::default();
    }

    /// How it is seen.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether nobody else accepts connections in this network namespace.
    pub fn set_alone(&mut self, alone: bool) {
        self.alone = alone;
    }

    /// Begins a sample; one that was not closed is forgotten.
    pub fn begin_sample(&mut self) {
        self.open = Open::default();
    }

    /// One connection of the sample, looked at `now`. `id` is the same from sample to sample; the
    /// counters are `None` where they cannot be had. Returns false when there are more than can be
    /// followed.
    pub fn connection(&mut self, now: Tick, id: u64, counters: Option<&Counters>) -> bool {
        self.open.shown.connections += 1;
        let Some(counters) = counters else { return true };
        if counters.owes_an_answer(now, self.began) {
            self.open.shown.owed += 1;
        }
        let first = self.samples == 0;
        if let Some(known) = self.known.get_mut(&id) {
            let before = known.received();
            self.open.requests += known.requests(counters);
            known.samples.1 = self.samples;
            if counters.received != before {
                self.open.last_received = self.open.last_received.max(counters.received_at(now));
            }
            return true;
        }
        if self.known.len() >= MOST_CONNECTIONS {
            return false;
        }
        let mut known = if first { Known::at(counters) } else { Known::fresh() };
        known.samples = (self.samples, self.samples);
        if first {
            // What came before the stop is no news, but may have come since: the first sample is
            // taken a moment later.
            let since = counters.received_at(now).filter(|at| *at > self.began);
            self.open.last_received = self.open.last_received.max(since);
        } else {
            self.open.requests += known.requests(counters);
            self.open.fresh += 1;
            self.open.last_connection = self.open.last_connection.max(Some(counters.received_at(now).unwrap_or(now)));
            self.open.last_received = self.open.last_received.max(counters.received_at(now));
        }
        self.known.insert(id, known);
        true
    }

    /// Closes a sample. `accept_queue` is what the listening sockets show; `opens` is how many
    /// connections the namespace had ever accepted when the sample began, our own left out.
    pub fn end_of_sample(&mut self, now: Tick, accept_queue: u32, opens: Option<u64>) -> Shown {
        let Open { mut shown, fresh, requests, last_connection, last_received } = std::mem::take(&mut self.open);
        shown.accept_queue = accept_queue;
        let before = self.last.map_or(self.began, |(at, _)| at);
        let first = self.samples == 0;
        let (forget, sample) = (FORGOTTEN_AFTER, self.samples);
        let mut passed_by = 0;
        self.known.retain(|_, known| {
            passed_by += u32::from(known.passed_by(sample));
            sample.saturating_sub(known.samples.1) < forget
        });
        self.samples += 1;
        self.last = Some((now, shown));
        if self.told.is_some() {
            return shown;
        }
        if first {
            self.connections_at_stop = Some(shown.connections);
            self.opens_at_first = self.opens_at_first.or(opens);
        }
        let opened = opens.zip(self.opens).map_or(0, |(opens, before)| opens.saturating_sub(before));
        self.opens = opens.or(self.opens);
        self.fresh += u64::from(fresh);
        let newly_unseen = self.count_unseen();
        let (newly_unseen, elsewhere) = if self.alone { (newly_unseen, 0) } else { (0, newly_unseen) };
        let unseen_at = (newly_unseen > 0).then_some(now);
        // Who shares the namespace may be a client of ours: nothing says that he is not.
        let opened_at = (opened > 0).then_some(now);
        let passed_at = (passed_by > 0).then_some(now);
        let active_at = last_received.max(last_connection).max(unseen_at).max(opened_at).max(passed_at);
        // Where connections are not counted, one may have come and gone.
        if active_at.is_some() || opens.is_none() {
            self.first_activity = self.first_activity.or(active_at);
            self.silent_samples = 0;
            self.last_activity = self.last_activity.max(active_at);
        } else {
            self.silent_samples += 1;
        }
        let (requests, connections) = (requests + newly_unseen + passed_by, fresh + newly_unseen);
        self.requests += u64::from(requests);
        self.last_connection = self.last_connection.max(last_connection).max(unseen_at);
        if requests > 0 {
            self.last_request = self.last_request.max(last_received).max(unseen_at).max(passed_at);
            // What came between the same two samples came as late, as far as can be told.
            (self.unattributed, self.uncounted) = (None, false);
        } else if elsewhere > 0 {
            let before = self.unattributed.map_or(0, |unattributed| unattributed.connections);
            let connections = before + u64::from(elsewhere);
            self.unattributed = Some(Unattributed { connections, last: now.saturating_sub(self.began) });
        }
        self.uncounted |= requests == 0 && opens.is_none();
        self.add_to_rows((before + now) / 2, connections, requests);
        self.recent.push_back((now, requests));
        while self.recent.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= Duration::from_secs(1)) {
            self.recent.pop_front();
        }
        shown
    }

    /// How many more connections were accepted and gone again before they could be seen. The count is
    /// read before the connections are, so that none is taken for unseen that is about to be seen.
    fn count_unseen(&mut self) -> u32 {
        let unseen = self.opened().unwrap_or(0).saturating_sub(self.fresh);
        let new = unseen.saturating_sub(self.unseen);
        self.unseen += new;
        u32::try_from(new).unwrap_or(u32::MAX)
    }

    /// Connections that the namespace accepted since the stop signal.
    fn opened(&self) -> Option<u64> {
        self.opens.zip(self.opens_at_first).map(|(opens, at_first)| opens.saturating_sub(at_first))
    }

    fn add_to_rows(&mut self, at: Tick, connections: u32, requests: u32) {
        if connections == 0 && requests == 0 {
            return;
        }
        let second = u32::try_from(at.saturating_sub(self.began).as_secs()).unwrap_or(u32::MAX);
        if let Some(row) = self.rows.last_mut().filter(|row| row.second >= second) {
            row.connections += connections;
            row.requests += requests;
        } else if self.rows.len() < MOST_ROWS {
            self.rows.push(Row { second, connections, requests });
        }
    }

    /// What the last complete sample shows; `None` when there was none.
    #[must_use]
    pub fn shown(&self) -> Option<Shown> {
        self.last.map(|(_, shown)| shown)
    }

    /// The delay is over.
    pub fn on_delay_over(&mut self, now: Tick, ended: Ended) {
        if self.delay_over.is_none() {
            let recent = self.recent.iter().filter(|(at, _)| now.saturating_sub(*at) < Duration::from_secs(1));
            let in_last_second = recent.map(|(_, requests)| requests).sum();
            let left = self.shown().map_or(0, |shown| shown.connections);
            let closed = self.connections_at_stop.unwrap_or(0).saturating_sub(left);
            self.delay_over = Some(Over { at: now, ended, in_last_second, closed });
        }
    }

    /// The server was sent its graceful signal: what comes from now on is the drain's.
    pub fn on_told(&mut self, now: Tick) {
        if self.told.is_none() {
            self.told = Some((now, self.shown().unwrap_or_default()));
        }
    }

    /// What is known as of `now`, when a delay of this length was to end at `ends`.
    #[must_use]
    pub fn evidence(&self, now: Tick, delay: Duration, ends: Tick) -> Evidence {
        let after = |at: Tick| at.saturating_sub(self.began);
        let died = Over { at: now, ended: Ended::Died, in_last_second: 0, closed: 0 };
        let Over { at: over_at, ended, in_last_second, closed } = self.delay_over.unwrap_or(died);
        let opened = self.opened();
        let counts_requests = self.source == Source::SockDiag;
        let last_request = self.last_request.map(after);
        let ran_its_course = matches!(ended, Ended::Delay | Ended::Quiet);
        Evidence {
            source: self.source,
            connections_at_stop: self.connections_at_stop,
            // One may be seen that was opened just after the count was read.
            new_connections: opened.filter(|_| self.alone).map(|opened| opened.max(self.fresh)),
            namespace_opens: opened.filter(|_| !self.alone),
            requests: counts_requests.then_some(self.requests),
            per_second: self.rows.clone(),
            last_connection: self.last_connection.map(after),
            last_request: last_request.filter(|_| counts_requests),
            unattributed: self.unattributed,
            uncounted: self.uncounted,
            margin: last_request
                .filter(|_| counts_requests && ran_its_course && self.unattributed.is_none() && !self.uncounted)
                .map(|last| after(ends).saturating_sub(last)),
            accept_queue_at_signal: self.told.map(|(_, shown)| shown.accept_queue),
            owed_at_signal: self.told.filter(|_| counts_requests).map(|(_, shown)| shown.owed),
            held: self.told.filter(|_| self.delay_over.is_some()).map(|(at, _)| at.saturating_sub(over_at)),
            connections_left: self.shown().map(|shown| shown.connections),
            ended,
            delay_over: after(over_at),
            in_last_second,
            closed,
            delay,
        }
    }
}
