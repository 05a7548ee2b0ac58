//! What the report and the log say of the traffic, held against what the client did.

use super::{Watched, seconds};
use crate::support::{Init, fixtures};
use std::time::Duration;

/// A tick of the kernel's clock and a rounding of the report.
const GRAIN: Duration = Duration::from_millis(21);

/// As long as a process that has something to do may not be let do it.
const LATE: Duration = Duration::from_millis(500);

#[test]
fn the_last_request_and_the_count_are_the_clients_own() {
    needs!("ip");
    let mut watched = Watched::alone(&["--delay", "4s", "-v"]);
    let mut client = watched.client();
    client.busy(Duration::from_millis(200));
    let began = watched.stop();
    let heard = began.elapsed();
    watched.run.expect_stderr("watching port");
    let requests = client.busy(Duration::from_millis(1_500)) + 1;
    let asked = began.elapsed();
    client.ask("/");
    assert!(client.is_answered());
    let answered = began.elapsed();
    let traffic = watched.ended();
    let reported = seconds(&traffic["last_request_s"]);
    // As of some moment between these two, by the kernel's coarse clock; earlier when lameduck is held up
    // before it has the kernel's word.
    let (earliest, latest) = (asked.saturating_sub(heard + LATE), answered + GRAIN);
    assert!(earliest <= reported && reported <= latest, "{reported:?}, the client says {asked:?} to {answered:?}");
    assert_eq!((&traffic["source"], &traffic["connections_at_stop"]), (&"sock_diag".into(), &1.into()));
    // A request may fall between the stop signal and the first sample.
    let counted = traffic["requests"].as_u64().unwrap();
    assert!(counted <= requests && counted + 25 >= requests, "{counted}, and the client says {requests}");
    let rows = traffic["per_second"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["requests"].as_u64().unwrap()).sum::<u64>(), counted);
    let sum = reported + seconds(&traffic["margin_s"]);
    assert!((sum.as_secs_f64() - 4.0).abs() < 0.01, "{traffic}");
    assert!(watched.log().contains("; delay 4s left "), "{}", watched.log());
}

#[test]
fn requests_that_still_arrive_are_told_of() {
    needs!();
    let mut watched = Watched::start(&["--delay", "1s", "--wait-idle", "never"], &[]);
    let port = watched.port;
    let mut client = watched.client();
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let load = std::thread::spawn(move || {
        while told.try_recv().is_err() {
            client.ask("/");
            if !client.is_answered() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    watched.stop();
    watched.run.expect_stderr("requests were still arriving when the delay ended (");
    drop(tell);
    let traffic = watched.ended();
    load.join().unwrap();
    assert!(traffic["verdict"].as_str().unwrap().ends_with("in the last second): raise --delay"), "{port}: {traffic}");
}

#[test]
fn a_server_that_dies_in_the_delay_and_a_hurried_stop_are_no_judges() {
    needs!();
    let mut watched = Watched::start(&["--delay", "10m"], &[]);
    watched.stop();
    watched.client().busy(Duration::from_secs(2));
    let main = watched.run.main();
    watched.run.signal_to(main, nix::libc::SIGKILL);
    watched.run.expect_exit(137);
    let traffic = watched.traffic();
    assert_eq!((&traffic["ended"], &traffic["held_s"]), (&"died".into(), &serde_json::Value::Null));
    let mut watched = Watched::start(&["--delay", "10m"], &[]);
    watched.stop();
    watched.client().busy(Duration::from_secs(2));
    watched.run.signal(nix::libc::SIGTERM);
    let traffic = watched.ended();
    assert_eq!((&traffic["ended"], &traffic["margin_s"]), (&"hurried".into(), &serde_json::Value::Null));
    assert!(watched.log().contains("; hurried after "), "{}", watched.log());
}

#[test]
fn a_server_without_a_port_is_stopped_as_if_nobody_watched() {
    needs!();
    let dir = crate::support::files::tempdir();
    let report = dir.file("report.json", "", 0o666);
    let flags = ["--delay", "300ms", "-v", "--report", &report];
    let mut run = Init::new().flags(flags).python(fixtures::RECORDER, &["15=7"]).spawn();
    run.expect_stdout("ready\n");
    run.signal(nix::libc::SIGTERM);
    run.expect_exit(7);
    assert!(
        run.stderr().contains("the traffic is not watched: no TCP port of the server was found"),
        "{}",
        run.stderr()
    );
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((&report["traffic"]["source"], &report["traffic"]["ended"]), (&"none".into(), &serde_json::Value::Null));
}

#[test]
fn who_asks_the_health_port_is_no_client_of_the_server() {
    needs!("nsenter", "ip");
    let mut watched = Watched::alone(&["--delay", "10m", "--health-listen", "127.0.0.1:9000"]);
    watched.stop();
    // So many that some are counted by the kernel and not yet taken when a sample begins.
    watched.requests_to(9_000, 200, "0.005");
    watched.run.signal(nix::libc::SIGTERM);
    let traffic = watched.ended();
    assert_eq!((&traffic["requests"], &traffic["new_connections"]), (&0.into(), &0.into()), "{traffic}");
    assert_eq!(traffic["verdict"], "no traffic seen: the delay cannot be judged");
}
