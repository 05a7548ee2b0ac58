//! `/proc/net`, for what the socket diagnostics do not tell, and in their place where they are not to
//! be had.

use super::sock_diag::RESOLVER;
use std::fs::File;
use std::io::{self, Read as _};

/// The tables of TCP sockets. Without IPv6 there is no second.
pub(super) const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) state: State,
    /// The port on our side.
    pub(super) port: u16,
    /// Whether the address on our side is [`RESOLVER`].
    pub(super) resolver: bool,
    /// Bytes to be read; of a listening socket the connections to be accepted.
    pub(super) receive_queue: u32,
    /// The user who made it.
    pub(super) uid: u32,
    pub(super) inode: u32,
}

/// As far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Connected,
    Listening,
    Other,
}

/// A table that is read piece by piece, so that there is time for signals in between.
pub(super) struct Reading {
    file: File,
    /// The beginning of a line whose end is still to come.
    rest: Vec<u8>,
}

/// No line is longer; what is, is no line.
const LONGEST_LINE: usize = 4_096;

// === impl Reading ===

impl Reading {
    pub(super) fn open(table: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(table)?, rest: Vec::new() })
    }

    /// Reads one piece; false when there is no more.
    pub(super) fn read(&mut self, buffer: &mut [u8], mut each: impl FnMut(Line)) -> io::Result<bool> {
        let length = self.file.read(buffer)?;
        let mut piece = buffer.get(..length).unwrap_or_default();
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, after) = piece.split_at(end);
            self.rest.extend_from_slice(line);
            // The heading is no line.
            if let Some(line) = line_of(&self.rest) {
                each(line);
            }
            self.rest.clear();
            piece = after.get(1..).unwrap_or_default();
        }
        if self.rest.len() < LONGEST_LINE {
            self.rest.extend_from_slice(piece);
        }
        Ok(length > 0)
    }
}

/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`
fn line_of(line: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let (address, port) = fields.nth(1)?.rsplit_once(':')?;
    let state = fields.nth(1)?;
    let (_, receive_queue) = fields.next()?.split_once(':')?;
    Some(Line {
        state: match state {
            "01" | "08" => State::Connected,
            "0A" => State::Listening,
            _ => State::Other,
        },
        port: u16::from_str_radix(port, 16).ok()?,
        // As a number of this machine's, made of what is in the order of the network.
        resolver: address.len() == 8 && u32::from_str_radix(address, 16).is_ok_and(|a| a.to_ne_bytes() == RESOLVER),
        receive_queue: u32::from_str_radix(receive_queue, 16).ok()?,
        uid: fields.nth(2)?.parse().ok()?,
        inode: fields.nth(1)?.parse().ok()?,
    })
}

/// How many connections our network namespace has ever accepted; `None` when that is not to be read.
pub(super) fn connections_accepted() -> Option<u64> {
    accepted_in(&std::fs::read_to_string("/proc/net/snmp").ok()?)
}

/// Two lines begin with `Tcp:`: the names, then the numbers.
fn accepted_in(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let at = lines.next()?.split_ascii_whitespace().position(|name| name == "PassiveOpens")?;
    lines.next()?.split_ascii_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000    33        0 52417 1 0 100 0
   1: 0100007F:1F90 0100007F:9C42 01 00000000:00000012 00:00000000 00000000    33        0 0 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:9C44 06 00000000:00000000 03:000017 00000000     0        0 0 3 0
";

    fn read(table: &str, piece: usize) -> Vec<Line> {
        let dir = std::env::temp_dir().join(format!("lameduck-proc-net-{}-{piece}", std::process::id()));
        std::fs::write(&dir, table).unwrap();
        let mut reading = Reading::open(dir.to_str().unwrap()).unwrap();
        std::fs::remove_file(&dir).unwrap();
        let (mut buffer, mut lines) = (vec![0; piece], Vec::new());
        while reading.read(&mut buffer, |line| lines.push(line)).unwrap() {}
        lines
    }

    #[test]
    fn a_table_reads_alike_in_pieces_of_any_size() {
        let lines = read(TABLE, 100_000);
        let (state, resolver) = (State::Listening, false);
        let listening = Line { state, port: 8_080, resolver, receive_queue: 3, uid: 33, inode: 52_417 };
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], listening);
        assert_eq!((lines[1].state, lines[1].receive_queue, lines[1].inode), (State::Connected, 18, 0));
        assert_eq!(lines[2].state, State::Other);
        for piece in [1, 2, 7, 64, 150] {
            assert_eq!(read(TABLE, piece), lines, "{piece}");
        }
    }

    #[test]
    fn dockers_resolver_is_known_by_its_address() {
        let address = u32::from_ne_bytes(RESOLVER);
        let line = format!(" 0: {address:08X}:AE2B 00000000:0000 0A 0:0 0:0 0 0 0 348356 1\n");
        assert!(read(&line, 64)[0].resolver);
        assert!(!read(TABLE, 64).iter().any(|line| line.resolver));
    }

    #[test]
    fn what_is_no_table_has_no_lines() {
        for text in ["", "\n\n", "a b c d\n", " 0: 1F90\n", " 0: :zzzz x 0A 0:0 0 0 0 0 0\n", &"x".repeat(20_000)] {
            assert_eq!(read(text, 64), [], "{text:.40}");
        }
    }

    #[test]
    fn the_count_of_connections_is_found_by_its_name() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm ActiveOpens PassiveOpens\nTcp: 1 7 42\nUdp: X\n";
        assert_eq!(accepted_in(snmp), Some(42));
        for none in ["", "Tcp: PassiveOpens\n", "Tcp: A B\nTcp: 1 2\n", "Tcp: PassiveOpens\nTcp: many\n"] {
            assert_eq!(accepted_in(none), None, "{none}");
        }
        assert!(connections_accepted().is_some(), "this machine has a network");
    }
}
