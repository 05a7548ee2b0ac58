//! What is answered, before and during a stop.

use super::{listening, until_ready};
use crate::support::{Init, fixtures, free_port, http, procfs, tell, until};
use nix::libc;
use std::net::{Ipv6Addr, TcpListener};
use std::time::{Duration, Instant};

fn json(port: u16) -> serde_json::Value {
    let answer = http::get(port, "/status").unwrap();
    assert_eq!(answer.code, 200);
    assert!(answer.head.contains("\r\nContent-Type: application/json\r\n"), "{}", answer.head);
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn readiness_goes_at_the_stop_signal_and_liveness_stays_to_the_end() {
    needs!();
    let (init, port) = listening(&["--delay", "10m"]);
    let mut run = init.python(fixtures::RECORDER, &["10=4"]).spawn();
    run.expect_stdout("ready\n");
    until_ready(&mut run, port, 200);
    for path in ["/", "/readyz", "/livez"] {
        assert_eq!(http::get(port, path).unwrap().code, 200, "{path}");
    }
    let state = json(port);
    assert_eq!((&state["phase"], &state["ready"], &state["signal"]), (&"serving".into(), &true.into(), &().into()));

    let began = Instant::now();
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    for path in ["/", "/readyz"] {
        let answer = http::get(port, path).unwrap();
        assert_eq!(answer.code, 503);
        let (said, body) = ("not ready: lame-duck, ", &answer.body);
        let left = body.strip_prefix(said).and_then(|rest| rest.split_once(" s left")?.0.parse::<f64>().ok());
        // Told in whole milliseconds.
        let least = 600.0 - began.elapsed().as_secs_f64() - 0.001;
        assert!(left.is_some_and(|left| (least..=600.0).contains(&left)), "{body}");
    }
    assert_eq!(http::get(port, "/livez").unwrap().body, "alive: lame-duck\n");
    let state = json(port);
    assert_eq!(
        (&state["phase"], &state["ready"], &state["signal"]),
        (&"lame-duck".into(), &false.into(), &"SIGTERM".into())
    );

    // Times go on though nothing happens.
    let left = |port| json(port)["phase_remaining_s"].as_f64().unwrap();
    let before = left(port);
    until("time goes on", || left(port) < before);

    // Later than a duplicate would be.
    until("the second signal is a second wish", || json(port)["elapsed_s"].as_f64().unwrap() > 0.3);
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    assert_eq!(http::get(port, "/livez").unwrap().body, "alive: draining\n");
    assert!(http::get(port, "/readyz").unwrap().body.starts_with("not ready: draining, "));
    run.signal(libc::SIGUSR1);
    run.expect_exit(4);
    assert!(http::get(port, "/livez").is_err());
}

#[test]
fn readiness_may_stay_for_the_delay_or_for_the_whole_drain() {
    needs!();
    for (unready, in_the_drain) in [("end", 503), ("never", 200)] {
        let (init, port) = listening(&["--delay", "300ms", "--unready", unready]);
        let mut run = init.python(fixtures::RECORDER, &["10=4"]).spawn();
        run.expect_stdout("ready\n");
        until_ready(&mut run, port, 200);
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 300ms");
        run.expect_stdout("got 15\n");
        assert_eq!(http::get(port, "/readyz").unwrap().code, in_the_drain, "{unready}");
        run.signal(libc::SIGUSR1);
        run.expect_exit(4);
    }
    let (init, port) = listening(&["--delay", "10m", "--unready", "end"]);
    let mut run = init.python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\n");
    until_ready(&mut run, port, 200);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    assert_eq!(http::get(port, "/readyz").unwrap().code, 200);
    assert_eq!(json(port)["phase"], "lame-duck");
}

#[test]
fn who_asks_once_the_signal_was_heard_is_told_503() {
    needs!();
    let _alone = crate::support::alone();
    let mut took = Vec::new();
    for _ in 0..20 {
        let (init, port) = listening(&["--delay", "10m"]);
        let mut run = init.python(fixtures::RECORDER, &[]).spawn();
        until_ready(&mut run, port, 200);
        run.signal(libc::SIGTERM);
        let began = Instant::now();
        // Nothing else says from outside that it was heard.
        run.expect_stderr("serving on for 10m");
        assert_eq!(http::get(port, "/readyz").unwrap().code, 503);
        took.push(began.elapsed());
        assert_eq!(http::get(port, "/livez").unwrap().code, 200);
    }
    took.sort();
    let (median, most) = (took[took.len() / 2], took[took.len() - 1]);
    // A hundred times what it takes.
    assert!(median < crate::support::scaled(Duration::from_millis(50)), "{took:?}");
    tell(&format!("readiness: 503 after {median:.2?} (median of 20 stops), {most:.2?} at most"));
}

#[test]
fn every_probe_is_answered_in_its_own_way() {
    needs!();
    let (init, port) = listening(&["--health-path", "/healthz"]);
    let mut run = init.cmd(["/bin/sleep", "600"]).spawn();
    until_ready(&mut run, port, 200);
    let ask = |request: &str| http::ask(("127.0.0.1", port), request).unwrap();
    for (request, code, body) in [
        ("GET /healthz HTTP/1.0\r\n\r\n", 200, "ready\n"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", 200, "ready\n"),
        ("GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n", 200, "ready\n"),
        ("HEAD /readyz HTTP/1.1\r\nHost: x\r\n\r\n", 200, ""),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not found; there are /healthz /readyz /livez /status\n"),
        ("POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 405, "only GET and HEAD\n"),
        ("\u{16}\u{3}\u{1}", 400, "Bad Request\n"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP Version Not Supported\n"),
    ] {
        let answer = ask(request);
        assert_eq!((answer.code, answer.body.as_str()), (code, body), "{request:?}");
        assert!(answer.head.starts_with("HTTP/1.1 "), "{}", answer.head);
        assert!(answer.head.contains("\r\nConnection: close"), "{}", answer.head);
    }
    assert!(ask("HEAD /readyz HTTP/1.1\r\n\r\n").head.contains("\r\nContent-Length: 6\r\n"));
}

#[test]
fn the_port_is_open_where_it_was_asked_for() {
    needs!();
    let six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    for (host, on_four, on_six) in [
        ("", true, true),
        (":", true, true),
        ("0.0.0.0:", true, false),
        ("[::]:", true, true),
        ("[::1]:", false, true),
        ("127.0.0.1:", true, false),
    ] {
        if !six && host.starts_with('[') {
            continue;
        }
        let port = free_port();
        let listen = format!("{host}{port}");
        let mut run = Init::new().env("LAMEDUCK_HEALTH_LISTEN", &listen).cmd(["/bin/sleep", "600"]).spawn();
        let get = "GET /readyz HTTP/1.0\r\n\r\n";
        let four = || http::ask(("127.0.0.1", port), get).is_ok_and(|answer| answer.code == 200);
        let six_too = || http::ask((Ipv6Addr::LOCALHOST, port), get).is_ok_and(|answer| answer.code == 200);
        until(&format!("{listen} answers"), || {
            assert!(!run.ended(), "{listen}: {}", run.stderr());
            four() || six_too()
        });
        assert_eq!((four(), six_too()), (on_four, on_six && six), "{listen}");
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_before_anything_runs() {
    needs!();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let mut run = Init::new().env("LAMEDUCK_HEALTH_LISTEN", &taken).cmd(["/bin/echo", "started"]).run();
    run.expect_exit(125);
    assert_eq!(run.stdout(), "");
    let expected = format!("lameduck: error: LAMEDUCK_HEALTH_LISTEN: cannot listen on {taken}: Address already in use");
    assert!(run.stderr().starts_with(&expected), "{}", run.stderr());
}

#[test]
fn the_server_gets_no_descriptor_of_the_health_port() {
    needs!();
    let (init, _) = listening(&[]);
    let mut run = init.cmd(["/bin/sh", "-c", "echo /proc/$$/fd/*"]).run();
    run.expect_exit(0);
    let descriptors =
        run.stdout().split_whitespace().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>();
    // The shell reads the directory through one of its own.
    assert!(descriptors.iter().all(|fd| matches!(fd.as_str(), "0" | "1" | "2" | "3")), "{descriptors:?}");
    let plain = {
        let mut run = Init::new().cmd(["/bin/sh", "-c", "echo /proc/$$/fd/*"]).run();
        run.stdout().split_whitespace().count()
    };
    assert_eq!(descriptors.len(), plain);
}

#[test]
fn a_health_port_that_nobody_asks_wakes_nobody() {
    needs!();
    let (init, port) = listening(&["--delay", "15s"]);
    let mut run = init.cmd(["/bin/sleep", "600"]).spawn();
    until_ready(&mut run, port, 200);
    let switches = |pid| procfs::status(pid, "voluntary_ctxt_switches").unwrap();
    let mut before = switches(run.pid);
    // The last connection is waited for until it has closed.
    until("it has gone to sleep", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = switches(run.pid);
        procfs::state(run.pid) == Some('S') && std::mem::replace(&mut before, now.clone()) == now
    });
    run.goes_on_for(Duration::from_secs(2));
    assert_eq!(switches(run.pid), before);
    assert_eq!(procfs::status(run.pid, "Threads").as_deref(), Some("1"));
}
