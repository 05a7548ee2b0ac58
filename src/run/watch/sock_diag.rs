//! The language of the kernel's socket diagnostics: a request in, what the answer says out. Pure.
//!
//! Everything is read by the length that the message itself states and never by the size of a struct:
//! each kernel has a longer `tcp_info` than the one before, and an older one leaves fields out. A
//! field that is not there reads as nothing. Whatever the bytes are, reading them ends and stays
//! within them.
//!
//! The layouts are those of `linux/netlink.h`, `linux/inet_diag.h` and `linux/tcp.h`; numbers are in
//! the machine's byte order, ports in the network's.

use crate::core::traffic::Counters;
use std::time::Duration;

/// Address families of the requests.
pub(super) const FAMILIES: [u8; 2] = [2, 10];

/// Sets of TCP states, a bit each.
pub(super) mod states {
    /// ESTABLISHED, and `CLOSE_WAIT`, in which a client that said all it has waits for its answer.
    pub(in crate::run::watch) const CONNECTED: u32 = 1 << 1 | 1 << 8;
    /// LISTEN.
    pub(in crate::run::watch) const LISTENING: u32 = 1 << 10;
}

/// Where Docker's own resolver listens in every container of a network that a user made (all of
/// compose), on a port that it picks. Names are asked for by UDP, so that hardly ever anybody connects.
pub(super) const RESOLVER: [u8; 4] = [127, 0, 0, 11];

const LISTEN: u8 = 10;
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
/// The fixed part of an answer, before its attributes.
const SOCKET: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_AND_DUMP: u16 = 0x1 | 0x300;
const TCP: u8 = 6;
/// The attribute that holds `tcp_info`.
const INFO: u16 = 2;

mod kind {
    pub(super) const ERROR: u16 = 2;
    pub(super) const DONE: u16 = 3;
    pub(super) const OVERRUN: u16 = 4;
}

/// One message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A socket.
    Socket(Socket),
    /// The answer is complete.
    Done,
    /// The request was refused, or the answer broken off, with this `errno`.
    Refused(i32),
    /// Something that is not about sockets.
    Other,
}

/// What the kernel says of one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Socket {
    /// The address family.
    pub(super) family: u8,
    pub(super) listens: bool,
    /// The port on our side.
    pub(super) port: u16,
    /// Whether the address on our side is [`RESOLVER`].
    pub(super) resolver: bool,
    /// The kernel's own name for it, never used twice.
    pub(super) cookie: u64,
    /// Bytes to be read; of a listening socket the connections to be accepted.
    pub(super) receive_queue: u32,
    /// The user who made it.
    pub(super) uid: u32,
    /// 0 for a connection that was not accepted yet.
    pub(super) inode: u32,
    /// Nothing when the kernel gave none.
    pub(super) counters: Option<Counters>,
}

/// Asks for all TCP sockets of one family in these states, with their counters; `port` 0 for any.
pub(super) fn request(family: u8, states: u32, port: u16, sequence: u32) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    let mut at = 0;
    let mut put = |field: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + field.len()) {
            place.copy_from_slice(field);
        }
        at += field.len();
    };
    put(&u32::try_from(REQUEST).unwrap_or_default().to_ne_bytes());
    put(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(&REQUEST_AND_DUMP.to_ne_bytes());
    put(&sequence.to_ne_bytes());
    put(&0_u32.to_ne_bytes());
    put(&[family, TCP, 1 << (INFO - 1), 0]);
    put(&states.to_ne_bytes());
    put(&port.to_be_bytes());
    bytes
}

/// The messages of a datagram that answer the request of this number; a broken one is the last.
pub(super) fn messages(datagram: &[u8], sequence: u32) -> impl Iterator<Item = Message> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        loop {
            let length = number(rest, 0)? as usize;
            let message = rest.get(..length).filter(|_| length >= HEADER)?;
            rest = rest.get(aligned(length)..).unwrap_or_default();
            // Of a request that was given up.
            if number(message, 8) == Some(sequence) {
                return read(message);
            }
        }
    })
}

fn read(message: &[u8]) -> Option<Message> {
    let body = message.get(HEADER..)?;
    let errno = || number(body, 0).map_or(0, |errno| errno.cast_signed().saturating_neg());
    Some(match short(message, 4)? {
        SOCK_DIAG_BY_FAMILY => socket(body).map_or(Message::Other, Message::Socket),
        kind::DONE if errno() <= 0 => Message::Done,
        // An error of nothing is an acknowledgement.
        kind::ERROR if errno() == 0 => Message::Other,
        kind::DONE | kind::ERROR => Message::Refused(errno()),
        kind::OVERRUN => Message::Refused(nix::libc::ENOBUFS),
        _ => Message::Other,
    })
}

fn socket(body: &[u8]) -> Option<Socket> {
    let attributes = body.get(SOCKET..)?;
    Some(Socket {
        family: *body.first()?,
        listens: *body.get(1)? == LISTEN,
        port: body.get(4..6)?.try_into().map(u16::from_be_bytes).ok()?,
        resolver: body.get(8..12)? == RESOLVER && body.get(12..24)? == [0; 12],
        cookie: long(body, 44)?,
        receive_queue: number(body, 56)?,
        uid: number(body, 64)?,
        inode: number(body, 68)?,
        counters: attribute(attributes, INFO).and_then(counters),
    })
}

/// The first attribute of a kind.
fn attribute(mut rest: &[u8], wanted: u16) -> Option<&[u8]> {
    /// A length of two bytes and a kind of two.
    const HEAD: usize = 4;
    loop {
        let length = usize::from(short(rest, 0)?);
        let attribute = rest.get(HEAD..length)?;
        // The two bits on top are flags.
        if short(rest, 2)? & 0x3fff == wanted {
            return Some(attribute);
        }
        rest = rest.get(aligned(length)..)?;
    }
}

/// `tcp_info`.
fn counters(info: &[u8]) -> Option<Counters> {
    let millis = |at| number(info, at).map(|millis| Duration::from_millis(millis.into()));
    Some(Counters {
        since_sent: millis(44)?,
        since_received: millis(52)?,
        // Before 4.1 there is nothing that tells whether anything was received.
        received: long(info, 128)?,
        // Bytes sent are there since 4.19; before, those that the client has acknowledged.
        sent: long(info, 200).or_else(|| long(info, 120))?,
        segments_in: number(info, 152).unwrap_or(0),
        segments_out: number(info, 156).unwrap_or(0),
    })
}

const fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().map(u16::from_ne_bytes).ok()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().map(u32::from_ne_bytes).ok()
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().map(u64::from_ne_bytes).ok()
}
