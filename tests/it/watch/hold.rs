//! A server that cannot drain gets its graceful signal when no answer is owed any more.

use super::{Watched, seconds};
use std::time::Duration;

#[test]
fn an_answer_in_flight_at_the_end_of_the_delay_goes_out_first() {
    needs!();
    let mut watched = Watched::start(&["--delay", "2s"], &[("SLOW", "4")]);
    let mut clients: Vec<_> = (0..3).map(|_| watched.client()).collect();
    watched.stop();
    for client in &mut clients {
        client.ask("/slow");
    }
    assert!(clients.iter_mut().all(super::Client::is_answered), "{}", watched.log());
    let traffic = watched.ended();
    assert_eq!(traffic["owed_at_signal"], 0);
    assert!(seconds(&traffic["held_s"]) >= Duration::from_secs(1), "{traffic}");
    let log = watched.log();
    assert!(log.contains("waiting for 3 answers still owed, at most "), "{log}");
}

#[test]
fn it_is_cut_when_nobody_asked_to_wait() {
    needs!();
    let mut watched = Watched::start(&["--delay", "3s", "--wait-idle", "never"], &[("SLOW", "600")]);
    let mut client = watched.client();
    watched.stop();
    client.ask("/slow");
    assert!(!client.is_answered());
    let traffic = watched.ended();
    assert_eq!((&traffic["owed_at_signal"], &traffic["ended"]), (&1.into(), &"delay".into()));
    assert!(!watched.log().contains("still owed"));
}

#[test]
fn the_signal_goes_out_though_an_answer_is_owed_for_ever() {
    needs!();
    let mut watched = Watched::start(&["--delay", "2s", "--drain-timeout", "4s"], &[]);
    let mut client = watched.client();
    watched.stop();
    // A WebSocket opened during the delay, on which the client spoke last.
    client.ask("/ws");
    watched.run.expect_stdout("ws\n");
    let traffic = watched.ended();
    assert_eq!(traffic["owed_at_signal"], 1);
    assert!(seconds(&traffic["held_s"]) >= Duration::from_secs(2), "half of the drain: {traffic}");
    let log = watched.log();
    assert!(log.contains("waited as long as may be, 1 answer still owed; SIGTERM to python3"), "{log}");
    assert!(!log.contains("SIGKILL to"), "its own signal came before the KILL: {log}");
}

#[test]
fn a_connection_that_waited_before_the_stop_holds_nothing_after_five_seconds() {
    needs!();
    let mut watched = Watched::start(&["--delay", "6s", "--drain-timeout", "10m"], &[]);
    let mut client = watched.client();
    client.ask("/ws");
    watched.run.expect_stdout("ws\n");
    watched.stop();
    // Not for five minutes: the harness would not wait that long.
    let traffic = watched.ended();
    assert_eq!((&traffic["owed_at_signal"], &traffic["connections_at_stop"]), (&0.into(), &1.into()));
}

#[test]
fn without_a_delay_nothing_is_held_and_nothing_watched() {
    needs!();
    let mut watched = Watched::start(&[], &[("SLOW", "600")]);
    let mut client = watched.client();
    client.ask("/slow");
    watched.run.expect_stdout("slow\n");
    watched.run.signal(nix::libc::SIGTERM);
    watched.run.expect_exit(143);
    assert!(watched.traffic().is_null());
    let mut watched = Watched::start(&["--wait-idle", "always"], &[("SLOW", "3")]);
    let mut client = watched.client();
    client.ask("/slow");
    watched.run.expect_stdout("slow\n");
    watched.run.signal(nix::libc::SIGTERM);
    assert!(client.is_answered(), "{}", watched.log());
    assert_eq!(watched.ended()["verdict"], "there was no delay");
}

#[test]
fn a_second_stop_signal_ends_the_hold() {
    needs!();
    let mut watched = Watched::start(&["--delay", "2s", "--drain-timeout", "10m"], &[]);
    let mut client = watched.client();
    watched.stop();
    client.ask("/ws");
    watched.run.expect_stderr("waiting for 1 answer still owed");
    watched.run.signal(nix::libc::SIGTERM);
    assert_eq!(watched.ended()["owed_at_signal"], 1);
}

#[test]
fn node_without_a_handler_loses_no_slow_request() {
    needs!("node");
    let script = "require('http').createServer((q, s) => setTimeout(() => s.end('hello\\n'), 4000)).listen(0, \
                  '127.0.0.1', function () { console.log('port ' + this.address().port) })";
    let mut run = crate::support::Init::new().flags(["--delay", "2s"]).cmd(["node", "-e", script]).spawn();
    let port = run.told("port");
    run.signal(nix::libc::SIGTERM);
    run.expect_stderr("serving on");
    let requests: Vec<_> = (0..5).map(|_| crate::support::http::send(port, "/").unwrap()).collect();
    for request in requests {
        assert!(request.answered(), "{}", run.stderr());
    }
    run.expect_exit(143);
}
