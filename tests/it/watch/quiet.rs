//! A delay that ends when the traffic is over, and not before.

use super::{OWN_NETWORK, Watched, seconds};
use crate::support::{Init, Running};
use std::time::{Duration, Instant};

/// A server in a network of its own, where nobody else's connections keep it from getting quiet.
fn alone(flags: &[&str]) -> Watched {
    Watched::start_in(Init::new().through(OWN_NETWORK), flags, &[])
}

/// Sends requests from within its network, `count` of them, a pause between two: with curl's like,
/// each on a connection of its own.
fn requests(run: &Running, port: u16, count: u32, pause: &str) {
    let script = format!(
        "import socket, time\nfor _ in range({count}):\n  s = socket.create_connection(('127.0.0.1', {port}))\n  \
         s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')\n  assert s.recv(999)\n  s.close()\n  time.sleep({pause})"
    );
    assert!(run.inside_its_network(&["/usr/bin/python3", "-c", &script]).status().unwrap().success());
}

#[test]
fn the_delay_ends_when_the_traffic_is_over() {
    needs!("nsenter", "ip");
    let mut watched = alone(&["--delay", "5m", "--min-delay", "1s", "--quiet", "1s"]);
    watched.stop();
    requests(&watched.run, watched.port, 40, "0.05");
    let traffic = watched.ended();
    assert_eq!((&traffic["ended"], &traffic["source"]), (&"quiet".into(), &"sock_diag".into()));
    assert_eq!((&traffic["requests"], &traffic["new_connections"]), (&40.into(), &40.into()));
    let log = watched.log();
    assert!(log.contains("so that the delay ended after") && log.contains("draining: no more traffic; "), "{log}");
}

#[test]
fn it_lasts_at_least_as_long_as_was_asked_for() {
    needs!("nsenter", "ip");
    let mut watched = alone(&["--delay", "5m", "--min-delay", "4s", "--quiet", "500ms"]);
    let began = watched.stop();
    requests(&watched.run, watched.port, 40, "0.05");
    let traffic = watched.ended();
    assert_eq!(traffic["ended"], "quiet");
    assert!(began.elapsed() >= Duration::from_secs(4));
}

#[test]
fn sparse_traffic_and_none_wait_the_whole_delay() {
    needs!("nsenter", "ip");
    let began = Instant::now();
    let flags = ["--delay", "6s", "--min-delay", "1s", "--quiet", "1s"];
    let (mut sparse, mut none) = (alone(&flags), alone(&flags));
    sparse.stop();
    none.stop();
    requests(&sparse.run, sparse.port, 2, "2");
    let traffic = sparse.ended();
    assert_eq!((&traffic["ended"], &traffic["requests"]), (&"delay".into(), &2.into()));
    assert!(sparse.log().contains("which may be chance with 2 requests in all"), "{}", sparse.log());
    let traffic = none.ended();
    assert_eq!((&traffic["ended"], &traffic["requests"]), (&"delay".into(), &0.into()));
    assert_eq!(traffic["verdict"], "no traffic seen: the delay cannot be judged");
    assert!(began.elapsed() >= Duration::from_secs(6));
}

#[test]
fn in_a_shared_network_another_ones_connections_keep_the_delay_and_count_for_nothing() {
    needs!("nsenter", "ip");
    let mut watched = alone(&["--delay", "6s", "--min-delay", "1s", "--quiet", "1s"]);
    // A sidecar that is none of ours, with clients of its own.
    let sidecar = "import socket, time\nl = socket.create_server(('127.0.0.1', 0))\nprint(l.getsockname()[1], flush=True)\n\
                   for _ in range(200):\n  c = socket.create_connection(l.getsockname())\n  c.sendall(b'x')\n  time.sleep(0.1)";
    let mut sidecar = watched
        .run
        .inside_its_network(&["/usr/bin/python3", "-c", sidecar])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 1];
    std::io::Read::read_exact(sidecar.stdout.as_mut().unwrap(), &mut line).unwrap();
    watched.stop();
    requests(&watched.run, watched.port, 10, "0.03");
    let traffic = watched.ended();
    sidecar.kill().unwrap();
    sidecar.wait().unwrap();
    assert_eq!((&traffic["ended"], &traffic["new_connections"]), (&"delay".into(), &serde_json::Value::Null));
    assert_eq!(traffic["ports"], serde_json::json!([watched.port]));
    assert!(traffic["namespace_opens"].as_u64().unwrap() > 20, "{traffic}");
    assert!(traffic["requests"].as_u64().unwrap() <= 10, "the sidecar's are none: {traffic}");
    assert!(seconds(&traffic["held_s"]) < Duration::from_secs(5));
}
