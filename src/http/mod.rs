//! The little HTTP that PID 1 speaks, as server and as client: pure, bytes in and values out.
//!
//! `request` and `response` read heads that anybody may have sent; `address` is where the server
//! listens, `target` is what a check asks. Heads are taken apart by httparse, which hyper uses too.

mod address;
mod request;
mod response;
mod target;

#[cfg(test)]
mod corpus;

pub use address::Listen;
pub use request::{Head, LONGEST_HEAD, Method, Refusal, Request};
pub use response::Status;
pub use target::{Place, Target};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A request for a page, as we send it.
#[must_use]
pub fn get(place: &Place, path: &str) -> String {
    let (authority, version) = (&place.authority, env!("CARGO_PKG_VERSION"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: lameduck/{version}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
}

/// What calls itself `localhost`, without asking a resolver: a static binary has none it can trust.
const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The addresses of a host as it is written: an IP address, an IPv6 one in brackets, or `localhost`.
fn addresses(host: &str) -> Result<Vec<IpAddr>, String> {
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(LOOPBACKS.to_vec());
    }
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let parsed = match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    };
    let unbracketed = bare.is_none() && host.parse::<Ipv6Addr>().is_ok();
    match parsed {
        Some(address) => Ok(vec![address]),
        None if unbracketed => Err("an IPv6 address stands in brackets, as in [::1]:8080".to_owned()),
        None => Err("no names but localhost are looked up: write an IP address".to_owned()),
    }
}

/// A port: 1 to 65535, in digits.
fn port(text: &str) -> Result<u16, String> {
    // `parse` alone would take `+80`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0).ok_or_else(|| "a port is a number from 1 to 65535".to_owned())
}

/// Takes `HOST:PORT` apart at the last colon that is not in brackets.
fn host_and_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}
