//! Broken answers: a corpus of real ones, changed at random.
//!
//! `LAMEDUCK_FUZZ=10000000 cargo test --release --lib broken_answers` takes as many as that.

use super::live::{clients, dump};
use crate::run::watch::sock_diag::{Message, messages, states};

/// Real answers of Linux 6.18, each with a few connections: IPv4, IPv6, and a listener alone.
const CORPUS: [&[u8]; 3] =
    [include_bytes!("corpus/ipv4.bin"), include_bytes!("corpus/ipv6.bin"), include_bytes!("corpus/listener.bin")];

/// Marsaglia's xorshift: the same numbers each time, so that what is found can be found again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    /// A number that is likely to be a boundary of something.
    fn interesting(&mut self) -> u32 {
        let numbers = [0, 1, 3, 4, 15, 16, 17, 72, 88, 89, 0x7fff, 0xffff, 0x7fff_ffff, u32::MAX];
        numbers[self.below(numbers.len())]
    }

    /// Changes, cuts, repeats or joins.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len());
            match self.below(7) {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 if at + 4 <= bytes.len() => bytes[at..at + 4].copy_from_slice(&self.interesting().to_ne_bytes()),
                3 if at + 2 <= bytes.len() => {
                    bytes[at..at + 2].copy_from_slice(&self.interesting().to_ne_bytes()[..2]);
                }
                4 => {
                    bytes.drain(at..(at + self.below(64)).min(bytes.len()));
                }
                5 => bytes.extend_from_within(at..(at + self.below(200)).min(bytes.len())),
                _ => bytes.extend_from_slice(CORPUS[self.below(CORPUS.len())]),
            }
        }
    }
}

#[test]
fn broken_answers_are_read_to_an_end_and_no_further() {
    let rounds = std::env::var("LAMEDUCK_FUZZ").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000_u64);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut sockets = 0_u64;
    for _ in 0..rounds {
        let mut bytes = CORPUS[random.below(CORPUS.len())].to_vec();
        random.spoil(&mut bytes);
        let mut count = 0;
        for message in messages(&bytes, 1) {
            count += 1;
            sockets += u64::from(matches!(message, Message::Socket(_)));
        }
        // A message has a header of 16 bytes.
        assert!(count <= bytes.len() / 16, "{count} messages in {} bytes", bytes.len());
    }
    assert!(sockets > rounds, "too little was left that can be read: {sockets} sockets of {rounds} answers");
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
