//! Samples in virtual time, and what is made of them.

mod passing;
mod shared;

use super::verdict::Verdict;
use super::*;
use crate::core::fixtures::{ms, secs};

/// The stop signal of all of these.
const BEGAN: Tick = secs(100);

/// A server, its clients, and the watch on them: four samples a second.
struct Watched {
    traffic: Traffic,
    now: Tick,
    connections: Vec<(u64, Counters)>,
    opens: Option<u64>,
    next_id: u64,
    queue: u32,
}

impl Watched {
    /// So many idle connections when the stop comes, and the first sample taken.
    fn with(idle: u64) -> Self {
        let mut traffic = Traffic::new(BEGAN, Source::SockDiag, Some(1_000));
        traffic.set_alone(true);
        let mut watched =
            Self { traffic, now: BEGAN, connections: Vec::new(), opens: Some(1_000), next_id: 0, queue: 0 };
        (0..idle).for_each(|_| {
            watched.open();
            watched.ask(0);
            watched.answer(0);
        });
        watched.opens = Some(1_000);
        watched.connections.iter_mut().for_each(|(_, c)| (c.since_received, c.since_sent) = (secs(9), secs(9)));
        watched.sample();
        watched
    }

    fn open(&mut self) {
        self.next_id += 1;
        self.connections.insert(0, (self.next_id, Counters::default()));
        self.opens = self.opens.map(|opens| opens + 1);
    }

    /// A request on a connection.
    fn ask(&mut self, at: usize) {
        let counters = &mut self.connections[at].1;
        counters.received += 100;
        counters.segments_in += 1;
        counters.since_received = ms(0);
    }

    fn answer(&mut self, at: usize) {
        let counters = &mut self.connections[at].1;
        counters.sent += 1_000;
        counters.segments_out += 1;
        counters.since_sent = ms(0);
    }

    /// A connection for one request, gone before anybody looks.
    fn pass_by(&mut self) {
        self.opens = self.opens.map(|opens| opens + 1);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for (_, counters) in &mut self.connections {
            counters.since_received += time;
            counters.since_sent += time;
        }
    }

    fn sample(&mut self) -> Shown {
        self.traffic.begin_sample();
        for (id, counters) in &self.connections {
            assert!(self.traffic.connection(self.now, *id, Some(counters)));
        }
        self.traffic.end_of_sample(self.now, self.queue, self.opens)
    }

    /// For so many quarters of a second, `requests` in each on the first connection.
    fn busy(&mut self, quarters: u32, requests: u32) -> &mut Self {
        for _ in 0..quarters {
            for _ in 0..requests {
                self.ask(0);
                self.answer(0);
            }
            self.pass(ms(250));
            self.sample();
        }
        self
    }

    fn silent(&mut self, quarters: u32) -> &mut Self {
        self.busy(quarters, 0)
    }

    fn is_quiet(&self, silence: Duration, min_delay: Duration) -> bool {
        self.traffic.is_quiet(self.now, BEGAN, &Quiet { silence, min_delay })
    }

    /// The delay of this length ends now, and the signal goes out.
    fn over(&mut self, delay: Duration, ended: Ended) -> Evidence {
        self.traffic.on_delay_over(self.now, ended);
        self.traffic.on_told(self.now);
        self.traffic.evidence(self.now, delay, BEGAN + delay)
    }
}

fn verdict(evidence: &Evidence) -> String {
    Verdict { evidence, signal: "SIGTERM" }.to_string()
}

#[test]
fn what_comes_is_counted_second_by_second() {
    let mut watched = Watched::with(3);
    watched.busy(4, 5).silent(4).busy(2, 1);
    watched.open();
    watched.ask(0);
    watched.answer(0);
    watched.pass(ms(100));
    watched.sample();
    let evidence = watched.over(ms(2_600), Ended::Delay);
    let row = |second, connections, requests| Row { second, connections, requests };
    assert_eq!(evidence.per_second, [row(0, 0, 20), row(2, 1, 3)]);
    assert_eq!((evidence.connections_at_stop, evidence.new_connections), (Some(3), Some(1)));
    assert_eq!(evidence.requests, Some(23));
    assert_eq!((evidence.last_request, evidence.last_connection), (Some(ms(2_500)), Some(ms(2_500))));
    assert_eq!(evidence.margin, Some(ms(100)));
    assert_eq!((evidence.owed_at_signal, evidence.connections_left), (Some(0), Some(4)));
}

#[test]
fn a_connection_that_one_sample_misses_brings_nothing_new() {
    let mut watched = Watched::with(2);
    watched.busy(4, 10);
    let missed = watched.connections.remove(0);
    watched.pass(ms(250));
    watched.sample();
    watched.connections.insert(0, missed);
    watched.silent(1);
    let evidence = watched.over(secs(15), Ended::Delay);
    assert_eq!((evidence.requests, evidence.new_connections), (Some(40), Some(0)));
}

#[test]
fn in_a_shared_namespace_connections_are_the_namespaces() {
    let mut watched = Watched::with(1);
    watched.traffic.set_alone(false);
    watched.pass_by();
    watched.busy(1, 2);
    let evidence = watched.over(secs(15), Ended::Delay);
    assert_eq!((evidence.new_connections, evidence.namespace_opens), (None, Some(1)));
    assert_eq!(evidence.requests, Some(2), "another's connection is no request of ours");
}

#[test]
fn what_comes_after_the_signal_is_the_drains() {
    let mut watched = Watched::with(1);
    watched.busy(4, 1);
    watched.ask(0);
    watched.queue = 2;
    watched.sample();
    let before = watched.over(secs(1), Ended::Delay);
    watched.busy(4, 3);
    watched.connections.clear();
    watched.silent(1);
    let after = watched.traffic.evidence(watched.now, secs(1), BEGAN + secs(1));
    assert_eq!((after.owed_at_signal, after.accept_queue_at_signal), (Some(1), Some(2)));
    assert_eq!(after, Evidence { connections_left: Some(0), ..before });
}

#[test]
fn steady_traffic_that_ends_is_quiet_after_the_time_asked_for() {
    let mut watched = Watched::with(2);
    watched.busy(6, 15);
    // The last request came a quarter of a second before the last sample that showed one.
    assert!(!watched.silent(2).is_quiet(secs(1), secs(1)));
    assert!(watched.silent(1).is_quiet(secs(1), secs(1)));
    assert!(!watched.is_quiet(ms(1_001), secs(1)) && watched.is_quiet(secs(1), ms(2_250)));
    assert!(!watched.is_quiet(secs(1), ms(2_251)), "never below the least delay");
    assert!(!watched.busy(1, 1).is_quiet(secs(1), secs(1)), "one request and it begins anew");
    assert!(!watched.silent(2).is_quiet(secs(1), secs(1)));
}

#[test]
fn sparse_traffic_is_never_quiet() {
    let mut watched = Watched::with(2);
    // One request in five seconds, for a minute.
    for _ in 0..12 {
        watched.busy(1, 1);
        for _ in 0..19 {
            watched.silent(1);
            assert!(!watched.is_quiet(secs(1), secs(1)), "at {:?}", watched.now);
        }
    }
}

#[test]
fn a_burst_is_no_rate_and_nothing_is_no_traffic() {
    let mut watched = Watched::with(2);
    watched.busy(2, 500);
    assert!(!watched.silent(100).is_quiet(secs(1), secs(1)));
    let mut watched = Watched::with(50);
    assert!(!watched.silent(100).is_quiet(secs(1), secs(1)));
}

#[test]
fn the_slower_the_traffic_was_the_longer_the_silence() {
    // Two a second for four and a half seconds: as long again.
    let mut watched = Watched::with(1);
    for _ in 0..10 {
        watched.busy(1, 1).silent(1);
    }
    let quarters = (1..80).find(|_| watched.silent(1).is_quiet(secs(1), secs(1)));
    assert_eq!(quarters.map(|quarters| ms(250) * quarters + ms(500)), Some(ms(4_500)));
}

#[test]
fn whatever_comes_from_the_namespace_prevents_the_quiet() {
    let mut watched = Watched::with(2);
    watched.traffic.set_alone(false);
    watched.busy(6, 15);
    for _ in 0..20 {
        watched.pass_by();
        assert!(!watched.silent(1).is_quiet(secs(1), secs(1)));
    }
    assert!(watched.silent(4).is_quiet(secs(1), secs(1)));
}

#[test]
fn where_not_all_is_seen_nothing_is_quiet() {
    let mut watched = Watched::with(2);
    watched.opens = None;
    watched.traffic.opens = None;
    assert!(!watched.busy(6, 15).silent(10).is_quiet(secs(1), secs(1)), "no count of connections");
    let mut watched = Watched::with(2);
    watched.busy(6, 15);
    watched.traffic.fall_back(Source::Proc);
    assert!(!watched.silent(10).is_quiet(secs(1), secs(1)));
}

#[test]
fn silence_must_be_seen_and_not_only_have_passed() {
    let mut watched = Watched::with(2);
    watched.busy(6, 15);
    // Frozen for a minute.
    watched.pass(secs(60));
    watched.sample();
    assert!(!watched.is_quiet(secs(1), secs(1)));
}

#[test]
fn answers_owed_are_counted_as_long_as_they_are_worth_it() {
    let mut watched = Watched::with(2);
    watched.pass(ms(50));
    watched.ask(0);
    watched.pass(ms(250));
    assert_eq!(watched.sample().owed, 1);
    // A WebSocket opened in the delay, on which the client spoke last, counts on; the machine bounds it.
    watched.pass(secs(60));
    assert_eq!(watched.sample().owed, 1);
    watched.answer(0);
    assert_eq!(watched.sample().owed, 0);
}

/// A server that closes each connection with its next answer, as nginx does beside a drain file: the
/// request before is gone with its connection when the next sample is taken.
#[test]
fn connections_that_close_may_have_brought_a_last_request() {
    let mut watched = Watched::with(3);
    watched.silent(2);
    watched.connections.truncate(1);
    watched.silent(18);
    let evidence = watched.over(secs(5), Ended::Delay);
    assert_eq!((evidence.closed, evidence.requests, evidence.margin), (2, Some(0), None));
    assert_eq!(
        verdict(&evidence),
        "no request seen, but 2 connections closed, perhaps each after a last one: the delay cannot be judged"
    );
    // What closes in the drain is no news.
    watched.connections.clear();
    watched.sample();
    assert_eq!(watched.traffic.evidence(watched.now, secs(5), BEGAN + secs(5)).closed, 2);
}

#[test]
fn the_verdict_says_what_to_make_of_it() {
    let said = |watched: &mut Watched, delay, ended| verdict(&watched.over(delay, ended));
    let mut watched = Watched::with(1);
    watched.busy(32, 2).silent(28);
    assert_eq!(
        said(&mut watched, secs(15), Ended::Delay),
        "last request 7.7 s after SIGTERM; delay 15s left 7.2 s of margin"
    );
    let mut watched = Watched::with(1);
    watched.busy(20, 3);
    assert_eq!(
        said(&mut watched, secs(5), Ended::Delay),
        "requests were still arriving when the delay ended (12 in the last second): raise --delay"
    );
    let mut watched = Watched::with(1);
    watched.silent(20);
    let mut evidence = watched.over(secs(5), Ended::Delay);
    assert_eq!(verdict(&evidence), "no traffic seen: the delay cannot be judged");
    evidence.delay = secs(0);
    assert_eq!(verdict(&evidence), "there was no delay");
    let mut watched = Watched::with(1);
    watched.busy(1, 1).silent(19);
    assert_eq!(
        said(&mut watched, secs(5), Ended::Delay),
        "last request 0.0 s after SIGTERM; delay 5s left 5.0 s of margin, which may be chance with 1 request in all"
    );
    let mut watched = Watched::with(1);
    watched.busy(7, 20).silent(5);
    assert_eq!(
        said(&mut watched, secs(15), Ended::Quiet),
        "last request 1.5 s after SIGTERM; quiet since, so that the delay ended after 3.0 s instead of 15s"
    );
    let mut watched = Watched::with(1);
    watched.busy(7, 20).silent(1);
    let evidence = watched.over(secs(15), Ended::Hurried);
    assert_eq!(verdict(&evidence), "last request 1.5 s after SIGTERM; hurried after 2.0 s: the delay cannot be judged");
    assert_eq!(evidence.margin, None);
}

#[test]
fn a_server_that_dies_in_the_delay_leaves_what_was_seen() {
    let mut watched = Watched::with(1);
    watched.busy(7, 20);
    let evidence = watched.traffic.evidence(watched.now, secs(15), BEGAN + secs(15));
    assert_eq!((evidence.ended, evidence.held, evidence.owed_at_signal), (Ended::Died, None, None));
    assert_eq!(verdict(&evidence), "the server ended by itself 1.7 s after SIGTERM: the delay cannot be judged");
}

#[test]
fn where_only_connections_are_seen_the_verdict_is_about_those() {
    let mut traffic = Traffic::new(BEGAN, Source::Proc, Some(7));
    traffic.set_alone(true);
    for (quarter, opens) in [(0, 7), (1, 7), (2, 9), (3, 9)] {
        traffic.begin_sample();
        traffic.connection(BEGAN + ms(250 * quarter), 0, None);
        traffic.end_of_sample(BEGAN + ms(250 * quarter), 0, Some(opens));
    }
    traffic.on_delay_over(BEGAN + secs(1), Ended::Delay);
    let evidence = traffic.evidence(BEGAN + secs(1), secs(1), BEGAN + secs(1));
    assert_eq!((evidence.requests, evidence.new_connections, evidence.margin), (None, Some(2), None));
    assert_eq!(
        verdict(&evidence),
        "last connection 0.5 s after SIGTERM, and requests cannot be seen here: the delay cannot be judged"
    );
}

#[test]
fn memory_does_not_grow_with_the_delay_or_the_clients() {
    let mut watched = Watched::with(1);
    for _ in 0..2 * MOST_ROWS {
        watched.ask(0);
        watched.answer(0);
        watched.pass(secs(1));
        watched.sample();
    }
    assert_eq!(watched.over(secs(3_600), Ended::Delay).per_second.len(), MOST_ROWS);
    let mut traffic = Traffic::new(BEGAN, Source::SockDiag, Some(1_000));
    let taken = (0..200_000_u64).filter(|id| traffic.connection(BEGAN, *id, Some(&Counters::default()))).count();
    assert_eq!(taken, MOST_CONNECTIONS);
}

#[test]
fn the_json_has_all_its_keys_whatever_is_known() {
    let mut watched = Watched::with(1);
    watched.busy(4, 1);
    let seen: serde_json::Value =
        serde_json::from_str(&watched.over(secs(1), Ended::Delay).json(&[8_080], "SIGTERM").to_string()).unwrap();
    let nothing: serde_json::Value =
        serde_json::from_str(&Evidence::json_of_nothing("no port was found").to_string()).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&seen), keys(&nothing));
    assert_eq!(seen["source"], "sock_diag");
    assert_eq!(seen["ports"], serde_json::json!([8_080]));
    assert_eq!(seen["per_second"], serde_json::json!([{"second": 0, "connections": 0, "requests": 4}]));
    assert_eq!((&seen["ended"], &seen["held_s"]), (&"delay".into(), &0.0.into()));
    assert_eq!((&nothing["source"], &nothing["ended"]), (&"none".into(), &serde_json::Value::Null));
    assert_eq!(nothing["verdict"], "the traffic was not seen: no port was found");
}
