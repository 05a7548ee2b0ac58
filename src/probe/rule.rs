//! `--lost-if` and `--ok-if`: what the user knows better about an answer than [`super::maker`] can.
//!
//! A condition is one or more terms, joined by commas, all of which must hold: `status=503`,
//! `status=5xx`, `header=NAME`, `header=NAME:PART`, `body=PART`. Of several conditions one is enough.

use super::outcome::Answer;
use hyper::header::HeaderName;
use std::str::FromStr;

/// One condition on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// Statuses from the first to the last.
    Status(u16, u16),
    /// A header that is there, with a value that has this in it.
    Header(HeaderName, String),
    /// A body that has this near its beginning.
    Body(String),
}

/// All conditions of a run.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    lost: Vec<Condition>,
    ok: Vec<Condition>,
}

// === impl Rules ===

impl Rules {
    /// The rules of `--lost-if` and `--ok-if`.
    #[must_use]
    pub fn new(lost: &[Condition], ok: &[Condition]) -> Self {
        Self { lost: lost.to_vec(), ok: ok.to_vec() }
    }

    /// Whether the user says that such an answer is lost, or not; nothing when no condition holds. Where
    /// both are said it is lost: better one too many than one too few.
    #[must_use]
    pub fn says_lost(&self, answer: &Answer) -> Option<bool> {
        let any = |conditions: &[Condition]| conditions.iter().any(|condition| condition.holds(answer));
        if any(&self.lost) { Some(true) } else { any(&self.ok).then_some(false) }
    }
}

// === impl Condition ===

impl Condition {
    fn holds(&self, answer: &Answer) -> bool {
        self.0.iter().all(|term| match term {
            Term::Status(first, last) => (*first..=*last).contains(&answer.status),
            Term::Header(name, part) => {
                let part = part.to_ascii_lowercase();
                let has = |value: &[u8]| String::from_utf8_lossy(value).to_ascii_lowercase().contains(&part);
                answer.headers.get_all(name).iter().any(|value| has(value.as_bytes()))
            }
            Term::Body(part) => String::from_utf8_lossy(&answer.body).contains(part.as_str()),
        })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(term).collect::<Result<_, _>>().map(Self)
    }
}

fn term(text: &str) -> Result<Term, String> {
    let form = || {
        format!("\"{text}\" is no condition: write status=503, status=5xx, header=NAME, header=NAME:PART or body=PART")
    };
    let (what, value) = text.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(form)?;
    match what.trim() {
        "status" => {
            let (first, last) = (value.replace(['x', 'X'], "0"), value.replace(['x', 'X'], "9"));
            let number = |text: &str| text.parse().ok().filter(|status| (100..=599).contains(status));
            match (number(&first), number(&last)) {
                (Some(first), Some(last)) => Ok(Term::Status(first, last)),
                _ => Err(format!("\"{value}\" is no status: write 503, 50x or 5xx")),
            }
        }
        "header" => {
            let (name, part) = value.split_once(':').unwrap_or((value, ""));
            let name = name.trim().parse().map_err(|_| format!("\"{name}\" is no name of a header"))?;
            Ok(Term::Header(name, part.trim().to_owned()))
        }
        "body" => Ok(Term::Body(value.to_owned())),
        _ => Err(form()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;
    use hyper::header::HeaderValue;

    fn holds(condition: &str, status: u16) -> bool {
        let mut headers = HeaderMap::new();
        headers.append("server", HeaderValue::from_static("Backend/2"));
        headers.append("x-state", HeaderValue::from_static(""));
        let condition: Condition = condition.parse().unwrap();
        condition.holds(&Answer { status, headers, body: b"be back soon".to_vec() })
    }

    #[test]
    fn every_term_has_to_hold() {
        assert!(holds("status=503", 503) && !holds("status=503", 502));
        assert!(holds("status=5xx", 500) && holds("status=5xx", 599) && !holds("status=5xx", 499));
        assert!(holds("status=50x", 509) && !holds("status=50x", 510));
        assert!(holds("header=x-state", 200) && !holds("header=x-other", 200));
        assert!(holds("header=Server: backend", 200) && !holds("header=server:nginx", 200));
        assert!(holds("body=back soon", 200) && !holds("body=Back", 200));
        assert!(holds("status=503,header=server,body=soon", 503));
        assert!(!holds("status=503,header=server,body=soon", 500));
    }

    #[test]
    fn what_is_no_condition_is_told() {
        for text in ["", "503", "status", "status=", "status=600", "status=x", "status=5xx,", "header=a b", "size=3"] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains("write") || error.contains("no name"), "{text}: {error}");
        }
    }

    #[test]
    fn lost_beats_ok() {
        let rules = Rules::new(&["status=503".parse().unwrap()], &["status=5xx".parse().unwrap()]);
        let says = |status| rules.says_lost(&Answer { status, headers: HeaderMap::new(), body: Vec::new() });
        assert_eq!((says(503), says(500), says(200)), (Some(true), Some(false), None));
    }
}
