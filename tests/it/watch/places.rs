//! Who may look: it takes no privilege, and where nothing is shown the stop is the same without.

use super::Watched;
use crate::support::{Init, fixtures};
use std::ffi::OsString;
use std::time::Duration;

/// A stop with a client that is busy meanwhile; whether its requests were seen.
#[track_caller]
fn sees_the_requests(mut watched: Watched) {
    let mut client = watched.client();
    watched.stop();
    let requests = client.busy(Duration::from_millis(800));
    let traffic = watched.ended();
    assert_eq!((&traffic["source"], &traffic["ports"][0]), (&"sock_diag".into(), &watched.port.into()), "{traffic}");
    let counted = traffic["requests"].as_u64().unwrap();
    assert!(counted > 0 && counted <= requests, "{counted} of {requests}");
}

#[test]
fn as_root_and_as_nobody_without_any_privilege_in_a_read_only_root() {
    needs!("setpriv", "unshare");
    let flags = ["--delay", "1500ms"];
    sees_the_requests(Watched::start(&flags, &[]));
    let nobody =
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"];
    sees_the_requests(Watched::start_in(Init::new().through(nobody), &flags, &[]));
}

#[test]
fn with_the_server_under_another_user() {
    needs!("setpriv");
    // gosu's like: lameduck may signal it, but not look into its descriptors.
    let without = ["setpriv", "--bounding-set=-all,+kill,+setuid,+setgid", "--inh-caps=-all"];
    let user = ["setpriv", "--reuid=33", "--regid=33", "--clear-groups"].map(OsString::from);
    let server = [user.to_vec(), fixtures::python(fixtures::THINKING, &[])].concat();
    sees_the_requests(Watched::run(Init::new().through(without).cmd(server), &["--delay", "1500ms"], &[]));
}

#[test]
fn with_ports_that_are_given() {
    needs!();
    let mut watched = Watched::start(&["--delay", "1s", "--watch-port", "9"], &[]);
    let mut client = watched.client();
    watched.stop();
    client.busy(Duration::from_millis(500));
    let traffic = watched.ended();
    assert_eq!((&traffic["ports"], &traffic["requests"]), (&serde_json::json!([9]), &0.into()));
}

#[test]
fn with_proc_net_masked_requests_are_seen_and_no_delay_is_cut_short() {
    needs!("unshare", "mount");
    let mask = ["sh", "-c", "mount -t tmpfs none /proc/$$/net; exec \"$0\" \"$@\""];
    let mut watched =
        Watched::start_in(Init::new().through(mask), &["--delay", "4s", "--min-delay", "0", "--quiet", "500ms"], &[]);
    let mut client = watched.client();
    let began = watched.stop();
    client.busy(Duration::from_secs(1));
    let traffic = watched.ended();
    assert_eq!(traffic["ended"], "delay");
    assert!(began.elapsed() >= Duration::from_secs(4));
    assert!(traffic["source"] == "sock_diag" && traffic["new_connections"].is_null(), "{traffic}");
    assert!(traffic["requests"].as_u64().unwrap() > 0, "{traffic}");
}
