//! Heads as nobody should send them. An ordinary run replays what is written here and a little
//! around it; the long run is `cargo test --release --lib http::corpus -- --ignored`.

use super::{Head, LONGEST_HEAD, Request, Status};

/// Where the long run starts from: each once found or once thought of.
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

/// Pseudo-random numbers (xorshift): the same in every run, so that a finding can be found again.
struct Dice(u64);

// === impl Dice ===

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).unwrap() % sides
    }

    /// Changes a seed in one to eight places, and now and then makes it too long.
    fn mutant(&mut self, input: &mut Vec<u8>) {
        input.clear();
        input.extend(SEEDS[self.roll(SEEDS.len())]);
        for _ in 0..=self.roll(8) {
            let at = self.roll(input.len() + 1);
            let byte = if self.roll(2) == 0 {
                u8::try_from(self.roll(256)).unwrap()
            } else {
                b"\r\n :/?#.%HTP10"[self.roll(14)]
            };
            match self.roll(5) {
                0 if at < input.len() => input[at] = byte,
                1 => input.truncate(at),
                2 if at < input.len() => drop(input.remove(at)),
                3 => {
                    let other = SEEDS[self.roll(SEEDS.len())];
                    let from = self.roll(other.len());
                    input.splice(at..at, other[from..].iter().copied());
                }
                _ => input.insert(at, byte),
            }
        }
        if self.roll(1_000) == 0 {
            let at = self.roll(input.len() + 1);
            let byte = input.get(at).copied().unwrap_or(b'\n');
            input.splice(at..at, std::iter::repeat_n(byte, LONGEST_HEAD - 4 + self.roll(8)));
        }
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

fn run(executions: usize) {
    let (mut dice, mut input) = (Dice(0x9E37_79B9_7F4A_7C15), Vec::new());
    for _ in 0..executions {
        dice.mutant(&mut input);
        let held = std::panic::catch_unwind(|| check(&input));
        assert!(held.is_ok(), "found: {:?}", input.escape_ascii().to_string());
    }
}

#[test]
fn the_corpus_breaks_nothing() {
    for seed in SEEDS {
        for length in 0..=seed.len() {
            check(&seed[..length]);
        }
    }
    run(100_000);
}

#[test]
#[ignore = "ten million executions take a minute"]
fn ten_million_mutants_break_nothing() {
    run(10_000_000);
}
