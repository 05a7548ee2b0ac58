//! A kernel that answers late, in pieces, too much, not at all.

use crate::core::Tick;
use crate::core::fixtures::{ms, secs};
use crate::run::watch::dump::{Dump, Kernel, TIME_OUT};
use crate::run::watch::sock_diag::{FAMILIES, Message, Socket, messages, request, states};
use crate::run::watch::table::Step;
use crate::run::watch::{INTERVAL, MOST_FAILURES, Outcome, Source, Watch};
use crate::sys::netlink::Received;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;

/// What the kernel does when it is asked for a datagram.
enum Does {
    Says(Vec<u8>),
    Fails(Errno),
    Trickles,
}

/// A kernel that does these things one after the other, and then says nothing more.
#[derive(Default)]
struct Scripted {
    script: VecDeque<Does>,
    asked: Vec<Vec<u8>>,
}

impl Kernel for &mut Scripted {
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.asked.push(request.to_vec());
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        match self.script.pop_front() {
            None => Ok(Received::NoneYet),
            Some(Does::Fails(errno)) => Err(errno.into()),
            Some(Does::Trickles) => Ok(Received::Useless),
            Some(Does::Says(bytes)) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(Received::Bytes(bytes.len()))
            }
        }
    }
}

fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).unwrap();
    let mut bytes = [length.to_ne_bytes(), [0; 4], sequence.to_ne_bytes(), [0; 4]].concat();
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A connection with this cookie; without counters.
fn connection(sequence: u32, cookie: u64) -> Vec<u8> {
    let mut body = [0; 72];
    (body[0], body[1]) = (2, 1);
    body[4..6].copy_from_slice(&8_080_u16.to_be_bytes());
    body[44..52].copy_from_slice(&cookie.to_ne_bytes());
    message(20, sequence, &body)
}

fn done(sequence: u32) -> Vec<u8> {
    message(3, sequence, &0_i32.to_ne_bytes())
}

fn refused(sequence: u32, errno: Errno) -> Vec<u8> {
    message(2, sequence, &(-(errno as i32)).to_ne_bytes())
}

/// Reads to the end, a step every 10 ms; what was found, how it ended, and when.
fn read(script: impl IntoIterator<Item = Does>) -> (Vec<u64>, io::Result<()>, Tick) {
    let mut kernel = Scripted { script: script.into_iter().collect(), ..Scripted::default() };
    let mut dump = Dump::new(&mut kernel);
    dump.begin(&FAMILIES, states::CONNECTED, 8_080);
    let (mut found, mut now, mut buffer) = (Vec::new(), ms(0), vec![0; 32 * 1024]);
    let ended = loop {
        match dump.step(now, &mut buffer, |socket: Socket| found.push(socket.cookie)) {
            Ok(Step::Complete) => break Ok(()),
            Ok(Step::More | Step::Waiting) => now += ms(10),
            Err(error) => break Err(error),
        }
        assert!(now < secs(10), "it does not come to an end");
    };
    (found, ended, now)
}

use Does::{Fails, Says, Trickles};

#[test]
fn an_answer_may_come_in_pieces_and_late() {
    let (found, ended, _) = read([
        Says([connection(1, 7), connection(1, 8)].concat()),
        Says(connection(1, 9)),
        Trickles,
        Says(done(1)),
        Says([connection(2, 10), done(2)].concat()),
    ]);
    assert!(ended.is_ok());
    assert_eq!(found, [7, 8, 9, 10]);
}

#[test]
fn what_answers_another_question_is_none() {
    let (found, ended, _) = read([
        Says([connection(77, 1), done(77), connection(1, 2), done(1)].concat()),
        Says(refused(1, Errno::EPERM)),
        Says(done(2)),
    ]);
    assert!(ended.is_ok());
    assert_eq!(found, [2]);
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    for script in [vec![], vec![Says(connection(1, 7))], (0..500).map(|_| Trickles).collect()] {
        let (_, ended, at) = read(script);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(at <= TIME_OUT + ms(20), "{at:?}");
    }
    let (_, ended, _) = read((0..5_000).map(|_| Says(connection(1, 7))));
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_refusal_ends_it_unless_it_is_one_family_that_does_not_exist() {
    for errno in [Errno::EPERM, Errno::EINVAL, Errno::ENOBUFS, Errno::EOPNOTSUPP] {
        let (_, ended, _) = read([Says(refused(1, errno))]);
        assert_eq!(ended.unwrap_err().raw_os_error(), Some(errno as i32));
    }
    let (found, ended, _) = read([Says(refused(1, Errno::ENOENT)), Says([connection(2, 3), done(2)].concat())]);
    assert!(ended.is_ok());
    assert_eq!(found, [3]);
    // Neither family exists: there is no socket diagnostics here.
    let (_, ended, _) = read([Says(refused(1, Errno::ENOENT)), Says(refused(2, Errno::ENOENT))]);
    assert_eq!(ended.unwrap_err().raw_os_error(), Some(Errno::ENOENT as i32));
}

#[test]
fn what_the_kernel_threw_away_is_noticed() {
    let (found, ended, _) = read([Says(connection(1, 7)), Fails(Errno::ENOBUFS)]);
    assert_eq!((found.as_slice(), ended.unwrap_err().raw_os_error()), (&[7][..], Some(Errno::ENOBUFS as i32)));
    // An end that tells of an error, and the message that says "overrun".
    let (_, ended, _) = read([Says(message(3, 1, &(-(Errno::ENOMEM as i32)).to_ne_bytes()))]);
    assert_eq!(ended.unwrap_err().raw_os_error(), Some(Errno::ENOMEM as i32));
    let (_, ended, _) = read([Says(message(4, 1, &[]))]);
    assert_eq!(ended.unwrap_err().raw_os_error(), Some(Errno::ENOBUFS as i32));
}

#[test]
fn a_watch_asks_again_for_what_was_thrown_away_and_the_third_time_in_another_way() {
    let (now, failed) = (secs(1), |watch: &mut Watch, errno: Errno| watch.fail(secs(1), errno.into()));
    let mut watch = Watch::new(ms(0), vec![8_080], 0, None);
    for _ in 1..MOST_FAILURES {
        assert!(matches!(failed(&mut watch, Errno::ENOBUFS), Outcome::Nothing));
        assert_eq!((watch.source(), watch.due()), (Source::SockDiag, now + INTERVAL));
    }
    assert!(matches!(failed(&mut watch, Errno::ENOBUFS), Outcome::FellBack(_)));
    assert_eq!((watch.source(), watch.due()), (Source::Proc, now));
    // There is no third way.
    assert!(matches!(failed(&mut watch, Errno::EACCES), Outcome::Blind(_)));
    // Nobody asks a second time where there was no answer.
    let mut watch = Watch::new(ms(0), vec![8_080], 0, None);
    assert!(matches!(watch.fail(now, io::ErrorKind::TimedOut.into()), Outcome::FellBack(_)));
}

#[test]
fn a_sample_that_costs_much_puts_off_the_next() {
    let mut watch = Watch::new(ms(0), vec![8_080], 0, None);
    for (told, cost, interval) in [
        (false, ms(5), ms(250)),
        (false, ms(10), ms(500)),
        (false, secs(1), secs(5)),
        (true, ms(10), secs(1)),
        (true, ms(40), secs(2)),
    ] {
        (watch.told, watch.round.cost) = (told, cost);
        assert_eq!(watch.interval(), interval, "{cost:?}");
    }
}

#[test]
fn a_broken_message_ends_its_datagram() {
    let whole = [connection(1, 7), connection(1, 8)].concat();
    for length in 0..whole.len() {
        let complete = length / connection(1, 7).len();
        assert_eq!(messages(&whole[..length], 1).count(), complete, "{length} bytes");
    }
    // Lengths that lie.
    for lie in [0_u32, 1, 15, 16, 17, 89, u32::MAX] {
        let mut bytes = whole.clone();
        bytes[..4].copy_from_slice(&lie.to_ne_bytes());
        assert!(messages(&bytes, 1).count() <= 2, "{lie}");
    }
    assert_eq!(messages(&[0; 4_096], 0).count(), 0);
}

#[test]
fn a_socket_is_decoded_as_far_as_its_message_goes() {
    let with_info = |info: &[u8]| {
        let mut bytes = connection(1, 7);
        let attribute = u16::try_from(4 + info.len()).unwrap();
        bytes.extend([attribute.to_ne_bytes(), 2_u16.to_ne_bytes()].concat());
        bytes.extend_from_slice(info);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        match messages(&bytes, 1).next() {
            Some(Message::Socket(socket)) => socket.counters,
            other => panic!("{other:?}"),
        }
    };
    let mut info = vec![0_u8; 280];
    info[44..48].copy_from_slice(&604_u32.to_ne_bytes());
    info[52..56].copy_from_slice(&612_u32.to_ne_bytes());
    info[120..128].copy_from_slice(&175_u64.to_ne_bytes());
    info[128..136].copy_from_slice(&58_u64.to_ne_bytes());
    info[152..160].copy_from_slice(&[4_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat());
    info[200..208].copy_from_slice(&200_u64.to_ne_bytes());
    // Today's, one of 4.19, one of 4.6, one of 4.1, one before, and one with fields to come.
    for (length, sent, segments, received) in [
        (280, Some(200), 4, 58),
        (208, Some(200), 4, 58),
        (192, Some(175), 4, 58),
        (136, Some(175), 0, 58),
        (104, None, 0, 0),
        (1_000, Some(200), 4, 58),
    ] {
        let mut info = info.clone();
        info.resize(length, 0);
        let counters = with_info(&info);
        assert_eq!(counters.map(|c| c.sent), sent, "{length} bytes");
        let Some(counters) = counters else { continue };
        assert_eq!((counters.segments_in, counters.received), (segments, received), "{length} bytes");
        assert_eq!((counters.since_sent, counters.since_received), (ms(604), ms(612)));
    }
}

#[test]
fn a_request_is_what_the_kernel_expects() {
    let bytes = request(10, states::LISTENING, 8_080, 5);
    assert_eq!(bytes.len(), 72);
    let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((number(0), number(8), number(20)), (72, 5, 1 << 10));
    assert_eq!(bytes[16..20], [10, 6, 2, 0]);
    assert_eq!(bytes[24..26], [0x1f, 0x90]);
}
