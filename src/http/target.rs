//! What a check asks: a page or a port.

use super::{addresses, host_and_port, port};
use std::fmt;
use std::net::SocketAddr;

/// Something that can be asked whether all is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `http://HOST[:PORT][/PATH]`: well when the answer is 2xx or 3xx.
    Http(Place, String),
    /// `tcp://HOST:PORT`: well when the port can be connected to.
    Tcp(Place),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it may be found, in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
    /// As it was written: what goes into `Host:`.
    pub authority: String,
}

// === impl Target ===

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// What is wrong and what to write, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("http://") {
            let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
            let path = path.split('#').next().unwrap_or_default();
            if path.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return Err("a path has no blanks".to_owned());
            }
            let slash = if path.starts_with('/') { "" } else { "/" };
            return Ok(Self::Http(Place::parse(authority, Some(80))?, format!("{slash}{path}")));
        }
        if let Some(authority) = text.strip_prefix("tcp://") {
            return Ok(Self::Tcp(Place::parse(authority.trim_end_matches('/'), None)?));
        }
        if text.starts_with("https://") {
            return Err("TLS is not spoken here: ask http://, or whether the port is open with tcp://".to_owned());
        }
        Err("write http://127.0.0.1:8080/path or tcp://127.0.0.1:8080".to_owned())
    }

    /// The host and port that are asked.
    #[must_use]
    pub const fn place(&self) -> &Place {
        match self {
            Self::Http(place, _) | Self::Tcp(place) => place,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(place, path) => write!(f, "http://{}{path}", place.authority),
            Self::Tcp(place) => write!(f, "tcp://{}", place.authority),
        }
    }
}

// === impl Place ===

impl Place {
    fn parse(authority: &str, default_port: Option<u16>) -> Result<Self, String> {
        if authority.contains('@') {
            return Err("user names are not sent: leave out what is before the @".to_owned());
        }
        let (host, port) = match (host_and_port(authority), default_port) {
            ((host, Some(text)), _) => (host, port(text)?),
            ((host, None), Some(port)) => (host, port),
            ((_, None), None) => return Err("a port is missing, as in tcp://127.0.0.1:8080".to_owned()),
        };
        let addresses = addresses(host)?.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        Ok(Self { addresses, authority: authority.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_written_alike() {
        for (text, written, addresses) in [
            ("http://127.0.0.1:8080/healthz", "http://127.0.0.1:8080/healthz", "127.0.0.1:8080"),
            ("http://127.0.0.1", "http://127.0.0.1/", "127.0.0.1:80"),
            ("http://[::1]:8080/a?b=c#d", "http://[::1]:8080/a?b=c", "[::1]:8080"),
            ("http://[::1]/", "http://[::1]/", "[::1]:80"),
            ("http://127.0.0.1?x", "http://127.0.0.1/?x", "127.0.0.1:80"),
            ("http://localhost:81/", "http://localhost:81/", "127.0.0.1:81 [::1]:81"),
            ("tcp://localhost:5432/", "tcp://localhost:5432", "127.0.0.1:5432 [::1]:5432"),
            ("tcp://10.0.0.1:1", "tcp://10.0.0.1:1", "10.0.0.1:1"),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.to_string(), written);
            let (Target::Http(place, _) | Target::Tcp(place)) = target;
            let found: Vec<String> = place.addresses.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), addresses);
        }
    }

    #[test]
    fn what_is_no_target_is_refused_with_what_to_write() {
        for (text, why) in [
            ("", "write http://"),
            ("127.0.0.1:80", "write http://"),
            ("ftp://127.0.0.1/", "write http://"),
            ("https://127.0.0.1/", "TLS"),
            ("http://", "IP address"),
            ("http://example.com/", "IP address"),
            ("http://::1:80/", "brackets"),
            ("http://127.0.0.1:0/", "1 to 65535"),
            ("http://127.0.0.1:x/", "1 to 65535"),
            ("http://me@127.0.0.1/", "user names"),
            ("http://127.0.0.1/a b", "blanks"),
            ("http://127.0.0.1/a\r\nX: y", "blanks"),
            ("tcp://127.0.0.1", "port is missing"),
            ("file:/run/ready", "write http://"),
        ] {
            let found = Target::parse(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
