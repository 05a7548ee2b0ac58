//! Heads as nobody should send them.

use super::{Head, LONGEST_HEAD, Request, Status};
use crate::fuzz::{self, Dice, SOME, TEN_MILLION};

/// Where the mutants start from: each once found or once thought of.
const SEEDS: [&[u8]; 24] = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /readyz?a=b HTTP/1.0\r\n\r\n",
    b"GET http://h:80/a?b HTTP/1.1\r\nHost: h\r\nX: \xff\r\n\r\n",
    b"GET ://?# HTTP/1.1\r\n\r\n",
    b"GET /\xc3\xa9\xe2\x82\xac HTTP/1.1\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\n\r\n",
    b"GET \0 HTTP/1.1\r\n\r\n",
    b"\r\n\r\n\n\nGET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    b"GET / HTTP/1.1\r\n: b\r\n\r\n",
    b"GET / HTTP/1.1\rHost: x\r\r",
    b"GET  /  HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.2\r\n\r\n",
    b"GET / HTTP/11\r\n\r\n",
    b"GET /\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"CONNECT h:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: -1\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n",
    b"HTTP/1.0 503 \xff\xfe\r\n",
    b"HTTP/1.1 099\r\n",
    b"HTTP/1.1 1000 OK\r\n",
    b"HTTP/1.1  200 OK\n",
    b"\n",
];

/// Another head; now and then one that is too long.
fn mutate(dice: &mut Dice, input: &mut Vec<u8>) {
    dice.mutant(input, &SEEDS, b"\r\n :/?#.%HTP10");
    if dice.roll(1_000) == 0 {
        let at = dice.roll(input.len() + 1);
        let byte = input.get(at).copied().unwrap_or(b'\n');
        input.splice(at..at, std::iter::repeat_n(byte, LONGEST_HEAD - 4 + dice.roll(8)));
    }
}

/// What must hold for any bytes.
fn check(input: &[u8]) {
    match Head::parse(input) {
        Head::Whole(Request { path, .. }) => {
            assert!(!path.contains(['?', '#', ' ', '\r', '\n']), "{path:?}");
            // More bytes behind a whole head change nothing about it.
            let more = [input, b"\0more"].concat();
            assert_eq!(Head::parse(&more), Head::parse(input));
        }
        Head::Unfinished => assert!(input.len() < LONGEST_HEAD),
        Head::Refused(_) => {
            // What is refused is not taken later: the connection is answered at once and for good.
            let more = [input, b"\r\n\r\n"].concat();
            assert!(!matches!(Head::parse(&more), Head::Unfinished | Head::Whole(_)));
        }
    }
    if let Status::Code(code) = Status::parse(input) {
        assert!((0..1000).contains(&code) && input.contains(&b'\n'));
    }
}

#[test]
fn the_corpus_breaks_nothing() {
    for seed in SEEDS {
        for length in 0..=seed.len() {
            check(&seed[..length]);
        }
    }
    fuzz::run(SOME, mutate, check);
}

#[test]
#[ignore = "takes a minute: see crate::fuzz"]
fn ten_million_heads_break_nothing() {
    fuzz::run(TEN_MILLION, mutate, check);
}
