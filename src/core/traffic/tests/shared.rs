//! A network namespace that others accept connections in too: what is not seen may be theirs or ours,
//! and nothing is claimed that this would overthrow.

use super::*;

/// In company, with a kept-alive connection.
fn in_company() -> Watched {
    let mut watched = Watched::with(1);
    watched.traffic.set_alone(false);
    watched
}

impl Watched {
    /// For so many quarters of a second, one connection in each that is gone before anybody looks.
    fn passed_by(&mut self, quarters: u32) -> &mut Self {
        for _ in 0..quarters {
            self.pass_by();
            self.silent(1);
        }
        self
    }
}

#[test]
fn a_connection_of_nobody_knows_whom_after_the_last_request_leaves_no_margin() {
    let mut watched = in_company();
    watched.busy(1, 1).silent(19).passed_by(1).silent(4).passed_by(4).silent(31);
    let evidence = watched.over(secs(15), Ended::Delay);
    assert_eq!((evidence.last_request, evidence.margin), (Some(ms(0)), None));
    assert_eq!(evidence.unattributed, Some(Unattributed { connections: 5, last: ms(7_250) }));
    assert_eq!((evidence.requests, evidence.namespace_opens), (Some(1), Some(5)));
    assert_eq!(
        verdict(&evidence),
        "last request 0.0 s after SIGTERM, but 5 more connections came to this network namespace, the last 7.2 s \
         after SIGTERM, and whose they were cannot be told: the delay cannot be judged"
    );
}

#[test]
fn one_before_the_last_request_or_beside_it_leaves_the_margin_as_it_is() {
    let mut watched = in_company();
    watched.passed_by(4);
    // A sidecar takes each request in and passes it on by a connection that it keeps.
    for _ in 0..10 {
        watched.pass_by();
        watched.busy(1, 1);
    }
    watched.silent(26);
    let evidence = watched.over(secs(10), Ended::Delay);
    assert_eq!((evidence.unattributed, evidence.namespace_opens), (None, Some(14)));
    assert_eq!((evidence.last_request, evidence.margin), (Some(ms(3_250)), Some(ms(6_750))));
    assert_eq!(verdict(&evidence), "last request 3.2 s after SIGTERM; delay 10s left 6.7 s of margin");
}

#[test]
fn those_that_were_seen_on_the_watched_ports_are_no_others() {
    let mut watched = in_company();
    watched.busy(4, 2);
    watched.open();
    watched.silent(20);
    let evidence = watched.over(secs(6), Ended::Delay);
    assert_eq!((evidence.unattributed, evidence.namespace_opens), (None, Some(1)));
    assert_eq!((evidence.last_connection, evidence.margin), (Some(ms(1_250)), Some(ms(5_250))));
    // Nor is one that is seen before it is counted.
    let mut watched = in_company();
    watched.open();
    watched.opens = Some(1_000);
    watched.silent(1);
    watched.opens = Some(1_001);
    assert_eq!(watched.silent(4).over(secs(15), Ended::Delay).unattributed, None);
}

#[test]
fn what_comes_while_the_signal_is_held_may_be_a_request_too() {
    let mut watched = in_company();
    watched.busy(8, 2).silent(4);
    watched.traffic.on_delay_over(watched.now, Ended::Delay);
    let evidence = |watched: &Watched| watched.traffic.evidence(watched.now, secs(3), BEGAN + secs(3));
    assert_eq!(evidence(&watched).margin, Some(ms(1_250)));
    watched.passed_by(1);
    assert_eq!(evidence(&watched).margin, None);
    // What comes after the signal is the drain's.
    let mut watched = in_company();
    watched.busy(8, 2).silent(4).over(secs(3), Ended::Delay);
    assert_eq!(evidence(watched.passed_by(4)).margin, Some(ms(1_250)));
}

#[test]
fn without_a_request_the_verdict_says_what_may_have_been_one() {
    let said = |watched: &mut Watched, ended| verdict(&watched.over(secs(5), ended));
    assert_eq!(
        said(in_company().silent(3).passed_by(1).silent(16), Ended::Delay),
        "no request seen, but 1 connection came to this network namespace, 1.0 s after SIGTERM, and whose it was \
         cannot be told: the delay cannot be judged"
    );
    let mut watched = in_company();
    watched.open();
    assert_eq!(
        said(watched.silent(4), Ended::Delay),
        "last connection 0.2 s after SIGTERM, without a request: the delay cannot be judged"
    );
    assert_eq!(said(in_company().silent(20), Ended::Delay), "no traffic seen: the delay cannot be judged");
    assert_eq!(
        said(in_company().busy(4, 2).passed_by(1), Ended::Hurried),
        "last request 0.7 s after SIGTERM, but 1 more connection came to this network namespace, 1.2 s after \
         SIGTERM, and whose it was cannot be told; hurried after 1.2 s: the delay cannot be judged"
    );
    assert_eq!(
        said(in_company().busy(8, 20).passed_by(1).silent(4), Ended::Quiet),
        "last request 1.7 s after SIGTERM, but 1 more connection came to this network namespace, 2.2 s after \
         SIGTERM, and whose it was cannot be told; quiet since, so that the delay ended after 3.2 s instead of 5s"
    );
}

#[test]
fn requests_that_still_arrive_are_told_of_whoever_else_comes() {
    let mut watched = in_company();
    watched.busy(16, 2).passed_by(2);
    let evidence = watched.over(ms(4_500), Ended::Delay);
    assert_eq!(
        verdict(&evidence),
        "requests were still arriving when the delay ended (4 in the last second): raise --delay"
    );
}

#[test]
fn where_only_connections_are_seen_the_namespaces_are_told_of() {
    let mut traffic = Traffic::new(BEGAN, Source::Proc, Some(7));
    for (quarter, opens) in [(0, 7), (1, 7), (2, 9), (3, 9)] {
        traffic.begin_sample();
        traffic.connection(BEGAN + ms(250 * quarter), 0, None);
        traffic.end_of_sample(BEGAN + ms(250 * quarter), 0, Some(opens));
    }
    traffic.on_delay_over(BEGAN + secs(1), Ended::Delay);
    let evidence = traffic.evidence(BEGAN + secs(1), secs(1), BEGAN + secs(1));
    assert_eq!(
        verdict(&evidence),
        "no new connection seen, and requests cannot be seen here, but 2 connections came to this network \
         namespace, the last 0.5 s after SIGTERM, and whose they were cannot be told: the delay cannot be judged"
    );
}

#[test]
fn a_count_that_is_lost_on_the_way_keeps_the_delay() {
    let mut watched = in_company();
    watched.busy(6, 15);
    watched.opens = None;
    assert!(!watched.silent(20).is_quiet(secs(1), secs(1)));
    // Had again: what came meanwhile is counted, and it must be quiet from then on.
    watched.opens = Some(1_000);
    assert!(!watched.silent(1).is_quiet(secs(1), secs(1)));
    assert!(watched.silent(1).is_quiet(secs(1), secs(1)));
}

#[test]
fn where_connections_are_not_counted_none_is_known_to_be_the_last() {
    let mut watched = Watched::with(1);
    watched.opens = None;
    watched.traffic.opens = None;
    watched.busy(4, 2).silent(8);
    let evidence = watched.over(secs(3), Ended::Delay);
    assert_eq!((evidence.requests, evidence.margin), (Some(8), None));
    assert_eq!(
        verdict(&evidence),
        "last request 0.7 s after SIGTERM, but connections that come and go unseen cannot be counted here: the \
         delay cannot be judged"
    );
}
