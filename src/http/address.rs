//! Where the health port is.

use super::{LOOPBACKS, addresses, host_and_port, port};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Every address of the machine, of both families where there are two.
    Everywhere(u16),
    /// This one.
    At(SocketAddr),
}

// === impl Listen ===

impl Listen {
    /// Reads `:8080`, `8080`, `0.0.0.0:8080`, `[::]:8080`, `127.0.0.1:8080` or `localhost:8080`.
    ///
    /// # Errors
    /// What is wrong and what to write, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let advice = |why: String| format!("{why}; write :8080, 127.0.0.1:8080 or [::1]:8080");
        let text = text.trim();
        let (host, port_text) = match host_and_port(text) {
            (bare, None) => ("", bare),
            (host, Some(port)) => (host, port),
        };
        let port = port(port_text).map_err(advice)?;
        if host.is_empty() {
            return Ok(Self::Everywhere(port));
        }
        let address =
            addresses(host).map_err(advice)?.first().copied().ok_or_else(|| advice("no address".to_owned()))?;
        Ok(Self::At(SocketAddr::new(address, port)))
    }

    /// What to bind, the best first: the next one is for a machine that does not have the family of
    /// the one before.
    #[must_use]
    pub fn to_bind(self) -> Vec<SocketAddr> {
        match self {
            Self::Everywhere(port) => {
                let both: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
                both.map(|address| SocketAddr::new(address, port)).to_vec()
            }
            Self::At(address) => vec![address],
        }
    }

    /// Where somebody in the same container finds it.
    #[must_use]
    pub fn to_ask(self) -> Vec<SocketAddr> {
        let at = |port, addresses: &[IpAddr]| addresses.iter().map(|address| SocketAddr::new(*address, port)).collect();
        match self {
            Self::Everywhere(port) => at(port, &LOOPBACKS),
            Self::At(address) if !address.ip().is_unspecified() => vec![address],
            Self::At(address) if address.is_ipv4() => at(address.port(), &[Ipv4Addr::LOCALHOST.into()]),
            Self::At(address) => at(address.port(), &LOOPBACKS),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::At(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("8080", Listen::Everywhere(8080)),
            (":8080", Listen::Everywhere(8080)),
            (" :8080 ", Listen::Everywhere(8080)),
            ("0.0.0.0:8080", Listen::At(at("0.0.0.0:8080"))),
            ("[::]:8080", Listen::At(at("[::]:8080"))),
            ("127.0.0.1:65535", Listen::At(at("127.0.0.1:65535"))),
            ("[fe80::1]:1", Listen::At(at("[fe80::1]:1"))),
            ("LocalHost:8080", Listen::At(at("127.0.0.1:8080"))),
        ] {
            assert_eq!(Listen::parse(text), Ok(expected), "{text}");
            assert_eq!(Listen::parse(&expected.to_string()), Ok(expected), "{expected}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        for text in [
            "",
            ":",
            "0",
            ":0",
            ":65536",
            ":+80",
            ":-1",
            "http",
            "127.0.0.1",
            "127.0.0.1:",
            "example.com:80",
            "::1:80",
            "::",
            "[::1]",
            "[::1]80",
            "[::1:80",
            "1.2.3:80",
            "[127.0.0.1]:80",
            ":80:",
            "http://127.0.0.1:80",
        ] {
            let why = Listen::parse(text).unwrap_err();
            assert!(why.contains("write :8080"), "{text}: {why}");
        }
        assert!(Listen::parse("::1:80").unwrap_err().contains("brackets"));
    }

    #[test]
    fn a_wildcard_is_asked_on_loopback() {
        for (text, expected) in [
            (":80", &["127.0.0.1:80", "[::1]:80"][..]),
            ("0.0.0.0:80", &["127.0.0.1:80"]),
            ("[::]:80", &["127.0.0.1:80", "[::1]:80"]),
            ("10.0.0.7:80", &["10.0.0.7:80"]),
        ] {
            let expected: Vec<SocketAddr> = expected.iter().map(|text| at(text)).collect();
            assert_eq!(Listen::parse(text).unwrap().to_ask(), expected, "{text}");
        }
    }
}
