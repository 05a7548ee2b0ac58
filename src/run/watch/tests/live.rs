//! Live sockets of this machine.

use super::sockets;
use crate::core::traffic::Counters;
use crate::run::clock::Clock;
use crate::run::watch::sock_diag::{FAMILIES, Message, Socket, messages, request, states};
use crate::run::watch::table::{Entry, Listener, Step, Table, Wanted};
use crate::run::watch::{Outcome, Source, Watch};
use crate::sys::netlink::{Received, SockDiag};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Says so, past the capture of the test harness.
fn skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// All datagrams of a dump.
pub(super) fn dump(family: u8, states: u32, port: u16) -> Vec<Vec<u8>> {
    let socket = SockDiag::open().unwrap();
    socket.send(&request(family, states, port, 1)).unwrap();
    let (mut buffer, mut datagrams) = (vec![0; 32 * 1024], Vec::new());
    loop {
        match socket.receive(&mut buffer).unwrap() {
            Received::Bytes(length) => datagrams.push(buffer[..length].to_vec()),
            other => panic!("{other:?}"),
        }
        if messages(datagrams.last().unwrap(), 1).any(|message| message == Message::Done) {
            return datagrams;
        }
    }
}

/// A listener with clients that have spoken and some that have not; both ends.
pub(super) fn clients(address: &str, count: usize) -> (TcpListener, u16, Vec<(TcpStream, TcpStream)>) {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = |at: usize| {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..at % 4 {
            client.write_all(&vec![b'q'; 27 + at]).unwrap();
            let mut question = vec![0; 27 + at];
            server.read_exact(&mut question).unwrap();
            if !at.is_multiple_of(3) {
                server.write_all(&vec![b'a'; 100 + at]).unwrap();
                client.read_exact(&mut vec![0; 100 + at]).unwrap();
            }
        }
        (client, server)
    };
    let connections = (0..count).map(connect).collect();
    (listener, port, connections)
}

/// What `ss` makes of the sockets of a port, times left out; `None` when it is not there.
fn by_ss(family: u8, port: u16) -> Option<Vec<Socket>> {
    let output = Command::new("ss").args(["-tineOHa", "sport", "=", &format!(":{port}")]).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let socket = |line: &str| {
        let mut words = line.split_whitespace();
        let listens = words.next() == Some("LISTEN");
        // `name:value`; a field that is nothing is left out.
        let field = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
        let number = |name| field(name).map_or(0, |value| value.parse().unwrap());
        let small = |name| u32::try_from(number(name)).unwrap();
        Socket {
            family,
            listens,
            port,
            resolver: false,
            cookie: field("sk").map_or(0, |cookie| u64::from_str_radix(cookie, 16).unwrap()),
            receive_queue: words.next().unwrap().parse().unwrap(),
            uid: small("uid"),
            inode: small("ino"),
            counters: Some(Counters {
                received: number("bytes_received"),
                sent: number("bytes_sent"),
                segments_in: small("data_segs_in"),
                segments_out: small("data_segs_out"),
                since_received: Duration::from_millis(number("lastrcv")),
                since_sent: Duration::from_millis(number("lastsnd")),
            }),
        }
    };
    Some(text.lines().map(socket).collect())
}

#[test]
fn live_sockets_decode_as_ss_reads_them() {
    for (family, address) in [(2, "127.0.0.1:0"), (10, "[::1]:0"), (10, "[::]:0")] {
        if TcpListener::bind(address).is_err() {
            continue;
        }
        let (_listener, port, connections) = clients(address, 150);
        let clock = Clock::start();
        let datagrams = dump(family, states::CONNECTED | states::LISTENING, port);
        let Some(mut theirs) = by_ss(family, port) else {
            return skipped("live_sockets_decode_as_ss_reads_them", "needs ss");
        };
        let between = clock.now() + Duration::from_millis(10);
        let mut ours: Vec<Socket> = datagrams.iter().flat_map(|datagram| sockets(datagram, 1)).collect();
        assert_eq!(ours.len(), connections.len() + 1, "{address}");
        assert!(datagrams.len() > 1, "more than one piece was wanted");
        ours.sort_unstable_by_key(|socket| socket.cookie);
        theirs.sort_unstable_by_key(|socket| socket.cookie);
        for (ours, theirs) in ours.iter().zip(&mut theirs) {
            let (counters, later) = (ours.counters.unwrap(), theirs.counters.as_mut().unwrap());
            if ours.listens {
                // Times and counters of a listening socket mean nothing.
                *later = counters;
                continue;
            }
            for (ours, later) in
                [(counters.since_received, &mut later.since_received), (counters.since_sent, &mut later.since_sent)]
            {
                let passed = later.checked_sub(ours);
                assert!(
                    passed.is_some_and(|passed| passed <= between),
                    "{ours:?}, at most {between:?} later {later:?}"
                );
                *later = ours;
            }
        }
        assert_eq!(ours, theirs);
    }
}

#[test]
fn the_kernel_counts_what_went_over_the_connections() {
    let (_listener, port, connections) = clients("127.0.0.1:0", 12);
    let found: Vec<Socket> = dump(2, states::CONNECTED, port).iter().flat_map(|bytes| sockets(bytes, 1)).collect();
    let mut seen: Vec<(u64, u64)> = found.iter().map(|s| s.counters.map_or((0, 0), |c| (c.received, c.sent))).collect();
    let expected = |at: usize| {
        let (times, answered) = (at % 4, u64::from(!at.is_multiple_of(3)));
        let bytes = |each: usize| u64::try_from(times * (each + at)).unwrap();
        (bytes(27), answered * bytes(100))
    };
    let mut expected: Vec<(u64, u64)> = (0..connections.len()).map(expected).collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

/// Everything in a table.
fn whole(source: Source, wanted: Wanted<'_>) -> Vec<Entry> {
    let clock = Clock::start();
    let mut table = Table::open(source).unwrap();
    table.begin(wanted);
    let mut entries = Vec::new();
    loop {
        match table.step(clock.now(), wanted, |entry| entries.push(entry)).unwrap() {
            Step::Complete => return entries,
            Step::More | Step::Waiting => {}
        }
    }
}

#[test]
fn both_ways_show_the_same_sockets() {
    let (listener, port, connections) = clients("127.0.0.1:0", 20);
    // Two that nobody accepts.
    let waiting: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
    let shown = |source| {
        let entries = whole(source, Wanted::Ports(&[port], &[2]));
        let listener = entries.iter().find_map(|entry| match entry {
            Entry::Listener(listener) => Some(*listener),
            Entry::Connection(..) => None,
        });
        (listener, entries.len() - 1)
    };
    let by_sock_diag = shown(Source::SockDiag);
    let seen = by_sock_diag.0.unwrap();
    // The family is not in the table of /proc.
    let expected = (Some(Listener { family: 0, ..seen }), by_sock_diag.1);
    // Other tests open and close connections meanwhile, and what is read in pieces shows some twice then.
    let by_proc = std::iter::repeat_with(|| shown(Source::Proc)).take(100).find(|by_proc| *by_proc == expected);
    assert_eq!(by_proc, Some(expected));
    assert_eq!((seen.port, seen.queue), (port, 2));
    assert_eq!(by_sock_diag.1, connections.len() + waiting.len());
    let listeners = whole(Source::SockDiag, Wanted::Listeners);
    assert!(listeners.iter().any(|entry| matches!(entry, Entry::Listener(listener) if *listener == seen)));
    // Of two ports all is read at once, and what is not asked for left out.
    let (_other, other, more) = clients("127.0.0.1:0", 3);
    let entries = whole(Source::SockDiag, Wanted::Ports(&[other, port], &FAMILIES));
    assert_eq!(entries.len(), 2 + connections.len() + waiting.len() + more.len());
}

/// Works until a sample is complete; how many pieces of work that took, and the time of each.
fn sample(watch: &mut Watch, clock: &Clock) -> u32 {
    let mut pieces = 0;
    loop {
        while clock.now() < watch.due() {
            std::thread::yield_now();
        }
        pieces += 1;
        match watch.work(clock) {
            Outcome::Sampled => return pieces,
            Outcome::Nothing | Outcome::Found { .. } => {}
            Outcome::FellBack(error) => panic!("{error}"),
            Outcome::NoPort { .. } => panic!("no port"),
            Outcome::Blind(why) => panic!("{why}"),
        }
    }
}

#[test]
fn a_large_table_is_read_in_many_pieces_with_time_for_signals_in_between() {
    let (_listener, port, connections) = clients("127.0.0.1:0", 400);
    let clock = Clock::start();
    let mut watch = Watch::new(clock.now(), vec![port], 0, None);
    assert!(sample(&mut watch, &clock) > 1);
    let evidence = watch.evidence(clock.now(), Duration::ZERO);
    assert_eq!(evidence.connections_at_stop.map(usize::try_from), Some(Ok(connections.len())));
}

/// What a sample costs, by the number of connections. Run it alone, with `--release`:
/// `cargo test --release --lib -- --ignored --nocapture what_a_sample_costs`.
#[test]
#[ignore = "a measurement: needs 16,000 descriptors and a quiet machine"]
#[allow(clippy::print_stdout, reason = "the result of a measurement")]
fn what_a_sample_costs() {
    for count in [10, 1_000, 8_000] {
        let (_listener, port, _connections) = clients("127.0.0.1:0", count);
        let clock = Clock::start();
        let mut watch = Watch::new(clock.now(), vec![port], 0, None);
        sample(&mut watch, &clock);
        let mut costs: Vec<Duration> = (0..20)
            .map(|_| {
                sample(&mut watch, &clock);
                watch.round.cost
            })
            .collect();
        costs.sort_unstable();
        println!(
            "{count} connections: {:?} of processor time a sample (median of 20), then nothing for {:?}",
            costs[10],
            watch.interval()
        );
    }
}
