//! The pages, in words: what is said to whom. Each is for people too.

use super::startup::COMPLAINT;
use super::{Asked, Readiness};
use crate::core::State;
use crate::http::{Method, Refusal};
use crate::json::Value;
use std::fmt::Write as _;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Whether new requests are welcome: for balancers.
    Ready,
    /// Whether the server lives, be it draining: for those who kill what does not.
    Live,
    /// The state as JSON.
    Status,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    code: u16,
    reason: &'static str,
    kind: &'static str,
    /// One more header, with its line end.
    header: &'static str,
    body: String,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

// === impl Page ===

impl Page {
    /// The page at a path; `balancer` is one that can be chosen.
    pub(super) fn at(path: &str, balancer: &str) -> Option<Self> {
        match path {
            "/livez" => Some(Self::Live),
            "/status" => Some(Self::Status),
            "/readyz" => Some(Self::Ready),
            _ if path == balancer => Some(Self::Ready),
            _ => None,
        }
    }

    /// What it says now.
    pub(super) async fn answer(self, asked: &Asked) -> Answer {
        match self {
            Self::Ready => {
                let complaint = match &asked.readiness {
                    // There is no need to ask about a server that is on its way out.
                    _ if !asked.told.state().ready => None,
                    Readiness::Nothing => None,
                    Readiness::Startup(startup) => (!startup.is_up(asked)).then(|| COMPLAINT.into()),
                    Readiness::Checks(_) if asked.told.drains() => None,
                    Readiness::Checks(checks) => checks.pass().await.err().filter(|_| !asked.told.drains()),
                };
                // The check took its time: what counts is what is true now.
                ready(&asked.told.state(), complaint.as_deref())
            }
            Self::Live => live(&asked.told.state()),
            Self::Status => Answer { kind: JSON, ..Answer::ok(format!("{}\n", asked.told.state().json())) },
        }
    }
}

/// `complaint` is what keeps a server that is not being stopped from being ready.
fn ready(state: &State, complaint: Option<&str>) -> Answer {
    match complaint {
        None if state.ready => Answer::ok("ready\n".to_owned()),
        Some(complaint) if state.ready => Answer::unavailable(format!("not ready: {complaint}\n")),
        _ => {
            let mut body = format!("not ready: {}", state.phase);
            // Writing to a string cannot fail.
            if let Some(left) = state.phase_remaining {
                let _ = write!(body, ", {} s left", Value::from(left));
            }
            if let Some(left) = state.remaining.filter(|left| Some(*left) != state.phase_remaining) {
                let _ = write!(body, ", SIGKILL in {} s", Value::from(left));
            }
            body.push('\n');
            Answer::unavailable(body)
        }
    }
}

fn live(state: &State) -> Answer {
    match state.main {
        Some(_) => Answer::ok(format!("alive: {}\n", state.phase)),
        None => Answer::unavailable(format!("not alive: {}\n", state.phase)),
    }
}

/// For a head that cannot be taken.
pub(super) fn refused(why: Refusal) -> Answer {
    let (code, reason) = match why {
        Refusal::Malformed => (400, "Bad Request"),
        Refusal::TooLong => (431, "Request Header Fields Too Large"),
        Refusal::Version => (505, "HTTP Version Not Supported"),
    };
    Answer { code, reason, ..Answer::ok(format!("{reason}\n")) }
}

// === impl Answer ===

impl Answer {
    fn ok(body: String) -> Self {
        Self { code: 200, reason: "OK", kind: TEXT, header: "", body }
    }

    fn unavailable(body: String) -> Self {
        Self { code: 503, reason: "Service Unavailable", ..Self::ok(body) }
    }

    pub(super) fn not_found(balancer: &str) -> Self {
        let readyz = if balancer == "/readyz" { "" } else { " /readyz" };
        let body = format!("not found; there are {balancer}{readyz} /livez /status\n");
        Self { code: 404, reason: "Not Found", ..Self::ok(body) }
    }

    pub(super) fn not_allowed() -> Self {
        let header = "Allow: GET, HEAD\r\n";
        Self { code: 405, reason: "Method Not Allowed", header, ..Self::ok("only GET and HEAD\n".to_owned()) }
    }

    /// As it goes out; to HEAD without its body.
    pub(super) fn bytes(&self, to: Method) -> Vec<u8> {
        let Self { code, reason, kind, header, body } = self;
        let length = body.len();
        let mut text = format!(
            "HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\n{header}Connection: close\r\n\r\n"
        );
        if to != Method::Head {
            text.push_str(body);
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Phase, Sender, Signal};
    use std::time::Duration;

    fn state(phase: Phase, ready: bool) -> State {
        State {
            phase,
            ready,
            main: Some(7),
            stop: None,
            elapsed: None,
            remaining: None,
            phase_elapsed: Duration::ZERO,
            phase_remaining: None,
            exit_code: None,
        }
    }

    #[test]
    fn every_page_has_its_path_and_no_other_path_has_one() {
        for (path, expected) in [
            ("/", Some(Page::Ready)),
            ("/readyz", Some(Page::Ready)),
            ("/livez", Some(Page::Live)),
            ("/status", Some(Page::Status)),
            ("/readyz/", None),
            ("", None),
            ("*", None),
            ("/READYZ", None),
        ] {
            assert_eq!(Page::at(path, "/"), expected, "{path}");
        }
        assert_eq!(Page::at("/", "/healthz"), None);
        assert_eq!(Page::at("/healthz", "/healthz"), Some(Page::Ready));
    }

    #[test]
    fn who_is_not_ready_says_in_which_phase_and_for_how_long() {
        let seconds = Duration::from_secs;
        let stopping = State {
            stop: Some((Signal::TERM, Sender::Kernel)),
            remaining: Some(seconds(40)),
            phase_remaining: Some(Duration::from_millis(14_950)),
            ..state(Phase::LameDuck, false)
        };
        let draining = State { phase: Phase::Draining, phase_remaining: Some(seconds(40)), ..stopping.clone() };
        let without_end = State { phase_remaining: None, remaining: None, ..draining.clone() };
        for (state, complaint, code, body) in [
            (&state(Phase::Serving, true), None, 200, "ready\n"),
            (&state(Phase::Serving, true), Some("x answers 500"), 503, "not ready: x answers 500\n"),
            (&state(Phase::Starting, false), None, 503, "not ready: starting\n"),
            (&stopping, None, 503, "not ready: lame-duck, 14.950 s left, SIGKILL in 40.000 s\n"),
            (&stopping, Some("x answers 500"), 503, "not ready: lame-duck, 14.950 s left, SIGKILL in 40.000 s\n"),
            (&draining, None, 503, "not ready: draining, 40.000 s left\n"),
            (&without_end, None, 503, "not ready: draining\n"),
        ] {
            let answer = ready(state, complaint);
            assert_eq!((answer.code, answer.body.as_str()), (code, body));
        }
    }

    #[test]
    fn a_server_that_drains_is_alive_and_one_that_has_ended_is_not() {
        let draining = live(&state(Phase::Draining, false));
        assert_eq!((draining.code, draining.body.as_str()), (200, "alive: draining\n"));
        let gone = live(&State { main: None, ..state(Phase::Sweeping, false) });
        assert_eq!((gone.code, gone.body.as_str()), (503, "not alive: sweeping\n"));
    }

    #[test]
    fn an_answer_is_whole_and_a_head_is_its_head() {
        let expected = "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: 18\r\nCache-Control: no-store\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n";
        let answer = Answer::not_allowed();
        assert_eq!(answer.bytes(Method::Head), expected.as_bytes());
        assert_eq!(answer.bytes(Method::Get), format!("{expected}only GET and HEAD\n").as_bytes());
    }
}
