//! Who made an error page: the application, or a proxy that could not reach it.
//!
//! A 502 and a 504 are a gateway's by definition (RFC 9110, sections 15.6.3 and 15.6.5). A 503 may be
//! anybody's: it is a proxy's when it carries one of the marks below, which are what these proxies send
//! when they have no backend. nginx marks every error page of its own, so its 503 counts as a proxy's
//! even where nginx is the application; `--ok-if` and `--lost-if` are for such cases.

use super::outcome::Answer;
use hyper::HeaderMap;

/// Who made an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// A proxy, by this name.
    Proxy(&'static str),
    /// The application, as far as one can tell.
    App,
}

/// What gives a proxy away.
struct Mark {
    proxy: &'static str,
    holds: fn(&HeaderMap, &str) -> bool,
}

/// The first that holds counts.
const MARKS: [Mark; 7] = [
    // Its answers for a server always say how long that took; its own have no such header.
    Mark {
        proxy: "Envoy",
        holds: |headers, body| {
            let own = header(headers, "server", "envoy") && !headers.contains_key("x-envoy-upstream-service-time");
            own || body.starts_with("upstream connect error or disconnect/reset before headers")
                || body.starts_with("no healthy upstream")
                || body.starts_with("upstream request timeout")
        },
    },
    Mark { proxy: "ALB", holds: |headers, _| header(headers, "server", "awselb/") },
    Mark { proxy: "Linkerd", holds: |headers, _| headers.contains_key("l5d-proxy-error") },
    // It has no name in its pages, but their sentences are its own.
    Mark {
        proxy: "HAProxy",
        holds: |_, body| {
            body.starts_with("<html><body><h1>50")
                && [
                    "No server is available to handle this request.",
                    "The server returned an invalid or incomplete response.",
                    "The server didn't respond in time.",
                ]
                .iter()
                .any(|sentence| body.contains(sentence))
        },
    },
    Mark { proxy: "nginx", holds: |_, body| body.contains("<center>nginx") || body.contains("<center>openresty") },
    Mark {
        proxy: "httpd",
        holds: |_, body| body.contains("The proxy server received an invalid") || body.contains("<address>Apache/"),
    },
    // Nothing but the name of the status, and no header of a server.
    Mark {
        proxy: "Traefik",
        holds: |headers, body| {
            !headers.contains_key("server")
                && ["Bad Gateway", "Service Unavailable", "Gateway Timeout", "no available server"]
                    .contains(&body.trim_end())
        },
    },
];

/// Who made this answer. Only a 502, 503 or 504 can be a proxy's.
#[must_use]
pub fn of(answer: &Answer) -> Maker {
    if !matches!(answer.status, 502..=504) {
        return Maker::App;
    }
    let body = String::from_utf8_lossy(&answer.body);
    let marked = MARKS.iter().find(|mark| (mark.holds)(&answer.headers, &body)).map(|mark| mark.proxy);
    match (marked, answer.status) {
        (Some(proxy), _) => Maker::Proxy(proxy),
        (None, 503) => Maker::App,
        (None, _) => Maker::Proxy("a gateway"),
    }
}

/// Whether a header has a value with this in it, in whatever case.
fn header(headers: &HeaderMap, name: &str, part: &str) -> bool {
    let values = headers.get_all(name).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.to_ascii_lowercase().contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn made_by(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Maker {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        of(&Answer { status, headers, body: body.as_bytes().to_vec() })
    }

    /// As these proxies sent them, in their own words.
    #[test]
    fn each_proxy_is_known_by_its_own_page() {
        let haproxy = "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n\
                       </body></html>\n";
        let nginx = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 \
                     Service Temporarily Unavailable</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n";
        let alb = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 \
                   Service Temporarily Unavailable</h1></center>\r\n</body>\r\n</html>\r\n";
        let envoy = "upstream connect error or disconnect/reset before headers. reset reason: connection failure";
        for (headers, body, proxy) in [
            (&[][..], haproxy, "HAProxy"),
            (&[("server", "nginx/1.22.1")], nginx, "nginx"),
            (&[("server", "nginx")], &nginx.replace("/1.22.1", ""), "nginx"),
            (&[("server", "awselb/2.0")], alb, "ALB"),
            (&[("server", "envoy")], envoy, "Envoy"),
            (&[("server", "istio-envoy")], "no healthy upstream", "Envoy"),
            // Where the header is taken away, the sentence is left; and the other way round.
            (&[], envoy, "Envoy"),
            (&[("server", "envoy")], "{\"our\":\"own error page\"}", "Envoy"),
            (&[("l5d-proxy-error", "endpoint 10.0.0.1:80: connect")], "", "Linkerd"),
            (&[("content-type", "text/plain")], "Service Unavailable\n", "Traefik"),
        ] {
            assert_eq!(made_by(503, headers, body), Maker::Proxy(proxy), "{body}");
        }
        for body in [
            "<html><body><h1>502 Bad Gateway</h1>\nThe server returned an invalid or incomplete response.\n</body></html>\n",
            "<html><body><h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.\n</body></html>\n",
        ] {
            assert_eq!(made_by(502, &[], body), Maker::Proxy("HAProxy"), "{body}");
        }
    }

    #[test]
    fn a_503_of_the_application_stays_its_own() {
        for (headers, body) in [
            (&[("server", "gunicorn")][..], "draining\n"),
            (&[], ""),
            (&[("server", "envoy"), ("x-envoy-upstream-service-time", "3")], "draining\n"),
            (&[("server", "gunicorn")], "Service Unavailable"),
            (&[], "{\"error\":\"Service Unavailable\"}"),
            // Speaks of one, is none.
            (&[], "<p>No server is available to handle this request.</p>"),
        ] {
            assert_eq!(made_by(503, headers, body), Maker::App, "{headers:?} {body}");
        }
    }

    #[test]
    fn a_502_and_a_504_are_a_gateways_by_definition_and_others_never() {
        assert_eq!(made_by(502, &[], "oops"), Maker::Proxy("a gateway"));
        assert_eq!(made_by(504, &[], ""), Maker::Proxy("a gateway"));
        assert_eq!(made_by(500, &[("server", "awselb/2.0")], ""), Maker::App);
        assert_eq!(made_by(505, &[("server", "awselb/2.0")], ""), Maker::App);
    }
}
