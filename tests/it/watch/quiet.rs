//! A delay that ends when the traffic is over, and not before.

use super::Watched;
use std::time::{Duration, Instant};

#[test]
fn the_delay_ends_when_the_traffic_is_over() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "5m", "--min-delay", "3s", "--quiet", "3s"]);
    watched.stop();
    watched.requests(40, "0.05");
    let traffic = watched.ended();
    assert_eq!((&traffic["ended"], &traffic["source"]), (&"quiet".into(), &"sock_diag".into()), "{traffic}");
    assert_eq!((&traffic["requests"], &traffic["new_connections"]), (&40.into(), &40.into()), "{traffic}");
    let log = watched.log();
    assert!(log.contains("so that the delay ended after") && log.contains("draining: no more traffic; "), "{log}");
}

#[test]
fn it_lasts_at_least_as_long_as_was_asked_for() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "5m", "--min-delay", "8s", "--quiet", "2s"]);
    let began = watched.stop();
    watched.requests(40, "0.05");
    let traffic = watched.ended();
    assert_eq!(traffic["ended"], "quiet");
    assert!(began.elapsed() >= Duration::from_secs(8));
}

#[test]
fn sparse_traffic_and_none_wait_the_whole_delay() {
    needs!("nsenter", "ip");
    let began = Instant::now();
    let flags = ["--delay", "6s", "--min-delay", "1s", "--quiet", "1s"];
    let (mut sparse, mut none) = (Watched::alone(&flags), Watched::alone(&flags));
    sparse.stop();
    none.stop();
    sparse.requests(2, "2");
    let traffic = sparse.ended();
    assert_eq!((&traffic["ended"], &traffic["requests"]), (&"delay".into(), &2.into()), "{traffic}");
    assert!(sparse.log().contains("which may be chance with 2 requests in all"), "{}", sparse.log());
    let traffic = none.ended();
    assert_eq!((&traffic["ended"], &traffic["requests"]), (&"delay".into(), &0.into()), "{traffic}");
    assert_eq!(traffic["verdict"], "no traffic seen: the delay cannot be judged");
    assert!(began.elapsed() >= Duration::from_secs(6));
}
