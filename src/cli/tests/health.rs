//! The health port, and questions to a lameduck that runs.

use super::*;
use crate::http::{Listen, Target};

#[track_caller]
fn asked(args: &[&str], environ: Environ<'_>) -> Ask {
    match outcome(args, environ) {
        Outcome::Ask(ask) => *ask,
        other => panic!("{args:?} {environ:?}: {other:?}"),
    }
}

fn url(text: &str) -> Target {
    Target::parse(text).unwrap()
}

#[test]
fn the_health_port_is_read_with_all_that_belongs_to_it() {
    assert_eq!(settings(&["x"], &[]).health, None);
    let plain = settings(&["--health-listen", ":9000", "x"], &[]).health.unwrap();
    let expected = Health {
        listen: Listen::Everywhere(9000),
        given_as: "--health-listen".to_owned(),
        path: "/".to_owned(),
        check: HealthCheck::Listening,
    };
    assert_eq!(plain, expected);
    let environ = [
        ("LAMEDUCK_HEALTH_LISTEN", "127.0.0.1:9000"),
        ("LAMEDUCK_HEALTH_PATH", "/healthz"),
        ("LAMEDUCK_HEALTH_CHECK", "http://127.0.0.1/up"),
    ];
    let full = settings(&["x"], &environ).health.unwrap();
    assert_eq!((full.given_as.as_str(), full.path.as_str()), ("LAMEDUCK_HEALTH_LISTEN", "/healthz"));
    assert_eq!(full.check, HealthCheck::Target(url("http://127.0.0.1/up")));
}

#[test]
fn what_is_wrong_with_the_health_port_is_told_with_its_name() {
    let errors =
        errors(&["--health-listen", "web", "--health-path", "up", "--health-check", "https://127.0.0.1/", "x"], &[]);
    assert_eq!(errors.len(), 3, "{errors:?}");
    for (error, expected) in errors.iter().zip([
        "--health-listen: \"web\": a port is a number from 1 to 65535; write :8080,",
        "--health-path: \"up\": not a path:",
        "--health-check: \"https://127.0.0.1/\": TLS is not spoken here:",
    ]) {
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn the_health_port_is_not_asked_about_itself() {
    for (listen, check, refused) in [
        (":9000", "http://127.0.0.1:9000/readyz", true),
        (":9000", "tcp://localhost:9000", true),
        ("[::1]:9000", "http://localhost:9000/", true),
        (":9000", "http://127.0.0.1:9001/", false),
        ("[::1]:9000", "http://127.0.0.1:9000/", false),
    ] {
        let args = ["--health-listen", listen, "--health-check", check, "x"];
        let told = match outcome(&args, &[]) {
            Outcome::Run(_) => Vec::new(),
            _ => errors(&args, &[]),
        };
        assert_eq!(told.len(), usize::from(refused), "{args:?}: {told:?}");
        assert!(told.iter().all(|told| told.starts_with("--health-check: this is the health port itself")), "{told:?}");
    }
}

#[test]
fn what_belongs_to_the_health_port_is_warned_of_without_one() {
    let s = settings(&["--health-check", "tcp://127.0.0.1:80", "x"], &[("LAMEDUCK_HEALTH_PATH", "/up")]);
    assert_eq!(
        s.warnings,
        [
            "LAMEDUCK_HEALTH_PATH: nobody is answered without --health-listen",
            "--health-check: nobody is answered without --health-listen"
        ]
    );
}

#[test]
fn explain_says_what_will_be_answered() {
    let explained = |args: &[&str]| printed(&[args, &["--explain"]].concat(), &[]).text;
    let text = explained(&["--health-listen", "8080", "--unready", "end", "--health-check", "tcp://127.0.0.1:80"]);
    let expected = "
What others see of it

  health-listen :8080
      /readyz and /: 200 until draining begins, then 503; /livez: 200 as long as the
      server lives; /status: the state
  health-check tcp://127.0.0.1:80
      503 there too when this fails or takes longer than 1s
";
    assert!(text.contains(expected), "{text}");
    assert!(!explained(&[]).contains("What others see"));
    let text = explained(&["--health-listen", "8080"]);
    let expected = "
  health-check listening
      503 there until the server listens on a TCP port; one that never does counts as
      ready once it has done next to nothing for 500ms, after 30s at the latest
";
    assert!(text.contains(expected), "{text}");
    let text = explained(&["--health-listen", "8080", "--health-check", "none"]);
    let expected = "
  health-check none
      200 there as soon as the server runs, which is before it listens
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_is_ready_when_it_listens_at_once_or_by_its_own_check() {
    let check =
        |words: &[&str]| settings(&[&["--health-listen", ":9000"], words, &["x"]].concat(), &[]).health.unwrap().check;
    assert_eq!(check(&[]), HealthCheck::Listening);
    assert_eq!(check(&["--health-check", "listening"]), HealthCheck::Listening);
    assert_eq!(check(&["--health-check", " none "]), HealthCheck::Nothing);
    let tcp = "tcp://127.0.0.1:80";
    assert_eq!(check(&["--health-check", tcp]), HealthCheck::Target(url(tcp)));
    let [error] = &errors(&["--health-listen", ":9000", "--health-check", "off", "x"], &[])[..] else { panic!() };
    assert_eq!(
        error,
        "--health-check: \"off\": write listening, none, http://127.0.0.1:8080/path or tcp://127.0.0.1:8080"
    );
}

#[test]
fn a_question_needs_no_command_and_takes_none() {
    let plain = Ask { question: Question::Ready, flags: Sources::default(), environ: Sources::default() };
    assert_eq!(asked(&["--healthcheck"], &[]), plain);
    assert_eq!(asked(&["--status"], &[]).question, Question::Status);
    for (args, complaint) in [
        (&["--healthcheck", "--", "nginx"][..], "leave out the command"),
        (&["--status", "nginx"], "leave out the command"),
        (&["--status", "--healthcheck"], "one at a time"),
        (&["--healthcheck", "nginx"], "write http://"),
        (&["--healthcheck="], "write http://"),
        (&["--healthcheck", "file:ready"], "whole path"),
        (&["--healthcheck", "--bogus"], "unknown flag"),
    ] {
        let Printed { text, code, stream } = printed(args, &[]);
        assert_eq!((code, stream), (1, Stream::Err), "{args:?}");
        assert!(text.contains(complaint), "{args:?}: {text}");
    }
}

#[test]
fn a_question_may_name_what_to_ask() {
    for (text, expected) in [
        ("http://localhost:8080/up", Probe::Target(url("http://localhost:8080/up"))),
        ("tcp://127.0.0.1:80", Probe::Target(url("tcp://127.0.0.1:80"))),
        ("file:/run/ready", Probe::File("/run/ready".into())),
        ("file:///run/ready", Probe::File("/run/ready".into())),
    ] {
        assert_eq!(asked(&["--healthcheck", text], &[]).question, Question::Well(expected.clone()));
        assert_eq!(asked(&[&format!("--healthcheck={text}")], &[]).question, Question::Well(expected));
    }
}

#[test]
fn where_to_ask_is_known_from_flags_and_from_the_environment() {
    let port = |sources: &Sources| sources.health;
    let environ = [("LAMEDUCK_HEALTH_LISTEN", ":9000"), ("LAMEDUCK_DELAY", "nonsense")];
    let both = asked(&["--health-listen", ":9001", "--healthcheck"], &environ);
    assert_eq!(port(&both.flags), Some(Listen::Everywhere(9001)));
    assert_eq!(port(&both.environ), Some(Listen::Everywhere(9000)));
    // The command line of another process, its command and all.
    let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    let of = |args: &[&str]| Sources::of(&words(args), &[]);
    assert_eq!(
        port(&of(&["-d", "15", "--health-listen", ":9002", "--", "nginx", "-g", "x"]).unwrap()),
        Some(Listen::Everywhere(9002))
    );
    assert_eq!(of(&["nginx", "--health-listen", ":9002"]), Some(Sources::default()));
    assert_eq!(of(&["-c", "daemon off"]), None);
    // Behind another init, PID 1 has the words of both.
    let behind = ["-s", "--", "/sbin/lameduck", "--health-listen", ":9003", "--", "nginx"];
    assert_eq!(port(&of(&behind).unwrap()), Some(Listen::Everywhere(9003)));
    let others = ["-c", "-r", "15:3", "--", "gosu", "www", "/lameduck", "--health-listen", ":9003", "nginx"];
    assert_eq!(port(&of(&others).unwrap()), Some(Listen::Everywhere(9003)));
    let nested = ["--health-listen", ":9002", "lameduck", "--health-listen", ":9003", "nginx"];
    assert_eq!(port(&of(&nested).unwrap()), Some(Listen::Everywhere(9002)));
}

#[test]
fn a_question_is_no_variable() {
    for name in ["LAMEDUCK_HEALTHCHECK", "LAMEDUCK_STATUS"] {
        assert!(!is_own_variable(name.as_bytes()));
        assert!(matches!(outcome(&["x"], &[(name, "1")]), Outcome::Run(_)));
    }
}
