//! The platform's limit, and the pages that are printed instead of running anything.

use super::*;

// === the platform's limit ===

#[test]
fn the_drain_gets_what_the_grace_period_leaves() {
    let s = settings(&["-d", "15", "--linger", "3", "--grace", "60", "x"], &[]);
    assert_eq!((s.policy.drain, s.warnings.len()), (Some(seconds(40)), 0));
    assert_eq!(settings(&["--grace", "8", "x"], &[]).policy.drain, Some(seconds(1)));
}

#[test]
fn a_grace_period_that_leaves_no_second_to_drain_is_refused_with_the_sum() {
    let refused = errors(&["-d", "15", "--grace", "22.9", "x"], &[]);
    let sum = "--grace: delay 15s + linger 5s + kill 2s = 22s leaves no second of the grace period of 22.9s";
    assert!(refused[0].starts_with(sum), "{refused:?}");
    assert!(errors(&["x"], &[("LAMEDUCK_GRACE", "0")])[0].starts_with("LAMEDUCK_GRACE: linger 5s + kill 2s = 7s"));
}

#[test]
fn a_stop_that_does_not_fit_is_warned_of_with_the_sum_and_a_way_out() {
    let s = settings(&["-d", "15", "-t", "30", "--grace", "45", "x"], &[]);
    assert_eq!(
        s.warnings,
        [
            "delay 15s + drain 30s + linger 5s + kill 2s = 52s does not fit into the grace period of 45s: the platform may \
          kill everything first; leave out --drain-timeout (it becomes 23s), or raise the grace period"
        ]
    );
    // To the second is not less.
    let warnings = settings(&["-d", "15", "-t", "30", "--grace", "52", "x"], &[]).warnings;
    assert!(warnings[0].ends_with("shorten the delay or the linger, or raise the grace period"), "{warnings:?}");
    assert!(settings(&["-d", "15", "-t", "30", "--grace", "52.001", "x"], &[]).warnings.is_empty());
}

#[test]
fn a_drain_without_limit_beside_a_grace_period_is_warned_of() {
    let s = settings(&["x"], &[("LAMEDUCK_DRAIN_TIMEOUT", "none"), ("LAMEDUCK_GRACE", "45")]);
    assert!(s.warnings[0].starts_with("LAMEDUCK_DRAIN_TIMEOUT none: only the platform"), "{:?}", s.warnings);
    assert!(settings(&["-t", "none", "x"], &[]).warnings.is_empty());
}

// === pages ===

#[test]
fn help_and_version_go_out_whatever_else_is_wrong() {
    for args in [&["-h"][..], &["--help"], &["-vh", "--nonsense"], &["--help", "-d", "x"]] {
        assert_eq!(printed(args, &[]), Printed { text: help::page(), code: 0, stream: Stream::Out });
    }
    for args in [&["-V"][..], &["--version", "x"]] {
        let Printed { text, code, stream } = printed(args, &[]);
        assert_eq!((code, stream), (0, Stream::Out));
        assert!(text.starts_with(concat!("lameduck version ", env!("CARGO_PKG_VERSION"), " - git.")), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn explain_shows_values_with_their_origins_then_the_stop() {
    let Printed { text, code, stream } = printed(
        &["--delay", "15s", "--explain", "-vv", "--", "nginx", "-g", "daemon off;"],
        &[("LAMEDUCK_GRACE", "60"), ("LAMEDUCK_MAP_EXIT", "143,130=1")],
    );
    assert_eq!((code, stream), (0, Stream::Out));
    let expected = "\
Settings

  delay                 15s                     --delay
  quiet                 off                     default
  min-delay             none                    default
  wait-idle             auto                    default
  watch-port            the server's            default
  drain-timeout         38s                     from LAMEDUCK_GRACE
  grace                 1m                      LAMEDUCK_GRACE
  stop-signal           auto                    default
  stop-on               auto                    default
  repeat                hurry                   default
  linger                5s, 0s without a stop   default
  health-listen         off                     default
  health-path           /                       default
  health-check          listening               default
  ready-file            none                    default
  drain-file            none                    default
  unready               start                   default
  on-stop               none                    default
  on-exit               none                    default
  hook-timeout          5s                      default
  state-file            none                    default
  report                none                    default
  rewrite               none                    default
  group                 no                      default
  subreaper             no                      default
  parent-death-signal   none                    default
  warn-on-reap          no                      default
  keep-env              no                      default
  map-exit              143=0,130=1             LAMEDUCK_MAP_EXIT
  log                   text                    default
  log-level             trace                   from --verbose
  command               nginx -g \"daemon off;\"

The stop, when everything takes as long as it may

";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with(
        "\n  delay 15s + drain 38s + linger 5s + kill 2s = 1m\n  uses the grace period of 1m to the full\n"
    ));
}

#[test]
fn explain_says_when_the_traffic_may_end_the_delay_and_hold_the_signal() {
    let text = printed(&["--explain", "-d", "15s", "--quiet", "3s"], &[]).text;
    assert!(text.contains("  min-delay             5s                      from --quiet\n"), "{text}");
    assert!(text.contains("  the delay ends between 5s, when there was no traffic for 3s, and 15s\n"), "{text}");
    assert!(text.contains("  the graceful signal then waits for answers owed, 15s of the drain at most,\n"), "{text}");
    let text = printed(&["--explain", "-d", "15s", "--wait-idle", "never"], &[]).text;
    assert!(!text.contains("the delay ends between") && !text.contains("answers owed"), "{text}");
    let text = printed(&["--explain", "--watch-port", "80,81", "--wait-idle", "always"], &[]).text;
    assert!(text.contains("waits for answers owed, 15s of the drain at most\n"), "{text}");
    assert!(text.contains("  watch-port            80,81 "), "{text}");
}

#[test]
fn explain_needs_no_command_and_can_be_a_variable() {
    let text = printed(&[], &[("LAMEDUCK_EXPLAIN", "1")]).text;
    assert!(text.contains("command               none given"), "{text}");
}

#[test]
fn explain_fails_exactly_when_the_numbers_contradict_each_other() {
    for (args, code) in [
        (&["--explain"][..], 0),
        (&["--explain", "-d", "15", "-t", "30", "--grace", "60"], 0),
        (&["--explain", "-d", "15", "-t", "30", "--grace", "52"], 1),
        (&["--explain", "-d", "15", "--grace", "20"], 1),
        (&["--explain", "-d", "15", "--grace", "23"], 0),
        (&["--explain", "-t", "none", "--grace", "20"], 0),
        (&["--explain", "-d", "15", "--quiet", "3"], 0),
        (&["--explain", "-d", "15", "--quiet", "20"], 1),
        (&["--explain", "-d", "15", "--quiet", "3", "--min-delay", "15"], 1),
        (&["--explain", "-d", "x"], 125),
    ] {
        assert_eq!(printed(args, &[]).code, code, "{args:?}");
    }
    let text = printed(&["--explain", "-d", "15", "--grace", "20"], &[]).text;
    assert_eq!(text.matches("leaves no").count(), 1, "{text}");
    assert!(text.contains("\n  ! will not start: --grace: delay 15s"), "{text}");
}

#[test]
fn explain_fits_a_terminal() {
    let many: Vec<String> = (0..=255).map(|code| format!("{code}={code}")).collect();
    for args in [
        &["--explain", "-t", "none", "--grace", "20", "-r", "TERM:0"][..],
        &["--explain", "-d", "15", "--grace", "20"],
        &["--explain", "-d", "200d", "-t", "300d", "--grace", "365d"],
    ] {
        let text = printed(args, &[]).text;
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    // One long value does not push all origins out of sight.
    let text = printed(&["--explain", "-e", &many.join(",")], &[]).text;
    assert_eq!(text.lines().filter(|line| line.chars().count() > 80).count(), 1, "{text}");
}
