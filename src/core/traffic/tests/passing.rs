//! Connections that come and go between two samples, or all but.

use super::*;

#[test]
fn a_connection_that_nobody_saw_is_one_request() {
    let mut watched = Watched::with(0);
    for _ in 0..3 {
        watched.pass_by();
        watched.pass(ms(250));
        watched.sample();
    }
    watched.pass(ms(250));
    watched.sample();
    let evidence = watched.over(secs(15), Ended::Delay);
    assert_eq!((evidence.requests, evidence.new_connections), (Some(3), Some(3)));
    assert_eq!(evidence.last_request, Some(ms(750)));
}

#[test]
fn a_connection_that_was_seen_before_it_had_said_anything_and_then_no_more_is_one_request() {
    let mut watched = Watched::with(2);
    let opened = |watched: &mut Watched| {
        watched.open();
        watched.pass(ms(250));
        watched.sample();
    };
    opened(&mut watched);
    assert_eq!(watched.traffic.requests, 0, "so far it was only opened");
    let missed = watched.connections.remove(0);
    watched.silent(1);
    assert_eq!((watched.traffic.requests, watched.traffic.last_request), (1, Some(watched.now)));
    // A dump may miss one that is there: the request that it then shows is the same.
    watched.connections.insert(0, missed);
    watched.busy(1, 1);
    assert_eq!(watched.traffic.requests, 1);
    watched.busy(1, 1);
    assert_eq!(watched.traffic.requests, 2);
    // One that was open for longer and said nothing was opened ahead of requests that never came.
    opened(&mut watched);
    watched.sample();
    watched.connections.remove(0);
    watched.silent(5);
    assert_eq!(watched.traffic.requests, 2);
}

#[test]
fn what_comes_before_the_first_sample_counts_by_connections() {
    let mut traffic = Traffic::new(BEGAN, Source::SockDiag, Some(10));
    traffic.set_alone(true);
    let counters = Counters { received: 100, sent: 9, segments_in: 1, segments_out: 1, ..Counters::default() };
    traffic.connection(BEGAN + ms(40), 1, Some(&counters));
    traffic.end_of_sample(BEGAN + ms(40), 0, Some(12));
    let evidence = traffic.evidence(BEGAN + ms(40), secs(1), BEGAN + secs(1));
    assert_eq!((evidence.new_connections, evidence.requests), (Some(2), Some(2)));
}

#[test]
fn a_connection_seen_before_it_is_counted_is_counted_once() {
    let mut watched = Watched::with(0);
    // Opened between the count, which is read first, and the look at the connections.
    watched.open();
    watched.ask(0);
    watched.opens = Some(1_000);
    watched.pass(ms(250));
    watched.sample();
    watched.opens = Some(1_001);
    watched.silent(2);
    let evidence = watched.over(secs(15), Ended::Delay);
    assert_eq!((evidence.requests, evidence.new_connections), (Some(1), Some(1)));
}
