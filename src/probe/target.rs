//! Where requests go: a URL, and what is needed to ask it.

use hyper::Uri;
use hyper::header::HeaderValue;
use std::net::IpAddr;

/// A URL that can be asked.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given.
    pub url: String,
    /// Over TLS.
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path, with what follows a `?`.
    pub path: String,
    /// What the Host header says.
    pub host_header: HeaderValue,
    /// What the server's certificate has to be for: the host, or `--host`.
    pub server_name: String,
    /// An address that stands in for the name (`--resolve`).
    pub address: Option<IpAddr>,
}

/// `--resolve HOST:PORT:ADDRESS`, as curl has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    port: u16,
    address: IpAddr,
}

/// Reads a `http://` or `https://` URL.
///
/// # Errors
/// What is wrong with it and what to write.
pub fn parse(text: &str) -> Result<Target, String> {
    let uri: Uri = text.parse().map_err(|why| format!("\"{text}\" is no URL: {why}"))?;
    let tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(format!("\"{text}\": write http://HOST/ or https://HOST/")),
    };
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
    let authority =
        authority.ok_or_else(|| format!("\"{text}\": no user in it; send --header \"Authorization: ...\""))?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    if authority.as_str() != authority.host() && authority.port_u16().is_none() {
        return Err(format!("\"{text}\": the port has to be a number from 0 to 65535"));
    }
    let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let host_header = HeaderValue::from_str(authority.as_str()).map_err(|_| format!("\"{text}\" is no URL"))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let server_name = host.clone();
    Ok(Target { url: text.to_owned(), tls, host, port, path, host_header, server_name, address: None })
}

// === impl Target ===

impl Target {
    /// The same server, asked for another path.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        let origin = self.url.strip_suffix(self.path.as_str()).unwrap_or(&self.url);
        Self { url: format!("{}{path}", origin.trim_end_matches('/')), path: path.to_owned(), ..self.clone() }
    }

    /// Says another name in the Host header and to TLS.
    ///
    /// # Errors
    /// When it cannot be a host.
    pub fn with_host(mut self, host: &str) -> Result<Self, String> {
        let header = HeaderValue::from_str(host).ok().filter(|_| !host.is_empty());
        self.host_header = header.ok_or_else(|| format!("--host \"{host}\": not the name of a host"))?;
        let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        name.map_or(host, |(name, _)| name).trim_matches(['[', ']']).clone_into(&mut self.server_name);
        Ok(self)
    }

    /// Goes to the address that `--resolve` names for this host and port, if one does.
    #[must_use]
    pub fn resolved(mut self, resolves: &[Resolve]) -> Self {
        if let Some(resolve) = resolves.iter().find(|resolve| resolve.is_for(&self)) {
            self.address = Some(resolve.address);
        }
        self
    }

    /// The one address that it goes to, where no name has to be looked up.
    #[must_use]
    pub fn fixed(&self) -> Option<IpAddr> {
        self.address.or_else(|| self.host.parse().ok())
    }
}

// === impl Resolve ===

impl Resolve {
    /// Whether it speaks of this target.
    #[must_use]
    pub fn is_for(&self, target: &Target) -> bool {
        self.port == target.port && self.host.eq_ignore_ascii_case(&target.host)
    }
}

impl std::fmt::Display for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.host, self.port, self.address)
    }
}

impl std::str::FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("\"{text}\": write HOST:PORT:ADDRESS, as in example.com:443:192.0.2.7");
        let mut parts = text.splitn(3, ':');
        let (Some(host), Some(port), Some(address)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(form());
        };
        let address = address.trim_matches(['[', ']']).parse().map_err(|_| form())?;
        let port = port.parse().map_err(|_| form())?;
        Ok(Self { host: host.to_owned(), port, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_to_go_and_what_to_say_there() {
        for (url, tls, host, port, path, header) in [
            ("http://example.com", false, "example.com", 80, "/", "example.com"),
            ("https://example.com/a?b=c", true, "example.com", 443, "/a?b=c", "example.com"),
            ("http://127.0.0.1:8080/x/", false, "127.0.0.1", 8080, "/x/", "127.0.0.1:8080"),
            ("http://[::1]:8080/", false, "::1", 8080, "/", "[::1]:8080"),
            ("http://[::1]", false, "::1", 80, "/", "[::1]"),
        ] {
            let target = parse(url).unwrap();
            let said = target.host_header.to_str().unwrap();
            assert_eq!(
                (target.tls, target.host.as_str(), target.port, target.path.as_str(), said),
                (tls, host, port, path, header),
                "{url}"
            );
        }
    }

    #[test]
    fn what_cannot_be_asked_is_told() {
        for url in [
            "",
            "example.com",
            "/path",
            "ftp://host/",
            "http://",
            "http://user@host/",
            "http://host:99999/",
            "http://a b/",
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.contains(url), "{url}: {error}");
        }
    }

    #[test]
    fn another_path_another_host_another_address() {
        let target = parse("https://example.com:8443/app?x=1").unwrap();
        let slow = target.at("/slow");
        assert_eq!((slow.path.as_str(), slow.url.as_str()), ("/slow", "https://example.com:8443/slow"));
        assert_eq!(parse("http://h").unwrap().at("/slow").url, "http://h/slow");
        let other = target.clone().with_host("other.example:8443").unwrap();
        assert_eq!(
            (other.host_header.to_str().unwrap(), other.server_name.as_str()),
            ("other.example:8443", "other.example")
        );
        assert!(target.clone().with_host("a\nb").is_err() && target.clone().with_host("").is_err());
        let resolves =
            ["example.com:443:192.0.2.1", "EXAMPLE.com:8443:[2001:db8::1]"].map(|text| text.parse().unwrap());
        assert_eq!(target.resolved(&resolves).address, Some("2001:db8::1".parse().unwrap()));
        for text in ["", "a:b", "a:80:", "a:80:example.com", "a:http:1.2.3.4"] {
            assert!(text.parse::<Resolve>().unwrap_err().contains("HOST:PORT:ADDRESS"), "{text}");
        }
    }
}
