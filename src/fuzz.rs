//! Input as nobody should send it, for the tests of whatever reads what comes from outside: seeds,
//! changed at random, and always in the same way, so that a finding can be found again.
//!
//! An ordinary run tries some. The long one, of ten million for each reader, takes minutes:
//! `cargo test --release --lib ten_million -- --ignored`.

use std::panic::{RefUnwindSafe, catch_unwind};

/// So many are tried in an ordinary run.
pub(crate) const SOME: usize = 100_000;

/// And in the long one.
pub(crate) const TEN_MILLION: usize = 10_000_000;

/// Pseudo-random numbers (xorshift).
pub(crate) struct Dice(u64);

/// Has `mutate` make an input so many times, and `check` look at it.
pub(crate) fn run(
    executions: usize,
    mut mutate: impl FnMut(&mut Dice, &mut Vec<u8>),
    check: impl Fn(&[u8]) + RefUnwindSafe,
) {
    let (mut dice, mut input) = (Dice(0x9E37_79B9_7F4A_7C15), Vec::new());
    for _ in 0..executions {
        input.clear();
        mutate(&mut dice, &mut input);
        let held = catch_unwind(|| check(&input));
        assert!(held.is_ok(), "found: {}", input.escape_ascii());
    }
}

// === impl Dice ===

impl Dice {
    /// A number below `sides`; 0 when there are none.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 32).unwrap() % sides.max(1)
    }

    /// One of the seeds, changed in one to eight places; half of what is put in is out of `letters`.
    pub(crate) fn mutant(&mut self, input: &mut Vec<u8>, seeds: &[&[u8]], letters: &[u8]) {
        input.extend(seeds[self.roll(seeds.len())]);
        for _ in 0..=self.roll(8) {
            let at = self.roll(input.len() + 1);
            let byte = if self.roll(2) == 0 {
                u8::try_from(self.roll(256)).unwrap()
            } else {
                letters[self.roll(letters.len())]
            };
            match self.roll(5) {
                0 if at < input.len() => input[at] = byte,
                1 => input.truncate(at),
                2 if at < input.len() => drop(input.remove(at)),
                3 => {
                    let other = seeds[self.roll(seeds.len())];
                    let from = self.roll(other.len());
                    input.splice(at..at, other[from..].iter().copied());
                }
                _ => input.insert(at, byte),
            }
        }
    }
}
