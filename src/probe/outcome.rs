//! What became of a request, as one class: a pure function of what the client saw.
//!
//! "Lost" is what a user would have seen as an error. A class says what kind of error, and so where to
//! look: `refused` is nobody there, `proxy_error` is a balancer that found nobody there.

use super::maker::{self, Maker};
use super::rule::Rules;
use hyper::HeaderMap;
use nix::errno::Errno;

/// What became of a request. Each has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The application answered, and not with an error of its own.
    Ok,
    /// Nobody took the connection: refused, or the address cannot be reached.
    Refused,
    /// The connection was reset, at whatever point.
    Reset,
    /// The connection was closed before a byte of an answer, or what came was not HTTP.
    NoAnswer,
    /// An answer began and the connection was closed before it was whole, or its body was broken.
    CutBody,
    /// No whole answer within the time limit.
    Timeout,
    /// A 502, 503 or 504 that a proxy in front made by itself.
    ProxyError,
    /// A 5xx of the application, or what `--lost-if` says.
    AppError,
    /// The TLS handshake failed.
    Tls,
    /// The name could not be resolved.
    Dns,
}

/// What the client saw.
#[derive(Debug)]
pub enum Seen {
    /// A whole answer.
    Whole(Answer),
    /// No address for the name.
    NoName(String),
    /// No connection, with the errno.
    NoConnection(i32),
    /// No TLS on the connection, and why.
    NoTls(String),
    /// The connection failed with this errno after so many bytes of an answer.
    Failed(i32, u64),
    /// The connection was closed after so many bytes of an answer.
    Closed(u64),
    /// The answer was not HTTP.
    NotHttp(String),
    /// Its head was, and its body was not what the head announced.
    BadBody(String),
    /// The time limit was over.
    TimedOut,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The beginning of its body: what tells a proxy's own page.
    pub body: Vec<u8>,
}

/// The judgement on one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was sent, and this became of it; in words when it was lost.
    Sent(Class, String),
    /// We could not send it, for this reason of our own. It says nothing of the target.
    NotSent(String),
}

// === impl Class ===

impl Class {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Refused,
        Self::Reset,
        Self::NoAnswer,
        Self::CutBody,
        Self::Timeout,
        Self::ProxyError,
        Self::AppError,
        Self::Tls,
        Self::Dns,
    ];

    /// Its name in reports and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::NoAnswer => "no_answer",
            Self::CutBody => "cut_body",
            Self::Timeout => "timeout",
            Self::ProxyError => "proxy_error",
            Self::AppError => "app_error",
            Self::Tls => "tls",
            Self::Dns => "dns",
        }
    }

    /// What it means, for somebody who sees the name for the first time.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "answered by the application",
            Self::Refused => "nobody took the connection",
            Self::Reset => "the connection was reset",
            Self::NoAnswer => "the connection was closed without an answer",
            Self::CutBody => "the answer began and broke off",
            Self::Timeout => "no whole answer within the time limit",
            Self::ProxyError => "502, 503 or 504 made by a proxy in front",
            Self::AppError => "an error of the application: 5xx, or what --lost-if says",
            Self::Tls => "the TLS handshake failed",
            Self::Dns => "the name could not be resolved",
        }
    }

    /// Whether a user would have seen an error.
    #[must_use]
    pub const fn is_lost(self) -> bool {
        !matches!(self, Self::Ok)
    }

    /// Its place in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Judges one request.
#[must_use]
pub fn judge(seen: &Seen, rules: &Rules) -> Verdict {
    let (class, words) = match seen {
        Seen::Whole(answer) => return whole(answer, rules),
        Seen::NoName(why) => (Class::Dns, why.clone()),
        Seen::NoConnection(errno) | Seen::Failed(errno, _) if is_our_own(*errno) => {
            return Verdict::NotSent(words_of(*errno).to_owned());
        }
        Seen::NoConnection(errno) => (of_errno(*errno, Class::Refused), words_of(*errno).to_owned()),
        Seen::NoTls(why) => (Class::Tls, why.clone()),
        Seen::Failed(errno, received) => {
            (of_errno(*errno, Class::Reset), format!("{}{}", words_of(*errno), after(*received)))
        }
        Seen::Closed(0) => (Class::NoAnswer, "closed without an answer".to_owned()),
        Seen::Closed(received) => (Class::CutBody, format!("closed{}", after(*received))),
        Seen::NotHttp(why) => (Class::NoAnswer, format!("not an HTTP answer: {why}")),
        Seen::BadBody(why) => (Class::CutBody, format!("the body is not HTTP: {why}")),
        Seen::TimedOut => (Class::Timeout, "no whole answer within the time limit".to_owned()),
    };
    Verdict::Sent(class, words)
}

fn whole(answer: &Answer, rules: &Rules) -> Verdict {
    let class = match (rules.says_lost(answer), answer.status) {
        (Some(false), _) => Class::Ok,
        (None, status) if status < 500 => Class::Ok,
        _ => match maker::of(answer) {
            Maker::Proxy(_) => Class::ProxyError,
            Maker::App => Class::AppError,
        },
    };
    let words = match maker::of(answer) {
        _ if class == Class::Ok => String::new(),
        Maker::Proxy(name) => format!("{} made by {name}", answer.status),
        Maker::App => format!("{} of the application", answer.status),
    };
    Verdict::Sent(class, words)
}

/// Errors that say that we have run out of something, not the target.
fn is_our_own(errno: i32) -> bool {
    matches!(
        Errno::from_raw(errno),
        Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM | Errno::EADDRNOTAVAIL | Errno::EADDRINUSE
    )
}

fn of_errno(errno: i32, otherwise: Class) -> Class {
    match Errno::from_raw(errno) {
        Errno::ECONNRESET | Errno::EPIPE | Errno::ECONNABORTED => Class::Reset,
        Errno::ETIMEDOUT => Class::Timeout,
        _ => otherwise,
    }
}

fn words_of(errno: i32) -> &'static str {
    Errno::from_raw(errno).desc()
}

fn after(received: u64) -> String {
    match received {
        0 => String::new(),
        1 => " after 1 byte of the answer".to_owned(),
        more => format!(" after {more} bytes of the answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(seen: &Seen) -> Option<Class> {
        match judge(seen, &Rules::default()) {
            Verdict::Sent(class, words) => {
                assert_eq!(words.is_empty(), class == Class::Ok, "{seen:?}: {words}");
                Some(class)
            }
            Verdict::NotSent(_) => None,
        }
    }

    #[test]
    fn every_end_has_its_class() {
        let words = || "why".to_owned();
        let number = |errno: Errno| errno as i32;
        for (seen, expected) in [
            (Seen::NoName(words()), Some(Class::Dns)),
            (Seen::NoConnection(number(Errno::ECONNREFUSED)), Some(Class::Refused)),
            (Seen::NoConnection(number(Errno::EHOSTUNREACH)), Some(Class::Refused)),
            (Seen::NoConnection(number(Errno::ENETUNREACH)), Some(Class::Refused)),
            (Seen::NoConnection(number(Errno::ECONNRESET)), Some(Class::Reset)),
            (Seen::NoConnection(number(Errno::ETIMEDOUT)), Some(Class::Timeout)),
            (Seen::NoConnection(number(Errno::EMFILE)), None),
            (Seen::NoConnection(number(Errno::EADDRNOTAVAIL)), None),
            (Seen::NoTls(words()), Some(Class::Tls)),
            (Seen::Failed(number(Errno::ECONNRESET), 0), Some(Class::Reset)),
            (Seen::Failed(number(Errno::ECONNRESET), 12), Some(Class::Reset)),
            (Seen::Failed(number(Errno::EPIPE), 0), Some(Class::Reset)),
            (Seen::Failed(number(Errno::EHOSTUNREACH), 0), Some(Class::Reset)),
            (Seen::Failed(number(Errno::ETIMEDOUT), 5), Some(Class::Timeout)),
            (Seen::Closed(0), Some(Class::NoAnswer)),
            (Seen::Closed(1), Some(Class::CutBody)),
            (Seen::NotHttp(words()), Some(Class::NoAnswer)),
            (Seen::BadBody(words()), Some(Class::CutBody)),
            (Seen::TimedOut, Some(Class::Timeout)),
        ] {
            assert_eq!(class(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn every_status_below_500_is_an_answer() {
        for status in 100..600 {
            let seen = Seen::Whole(Answer { status, headers: HeaderMap::new(), body: Vec::new() });
            let expected = match status {
                ..500 => Class::Ok,
                502 | 504 => Class::ProxyError,
                _ => Class::AppError,
            };
            assert_eq!(class(&seen), Some(expected), "{status}");
        }
    }

    #[test]
    fn a_rule_of_the_user_comes_before_ours() {
        let seen =
            |status| Seen::Whole(Answer { status, headers: HeaderMap::new(), body: b"down for maintenance".to_vec() });
        let rules = Rules::new(&["body=maintenance".parse().unwrap()], &["status=503".parse().unwrap()]);
        let judged = |status| judge(&seen(status), &rules);
        assert_eq!(judged(200), Verdict::Sent(Class::AppError, "200 of the application".to_owned()));
        let rules = Rules::new(&[], &["status=503".parse().unwrap()]);
        assert_eq!(judge(&seen(503), &rules), Verdict::Sent(Class::Ok, String::new()));
        assert!(matches!(judge(&seen(500), &rules), Verdict::Sent(Class::AppError, _)));
    }

    #[test]
    fn every_class_stands_in_its_place() {
        for (at, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), at);
            assert_eq!(class.is_lost(), class != Class::Ok);
        }
    }
}
