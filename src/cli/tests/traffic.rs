//! What watches the traffic, and what is made of it.

use super::{errors, settings};
use crate::core::policy::Hold;
use crate::core::{Policy, Quiet};
use std::time::Duration;

/// The policy and the warnings of a command line.
fn traffic(args: &[&str]) -> (Policy, Vec<String>) {
    let read = settings(&[args, &["x"]].concat(), &[]);
    (read.policy, read.warnings)
}

#[test]
fn traffic_is_watched_when_there_is_something_to_wait_for() {
    for (args, watch, hold) in [
        (&[][..], false, Hold::Auto),
        (&["--delay", "1s"], true, Hold::Auto),
        (&["--delay", "1s", "--wait-idle", "never"], true, Hold::Never),
        (&["--wait-idle", "always"], true, Hold::Always),
        (&["--watch-port", "80"], false, Hold::Auto),
    ] {
        let (policy, warnings) = traffic(args);
        assert_eq!((policy.watch, policy.hold, policy.quiet), (watch, hold, None), "{args:?}");
        assert_eq!(warnings, [""; 0], "{args:?}");
    }
    let read = settings(&["--watch-port", "80,443", "--watch-port", "8080", "x"], &[]);
    assert_eq!(read.watch_ports, [80, 443, 8_080]);
    assert_eq!(settings(&["x"], &[("LAMEDUCK_WATCH_PORT", "80, 81")]).watch_ports, [80, 81]);
    assert!(errors(&["--watch-port", "80,http", "x"], &[])[0].starts_with("--watch-port: \"http\": not a port"));
    assert!(errors(&["--wait-idle", "often", "x"], &[])[0].contains("write one of auto, always, never"));
}

#[test]
fn a_quiet_end_has_a_least_delay() {
    let (policy, warnings) = traffic(&["--delay", "15s", "--quiet", "3s"]);
    let five = Duration::from_secs(5);
    assert_eq!(policy.quiet, Some(Quiet { silence: Duration::from_secs(3), min_delay: five }));
    assert_eq!(policy.quiet.map(|quiet| quiet.earliest()), Some(five));
    assert_eq!(warnings, [""; 0]);
    let (policy, _) = traffic(&["--delay", "15s", "--quiet", "7s", "--min-delay", "0"]);
    assert_eq!(policy.quiet.map(|quiet| quiet.earliest()), Some(Duration::from_secs(7)));
}

#[test]
fn a_quiet_end_that_can_never_come_is_warned_of() {
    for (args, why) in [
        (&["--quiet", "3s"][..], "--quiet: has no effect, as there is no delay to end early"),
        (&["--delay", "15s", "--quiet", "15s"], "--quiet 15s: has no effect, as the delay is over by then (15s)"),
        (
            &["--delay", "5s", "--quiet", "3s"],
            "--quiet: has no effect, as the delay of 5s is no longer than --min-delay (5s)",
        ),
        (&["--delay", "15s", "--quiet", "3s", "--min-delay", "20s"], "no longer than --min-delay (20s)"),
        (&["--delay", "15s", "--min-delay", "3s"], "--min-delay: has no effect without --quiet"),
    ] {
        let (_, warnings) = traffic(args);
        assert!(warnings.len() == 1 && warnings[0].contains(why), "{args:?}: {warnings:?}");
    }
    assert!(errors(&["--delay", "15s", "--quiet", "0", "x"], &[])[0].starts_with("--quiet: no silence at all"));
}
