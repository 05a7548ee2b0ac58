//! Containers that the engine freezes in the middle of a stop (`docker pause`), and lets go on.
//!
//! Time passes meanwhile, for lameduck's deadlines too: what was due in the ice is done at the thaw, in
//! its order.

use super::container::Container;
use super::image::Slot;
use super::stops::{in_a_container, start_nginx};
use crate::support::until;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Stops the server of `slot`, and freezes it as soon as it says that `phase` has begun, until `frozen`
/// has passed. Returns when it runs again.
fn freeze_in(container: &Container, phase: &str, frozen: Duration) {
    container.signal("TERM");
    until("the phase begins", || container.words().contains(&format!("\"phase\":\"{phase}\"")));
    container.pause();
    let began = Instant::now();
    until("the deadline has passed", || began.elapsed() >= frozen);
    container.unpause();
}

#[test]
fn frozen_past_its_delay_the_server_is_asked_at_the_thaw_and_has_its_whole_drain() {
    let name = "frozen_past_its_delay_the_server_is_asked_at_the_thaw_and_has_its_whole_drain";
    in_a_container(name, |slot| {
        let container = start_nginx(slot, &[], &["--delay", "3s", "--drain-timeout", "2s"]);
        let _held = held(slot);
        freeze_in(&container, "lame-duck", Duration::from_millis(5_500));
        let stopped = container.wait();
        let log = &stopped.log;
        // The server never ends: so it is killed, but only after it was asked and had its two seconds.
        let (draining, killing) = (log.phase("draining"), log.phase("killing"));
        assert!(draining.get("told").starts_with("SIGQUIT to nginx["), "{}", log.text);
        assert!(draining.elapsed() >= Duration::from_secs(3), "{}", log.text);
        assert!(killing.elapsed() >= draining.elapsed() + Duration::from_secs(2), "{}", log.text);
        assert_eq!(stopped.code, 137, "{}", log.text);
    });
}

#[test]
fn frozen_past_its_drain_it_is_killed_at_the_thaw() {
    in_a_container("frozen_past_its_drain_it_is_killed_at_the_thaw", |slot| {
        let container = start_nginx(slot, &[], &["--drain-timeout", "4s"]);
        let _held = held(slot);
        freeze_in(&container, "draining", Duration::from_millis(4_100));
        let stopped = container.wait();
        let log = &stopped.log;
        assert!(log.phase("draining").get("told").starts_with("SIGQUIT to nginx["), "{}", log.text);
        assert!(log.phase("killing").elapsed() >= Duration::from_secs(4), "{}", log.text);
        assert_eq!((stopped.code, log.phase("gone").get("during")), (137, "killing"), "{}", log.text);
    });
}

#[test]
fn stopped_while_frozen_it_serves_its_whole_delay_once_it_is_thawed() {
    in_a_container("stopped_while_frozen_it_serves_its_whole_delay_once_it_is_thawed", |slot| {
        let container = start_nginx(slot, &[], &["--delay", "1s"]);
        container.pause();
        // The engine lets a container go on so that it can hear the signal.
        let stopped = container.stop();
        let log = &stopped.log;
        assert!(log.phase("draining").get("told").starts_with("SIGQUIT to nginx["), "{}", log.text);
        assert!(log.phase("draining").elapsed() >= Duration::from_secs(1), "{}", log.text);
        assert_eq!(stopped.code, 0, "{}", log.text);
    });
}

/// A request that is never answered, so that the server never has drained: both of its ends.
fn held(slot: Slot) -> [TcpStream; 2] {
    let backend = TcpListener::bind(("127.0.0.1", slot.backend)).expect("the backend's port is free");
    let mut client = TcpStream::connect(("127.0.0.1", slot.port)).expect("the server is up");
    client.write_all(b"GET /slow HTTP/1.0\r\n\r\n").expect("the server reads");
    let (passed_on, _) = backend.accept().expect("the server asks the backend");
    [client, passed_on]
}
