//! Who may look: it takes no privilege, and where nothing is shown the stop is the same without.

use super::Watched;
use crate::support::{Init, fixtures};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;

/// lameduck may signal another user's processes, but not look into their descriptors.
const FEW_PRIVILEGES: [&str; 3] = ["setpriv", "--bounding-set=-all,+kill,+setuid,+setgid", "--inh-caps=-all"];

/// The kernel's socket diagnostics are refused to the rest, as a sandbox would do it.
fn no_netlink(init: Init) -> Init {
    init.through(fixtures::python(fixtures::REFUSING, &["netlink=1"])).through(["--"])
}

/// The rest sees an empty `/proc/net`.
const MASKED: [&str; 3] = ["sh", "-c", "mount -t tmpfs none /proc/$$/net; exec \"$0\" \"$@\""];

/// Flags of a stop whose delay is as long as the client needs.
const PATIENT: [&str; 2] = ["--delay", "10m"];

/// A stop with a client that is busy meanwhile; whether its requests were seen.
#[track_caller]
fn sees_the_requests(mut watched: Watched) {
    let mut client = watched.client();
    watched.stop();
    let requests = client.busy(Duration::from_millis(800));
    let traffic = watched.hurried();
    assert_eq!((&traffic["source"], &traffic["ports"][0]), (&"sock_diag".into(), &watched.port.into()), "{traffic}");
    let counted = traffic["requests"].as_u64().unwrap();
    assert!(counted > 0 && counted <= requests, "{counted} of {requests}");
}

/// Runs the rest with a root file system that cannot be written to.
fn read_only() -> [String; 3] {
    // The report has to go somewhere.
    let writable = std::env::temp_dir();
    let line = format!(
        "mount --bind {0} {0} && mount -o remount,bind,ro / || exit 90; ! touch /lameduck-it 2>&- || exit 91; \
         exec \"$0\" \"$@\"",
        writable.display()
    );
    ["sh".to_owned(), "-c".to_owned(), line]
}

#[test]
fn as_root_and_as_nobody_without_any_privilege_in_a_read_only_root() {
    needs!("setpriv", "mount");
    sees_the_requests(Watched::start_in(Init::new().through(read_only()), &PATIENT, &[]));
    let nobody =
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"];
    sees_the_requests(Watched::start_in(Init::new().through(read_only()).through(nobody), &PATIENT, &[]));
}

#[test]
fn with_the_server_under_another_user() {
    needs!("setpriv");
    // gosu's like.
    let user = ["setpriv", "--reuid=33", "--regid=33", "--clear-groups"].map(OsString::from);
    let server = [user.to_vec(), fixtures::python(fixtures::THINKING, &[])].concat();
    sees_the_requests(Watched::run(Init::new().through(FEW_PRIVILEGES).cmd(server), &PATIENT, &[]));
}

#[test]
fn with_ports_that_are_given() {
    needs!();
    let mut watched = Watched::start(&["--delay", "10m", "--watch-port", "9"], &[]);
    let mut client = watched.client();
    watched.stop();
    client.busy(Duration::from_millis(500));
    let traffic = watched.hurried();
    assert_eq!((&traffic["ports"], &traffic["requests"]), (&serde_json::json!([9]), &0.into()));
}

#[test]
fn with_a_server_that_gives_its_port_away_by_nothing() {
    needs!("setpriv", "ip");
    // It takes its port as root and then becomes another: neither its descriptors nor the socket's user tell.
    let server = fixtures::THINKING
        .replace("('127.0.0.1', 0)", "('127.0.0.1', 8080)")
        .replace("say('port", "os.setgid(33); os.setuid(33)\nsay('port");
    let start = |flags: &[&str]| {
        let init = Init::new().own_network().through(FEW_PRIVILEGES);
        Watched::run(init.python(&server, &[]), flags, &[])
    };
    let mut watched = start(&["--delay", "500ms"]);
    watched.stop();
    let traffic = watched.ended();
    assert_eq!(traffic["source"], "none");
    let log = watched.log();
    assert!(log.contains("no TCP port of the server was found, and what it has open is not shown"), "{log}");
    assert!(log.contains("name it with --watch-port"), "{log}");
    sees_the_requests(start(&["--delay", "10m", "--watch-port", "8080"]));
}

#[test]
fn with_proc_net_masked_requests_are_seen_and_no_delay_is_cut_short() {
    needs!("mount");
    let flags = ["--delay", "4s", "--min-delay", "0", "--quiet", "500ms"];
    let mut watched = Watched::start_in(Init::new().through(MASKED), &flags, &[]);
    let mut client = watched.client();
    let began = watched.stop();
    client.busy(Duration::from_secs(1));
    let traffic = watched.ended();
    assert_eq!(traffic["ended"], "delay");
    assert!(began.elapsed() >= Duration::from_secs(4));
    assert!(traffic["source"] == "sock_diag" && traffic["new_connections"].is_null(), "{traffic}");
    assert!(traffic["requests"].as_u64().unwrap() > 0, "{traffic}");
    // One that nobody saw may have been the last.
    assert_eq!(traffic["margin_s"], Value::Null);
    let log = watched.log();
    assert!(log.contains("(/proc/net/snmp cannot be read): --quiet cannot end the delay early"), "{log}");
}

#[test]
fn without_socket_diagnostics_connections_are_counted_and_no_delay_is_cut_short() {
    needs!("nsenter", "ip");
    let flags = ["--delay", "4s", "--min-delay", "0", "--quiet", "500ms"];
    let mut watched = Watched::start_in(no_netlink(Init::new().own_network()), &flags, &[]);
    watched.stop();
    watched.requests(10, "0.1");
    let traffic = watched.ended();
    assert_eq!((&traffic["source"], &traffic["ended"]), (&"proc".into(), &"delay".into()), "{traffic}");
    assert_eq!((&traffic["new_connections"], &traffic["requests"]), (&10.into(), &Value::Null), "{traffic}");
    assert_eq!(traffic["ports"], serde_json::json!([watched.port]));
    let log = watched.log();
    let warned = "not to be had: Operation not permitted (os error 1)): --quiet cannot end the delay early";
    assert!(log.contains("requests are not seen, only connections") && log.contains(warned), "{log}");
    assert!(log.contains("and requests cannot be seen here: the delay cannot be judged"), "{log}");
}

#[test]
fn where_nothing_is_shown_at_all_the_stop_is_the_same() {
    needs!("mount");
    let mut watched = Watched::start_in(no_netlink(Init::new().through(MASKED)), &["--delay", "3s", "-v"], &[]);
    let mut client = watched.client();
    let began = watched.stop();
    client.busy(Duration::from_millis(500));
    let traffic = watched.ended();
    assert!(began.elapsed() >= Duration::from_secs(3));
    assert_eq!((&traffic["source"], &traffic["requests"]), (&"none".into(), &Value::Null));
    assert!(watched.log().contains("the traffic is not watched: the sockets are not to be seen"), "{}", watched.log());
}
