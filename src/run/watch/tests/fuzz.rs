//! Broken answers: a corpus of real ones, changed at random.

use super::live::{clients, dump};
use crate::fuzz::{self, Dice, SOME, TEN_MILLION};
use crate::run::watch::sock_diag::{Message, messages, states};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Real answers of Linux 6.18, each with a few connections: IPv4, IPv6, and a listener alone.
const CORPUS: [&[u8]; 3] =
    [include_bytes!("corpus/ipv4.bin"), include_bytes!("corpus/ipv6.bin"), include_bytes!("corpus/listener.bin")];

/// A number that is likely to be a boundary of something.
fn interesting(dice: &mut Dice) -> u32 {
    let numbers = [0, 1, 3, 4, 15, 16, 17, 72, 88, 89, 0x7fff, 0xffff, 0x7fff_ffff, u32::MAX];
    numbers[dice.roll(numbers.len())]
}

/// Changes, cuts, repeats or joins.
fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(CORPUS[dice.roll(CORPUS.len())]);
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len());
        match dice.roll(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << dice.roll(8),
            2 if at + 4 <= bytes.len() => bytes[at..at + 4].copy_from_slice(&interesting(dice).to_ne_bytes()),
            3 if at + 2 <= bytes.len() => {
                bytes[at..at + 2].copy_from_slice(&interesting(dice).to_ne_bytes()[..2]);
            }
            4 => {
                bytes.drain(at..(at + dice.roll(64)).min(bytes.len()));
            }
            5 => bytes.extend_from_within(at..(at + dice.roll(200)).min(bytes.len())),
            _ => bytes.extend_from_slice(CORPUS[dice.roll(CORPUS.len())]),
        }
    }
}

fn broken_answers(executions: usize) {
    let sockets = AtomicUsize::new(0);
    fuzz::run(executions, mutate, |bytes| {
        let mut count = 0;
        for message in messages(bytes, 1) {
            count += 1;
            sockets.fetch_add(usize::from(matches!(message, Message::Socket(_))), Ordering::Relaxed);
        }
        // A message has a header of 16 bytes.
        assert!(count <= bytes.len() / 16, "{count} messages in {} bytes", bytes.len());
    });
    let sockets = sockets.into_inner();
    assert!(sockets > executions, "too little was left that can be read: {sockets} sockets of {executions} answers");
}

#[test]
fn broken_answers_are_read_to_an_end_and_no_further() {
    broken_answers(SOME);
}

#[test]
#[ignore = "takes minutes: see crate::fuzz"]
fn ten_million_broken_answers_are_read_to_an_end() {
    broken_answers(TEN_MILLION);
}

#[test]
fn the_corpus_reads_as_what_it_is() {
    let count = |bytes| messages(bytes, 1).filter(|message| matches!(message, Message::Socket(_))).count();
    assert_eq!(CORPUS.map(count), [6, 5, 1]);
    let done = |bytes: &&[u8]| messages(bytes, 1).last() == Some(Message::Done);
    assert!(CORPUS.iter().all(done));
}

/// Writes the corpus anew, from this machine's kernel.
#[test]
#[ignore = "writes into the source tree"]
fn make_the_corpus() {
    let write = |name, datagrams: Vec<Vec<u8>>| {
        let path = format!("{}/src/run/watch/tests/corpus/{name}.bin", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, datagrams.concat()).unwrap();
    };
    let all = states::CONNECTED | states::LISTENING;
    let (_listener, port, _connections) = clients("127.0.0.1:0", 5);
    write("ipv4", dump(2, all, port));
    write("listener", dump(2, states::LISTENING, port));
    let (_listener, port, _connections) = clients("[::1]:0", 4);
    write("ipv6", dump(10, all, port));
}
