//! The table of the TCP sockets there are, read piece by piece from wherever it is to be had.

use super::dump::Dump;
use super::proc_net::{self, Line, Reading, State};
use super::sock_diag::{FAMILIES, Socket, states};
use crate::core::Tick;
use crate::core::traffic::{Counters, Source};
use crate::sys::netlink::SockDiag;
use std::io;

/// Holds what one piece of either brings: the kernel writes at most this much at once.
const BUFFER: usize = 32 * 1024;

/// How a reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is more to be read.
    More,
    /// There is more to come.
    Waiting,
    /// It was all.
    Complete,
}

/// One socket of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Listener(Listener),
    /// A connection, by a name that stays the same, with its counters where they are to be had.
    Connection(u64, Option<Counters>),
}

/// A socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listener {
    /// The address family; 0 where that is not to be seen.
    pub(super) family: u8,
    pub(super) port: u16,
    /// Docker's resolver, which every container of a network has.
    pub(super) resolver: bool,
    pub(super) inode: u32,
    pub(super) uid: u32,
    /// Connections that wait to be accepted.
    pub(super) queue: u32,
}

/// What of the table is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// Every socket that listens.
    Listeners,
    /// All there is on these ports, in these families.
    ///
    /// A family is a walk through the kernel's whole table, that of all containers of a machine: some
    /// milliseconds where it is large. So it is not walked for a family in which nobody listens, and
    /// once for all ports.
    Ports(&'a [u16], &'a [u8]),
}

/// The table.
pub(super) struct Table {
    reader: Reader,
    buffer: Vec<u8>,
}

enum Reader {
    SockDiag(Dump<SockDiag>),
    Proc { tables: Vec<&'static str>, reading: Option<Reading>, read_any: bool },
}

// === impl Table ===

impl Table {
    pub(super) fn open(source: Source) -> io::Result<Self> {
        let reader = match source {
            Source::SockDiag => Reader::SockDiag(Dump::new(SockDiag::open()?)),
            Source::Proc => Reader::Proc { tables: Vec::new(), reading: None, read_any: false },
        };
        Ok(Self { reader, buffer: vec![0; BUFFER] })
    }

    /// Begins to read it.
    pub(super) fn begin(&mut self, wanted: Wanted<'_>) {
        match &mut self.reader {
            Reader::SockDiag(dump) => match wanted {
                Wanted::Listeners => dump.begin(&FAMILIES, states::LISTENING, 0),
                Wanted::Ports(ports, families) => {
                    let only = if let [port] = ports { *port } else { 0 };
                    dump.begin(families, states::LISTENING | states::CONNECTED, only);
                }
            },
            Reader::Proc { tables, reading, read_any } => {
                *tables = proc_net::TABLES.to_vec();
                (*reading, *read_any) = (None, false);
            }
        }
    }

    /// Reads one piece.
    ///
    /// # Errors
    /// The table is not to be had, or not all of it.
    pub(super) fn step(&mut self, now: Tick, wanted: Wanted<'_>, mut each: impl FnMut(Entry)) -> io::Result<Step> {
        match &mut self.reader {
            Reader::SockDiag(dump) => dump.step(now, &mut self.buffer, |socket| {
                if is_wanted(socket.listens, socket.port, wanted) {
                    each(socket.into());
                }
            }),
            Reader::Proc { tables, reading, read_any } => {
                if let Some(open) = reading {
                    let wanted_entry =
                        |line| entry(line).filter(|_| is_wanted(line.state == State::Listening, line.port, wanted));
                    if open.read(&mut self.buffer, |line| wanted_entry(line).into_iter().for_each(&mut each))? {
                        return Ok(Step::More);
                    }
                    *reading = None;
                }
                let Some(table) = tables.pop() else {
                    return if *read_any { Ok(Step::Complete) } else { Err(io::ErrorKind::NotFound.into()) };
                };
                match Reading::open(table) {
                    Ok(open) => (*reading, *read_any) = (Some(open), true),
                    // Without IPv6 there is only the other.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
                Ok(Step::More)
            }
        }
    }
}

fn is_wanted(listens: bool, port: u16, wanted: Wanted<'_>) -> bool {
    match wanted {
        Wanted::Listeners => listens,
        Wanted::Ports(ports, _) => ports.contains(&port),
    }
}

fn entry(line: Line) -> Option<Entry> {
    let Line { state, port, resolver, receive_queue: queue, uid, inode } = line;
    match state {
        State::Listening => Some(Entry::Listener(Listener { family: 0, port, resolver, inode, uid, queue })),
        State::Connected => Some(Entry::Connection(0, None)),
        State::Other => None,
    }
}

impl From<Socket> for Entry {
    fn from(socket: Socket) -> Self {
        let Socket { family, listens, port, resolver, cookie, receive_queue: queue, uid, inode, counters } = socket;
        if listens {
            Self::Listener(Listener { family, port, resolver, inode, uid, queue })
        } else {
            Self::Connection(cookie, counters)
        }
    }
}
