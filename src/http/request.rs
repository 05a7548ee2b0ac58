//! The head of a request, as anybody may have sent it.

/// The longest head that is read, in bytes. That of a probe is shorter than 500.
pub const LONGEST_HEAD: usize = 8 * 1024;

/// The most header lines that are read: more than a browser with three proxies in front sends.
const MOST_HEADERS: usize = 64;

/// What the bytes of a connection come to so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// More has to come.
    Unfinished,
    /// A whole head.
    Whole(Request<'a>),
    /// It will never be one.
    Refused(Refusal),
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// How.
    pub method: Method,
    /// The path, without what follows a `?`.
    pub path: &'a str,
}

/// The methods that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: like GET, and no body comes back.
    Head,
    /// Any other.
    Other,
}

/// Why a head is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP.
    Malformed,
    /// It is longer than [`LONGEST_HEAD`], or has too many lines.
    TooLong,
    /// It is of another HTTP than 1.0 and 1.1.
    Version,
}

// === impl Head ===

impl<'a> Head<'a> {
    /// Reads what has come so far. `bytes` may be anything.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(bytes);
        match (parsed, request.method, request.path) {
            (Ok(httparse::Status::Complete(length)), Some(method), Some(target)) if length <= LONGEST_HEAD => {
                Self::Whole(Request { method: Method::of(method), path: path(target) })
            }
            (Ok(httparse::Status::Partial), ..) if bytes.len() < LONGEST_HEAD => Self::Unfinished,
            (Ok(_) | Err(httparse::Error::TooManyHeaders), ..) => Self::Refused(Refusal::TooLong),
            (Err(httparse::Error::Version), ..) => Self::Refused(Refusal::Version),
            (Err(_), ..) => Self::Refused(Refusal::Malformed),
        }
    }
}

// === impl Method ===

impl Method {
    fn of(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            _ => Self::Other,
        }
    }
}

/// The path in a request's target, which may also be a whole URL: that is how proxies are asked.
fn path(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find('/').map_or("/", |at| rest.split_at(at).1),
        _ => target,
    };
    path.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> (Method, &str) {
        match Head::parse(text.as_bytes()) {
            Head::Whole(Request { method, path }) => (method, path),
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn what_probes_send_is_read() {
        for (text, expected) in [
            ("GET / HTTP/1.0\r\n\r\n", (Method::Get, "/")),
            (
                "GET /readyz HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nUser-Agent: kube-probe/1.34\r\n\r\n",
                (Method::Get, "/readyz"),
            ),
            ("HEAD /livez?verbose=1 HTTP/1.1\r\nHost: x\r\n\r\n", (Method::Head, "/livez")),
            ("GET http://10.0.0.1:8080/readyz?x HTTP/1.1\r\n\r\n", (Method::Get, "/readyz")),
            ("GET http://10.0.0.1 HTTP/1.1\r\n\r\n", (Method::Get, "/")),
            ("GET /a?b=http://c/d HTTP/1.1\r\n\r\n", (Method::Get, "/a")),
            // A line may end without its CR, and empty lines may come before the first.
            ("\r\nGET / HTTP/1.1\nHost: x\n\n", (Method::Get, "/")),
            ("OPTIONS * HTTP/1.1\r\n\r\n", (Method::Other, "*")),
            ("get / HTTP/1.1\r\n\r\n", (Method::Other, "/")),
            ("POST /readyz HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", (Method::Other, "/readyz")),
        ] {
            assert_eq!(whole(text), expected);
        }
    }

    #[test]
    fn a_head_is_unfinished_until_its_last_byte() {
        let text = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(Head::parse(&text.as_bytes()[..length]), Head::Unfinished, "{length}");
        }
        assert_eq!(whole(text), (Method::Get, "/readyz"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(LONGEST_HEAD));
        let endless = "a".repeat(LONGEST_HEAD);
        for (text, expected) in [
            ("\u{16}\u{3}\u{1}\u{2}\0\u{1}", Refusal::Malformed),
            ("GET / HTTP/1.1\r\na b: c\r\n\r\n", Refusal::Malformed),
            ("GET /\r\n\r\n", Refusal::Malformed),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::Version),
            (&many, Refusal::TooLong),
            (&long, Refusal::TooLong),
            (&endless, Refusal::TooLong),
        ] {
            assert_eq!(Head::parse(text.as_bytes()), Head::Refused(expected), "{:?}", text.get(..40));
        }
    }
}
