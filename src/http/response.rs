//! The first line of an answer to us.

/// What an answer says so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// More has to come.
    Unfinished,
    /// Its status: 100 to 999.
    Code(u16),
    /// It is no HTTP.
    Malformed,
}

/// A status line is not longer than this, in bytes, reason included.
const LONGEST_LINE: usize = 1024;

// === impl Status ===

impl Status {
    /// Reads what has come so far. `bytes` may be anything; only their first line matters.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut response = httparse::Response::new(&mut []);
        let parsed = response.parse(line);
        match (parsed, response.code) {
            // The line is all there is, so that what comes after it is missing.
            (Ok(_), Some(code)) if line.ends_with(b"\n") => Self::Code(code),
            (Ok(_), _) if line.len() < LONGEST_LINE && !line.ends_with(b"\n") => Self::Unfinished,
            _ => Self::Malformed,
        }
    }

    /// Whether a code says that all is well: 2xx and 3xx, as a kubelet takes it.
    #[must_use]
    pub const fn is_well(code: u16) -> bool {
        matches!(code, 200..=399)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_known_with_its_line() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nServer: x\r\n\r\nbody", Status::Code(200)),
            ("HTTP/1.0 503 Service Unavailable\r\n", Status::Code(503)),
            ("HTTP/1.1 204\r\n\r\n", Status::Code(204)),
            ("HTTP/1.1 200 OK\n\n", Status::Code(200)),
            ("", Status::Unfinished),
            ("HTTP/1.1 20", Status::Unfinished),
            ("HTTP/1.1 200 OK", Status::Unfinished),
            ("HTTP/2.0 200 OK\r\n\r\n", Status::Malformed),
            ("SSH-2.0-OpenSSH_9.2\r\n", Status::Malformed),
            ("\r\n", Status::Malformed),
            ("HTTP/1.1 2x0 OK\r\n\r\n", Status::Malformed),
        ] {
            assert_eq!(Status::parse(text.as_bytes()), expected, "{text:?}");
        }
        let endless = format!("HTTP/1.1 200 {}", "a".repeat(LONGEST_LINE));
        assert_eq!(Status::parse(endless.as_bytes()), Status::Malformed);
    }

    #[test]
    fn two_and_three_hundred_are_well() {
        let well: Vec<u16> = (100..1000).filter(|code| Status::is_well(*code)).collect();
        assert_eq!(well, (200..400).collect::<Vec<_>>());
    }
}
