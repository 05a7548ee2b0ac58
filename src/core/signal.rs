//! Signals by number, and their names.
//!
//! A signal is its number: containers are stopped with real-time signals too (systemd's
//! `RTMIN+3`), which no enumeration of names holds. The numbers are those of Linux on every
//! architecture but alpha, mips, parisc and sparc; a test holds them against the crate signal-hook
//! and against `kill -l`.

use std::fmt;

#[cfg(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc", target_arch = "sparc64"))]
compile_error!("the signal numbers of this architecture differ and are not known here");

/// The number of a signal, 1 to 64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(u8);

/// A set of signals, one bit each, as `/proc/PID/status` prints them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SignalSet(u64);

/// Why a text does not name a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASignal;

/// The first real-time signal a program may use. The kernel's range begins at 32; the C libraries
/// keep 32 and 33 (musl 34 too) for themselves, so that `RTMIN+n` means `34+n` everywhere else.
const RTMIN: u8 = 34;
const RTMAX: u8 = 64;

const NAMES: [(u8, &str); 31] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (5, "TRAP"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (10, "USR1"),
    (11, "SEGV"),
    (12, "USR2"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
    (16, "STKFLT"),
    (17, "CHLD"),
    (18, "CONT"),
    (19, "STOP"),
    (20, "TSTP"),
    (21, "TTIN"),
    (22, "TTOU"),
    (23, "URG"),
    (24, "XCPU"),
    (25, "XFSZ"),
    (26, "VTALRM"),
    (27, "PROF"),
    (28, "WINCH"),
    (29, "IO"),
    (30, "PWR"),
    (31, "SYS"),
];

/// Other names of the same signals, as `kill` and `signal(7)` accept them.
const ALIASES: [(u8, &str); 4] = [(6, "IOT"), (17, "CLD"), (29, "POLL"), (31, "UNUSED")];

// === impl Signal ===

impl Signal {
    /// Hang-up; to servers: reload.
    pub const HUP: Self = Self(1);
    /// Ctrl-C.
    pub const INT: Self = Self(2);
    /// Ctrl-\\; to nginx and others: stop gracefully.
    pub const QUIT: Self = Self(3);
    /// Illegal instruction.
    pub const ILL: Self = Self(4);
    /// Breakpoint.
    pub const TRAP: Self = Self(5);
    /// Ends a process without asking it.
    pub const KILL: Self = Self(9);
    /// A program's own; to HAProxy: stop gracefully.
    pub const USR1: Self = Self(10);
    /// A program's own.
    pub const USR2: Self = Self(12);
    /// Wrote to a pipe nobody reads.
    pub const PIPE: Self = Self(13);
    /// Please end.
    pub const TERM: Self = Self(15);
    /// A child ended or stopped.
    pub const CHLD: Self = Self(17);
    /// Continue after a stop.
    pub const CONT: Self = Self(18);
    /// Stops a process without asking it.
    pub const STOP: Self = Self(19);
    /// Ctrl-Z.
    pub const TSTP: Self = Self(20);
    /// Read from the terminal in its background.
    pub const TTIN: Self = Self(21);
    /// Wrote to the terminal in its background.
    pub const TTOU: Self = Self(22);
    /// The terminal changed its size; to Apache httpd: stop gracefully.
    pub const WINCH: Self = Self(28);
    /// Bad system call.
    pub const SYS: Self = Self(31);

    /// The signal of that number, if there is one.
    #[must_use]
    pub const fn new(number: i32) -> Option<Self> {
        if number >= 1 && number <= RTMAX as i32 {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 64, just checked")]
            Some(Self(number as u8))
        } else {
            None
        }
    }

    /// Its number, as the system calls take it.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// Reads `TERM`, `SIGTERM`, `sigterm`, `15`, `RTMIN+3`, `RTMAX-1`.
    ///
    /// # Errors
    /// [`NotASignal`] for everything else, 32 and 33 among it: those belong to the C library.
    pub fn parse(text: &str) -> Result<Self, NotASignal> {
        let upper = text.trim().to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let number = if let Some(offset) = name.strip_prefix("RTMIN") {
            real_time(RTMIN, offset, '+')?
        } else if let Some(offset) = name.strip_prefix("RTMAX") {
            real_time(RTMAX, offset, '-')?
        } else if let Some(&(number, _)) = NAMES.iter().chain(&ALIASES).find(|(_, known)| *known == name) {
            number
        } else {
            digits(&upper)?
        };
        match Self::new(i32::from(number)) {
            Some(signal) if !signal.is_libc() => Ok(signal),
            _ => Err(NotASignal),
        }
    }

    /// Whether it is one of the two that the C library uses for its threads.
    #[must_use]
    pub const fn is_libc(self) -> bool {
        matches!(self.0, 32 | 33)
    }

    /// Whether a process can hold it back and receive it at will: all but KILL, STOP and the two of
    /// the C library.
    #[must_use]
    pub const fn can_be_held(self) -> bool {
        !matches!(self, Self::KILL | Self::STOP) && !self.is_libc()
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = NAMES.iter().find(|(number, _)| *number == self.0) {
            write!(f, "SIG{name}")
        } else if self.0 == RTMIN {
            f.write_str("SIGRTMIN")
        } else if self.0 > RTMIN {
            write!(f, "SIGRTMIN+{}", self.0 - RTMIN)
        } else {
            write!(f, "signal {}", self.0)
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn real_time(base: u8, offset: &str, sign: char) -> Result<u8, NotASignal> {
    if offset.is_empty() {
        return Ok(base);
    }
    let offset = digits(offset.strip_prefix(sign).ok_or(NotASignal)?)?;
    let number = if sign == '+' { base.checked_add(offset) } else { base.checked_sub(offset) };
    number.filter(|n| (RTMIN..=RTMAX).contains(n)).ok_or(NotASignal)
}

/// A number of digits only: `str::parse` alone would take `+15`.
fn digits(text: &str) -> Result<u8, NotASignal> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| NotASignal) } else { Err(NotASignal) }
}

// === impl SignalSet ===

impl SignalSet {
    /// No signal at all.
    pub const EMPTY: Self = Self(0);

    /// The set that has bit `n - 1` for signal `n`, the kernel's own form.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The kernel's form of the set.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The same set with `signal` in it.
    #[must_use]
    pub const fn with(self, signal: Signal) -> Self {
        Self(self.0 | 1 << (signal.0 - 1))
    }

    /// The same set without `signal`.
    #[must_use]
    pub const fn without(self, signal: Signal) -> Self {
        Self(self.0 & !(1 << (signal.0 - 1)))
    }

    /// Whether `signal` is in it.
    #[must_use]
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 >> (signal.0 - 1) & 1 == 1
    }

    /// Its signals, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        (1..=RTMAX).map(Signal).filter(move |signal| self.contains(*signal))
    }
}

impl FromIterator<Signal> for SignalSet {
    fn from_iter<I: IntoIterator<Item = Signal>>(signals: I) -> Self {
        signals.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_real_time_offsets_are_read() {
        for (text, number) in [
            ("TERM", 15),
            ("SIGTERM", 15),
            ("sigquit", 3),
            (" 15 ", 15),
            ("RTMIN", 34),
            ("RTMIN+3", 37),
            ("SIGRTMIN+30", 64),
            ("rtmax-1", 63),
            ("64", 64),
            ("CLD", 17),
        ] {
            assert_eq!(Signal::parse(text).map(Signal::number), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_signal_is_refused() {
        for text in [
            "", "0", "65", "32", "33", "-1", "+15", "TERMX", "RTMIN+31", "RTMIN-1", "RTMAX+1", "RTMIN+", "256", "SIG",
            "RTMINX",
        ] {
            assert_eq!(Signal::parse(text), Err(NotASignal), "{text:?}");
        }
    }

    #[test]
    fn every_name_printed_is_read_back() {
        for number in (1..=64).filter(|n| !matches!(n, 32 | 33)) {
            let signal = Signal::new(number).unwrap();
            assert_eq!(Signal::parse(&signal.to_string()), Ok(signal));
        }
        assert_eq!(Signal::new(0), None);
        assert_eq!(Signal::new(65), None);
    }

    #[test]
    fn the_names_are_those_of_signal_hook() {
        use signal_hook::low_level::signal_name;
        for (number, name) in NAMES {
            if let Some(theirs) = signal_name(i32::from(number)) {
                assert_eq!(theirs, format!("SIG{name}"), "signal {number}");
            }
        }
        assert_eq!(signal_name(Signal::TERM.number()), Some("SIGTERM"));
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: SignalSet = [Signal::TERM, Signal::HUP, Signal::new(64).unwrap()].into_iter().collect();
        assert!(set.contains(Signal::TERM) && !set.contains(Signal::INT));
        assert_eq!(set.iter().map(Signal::number).collect::<Vec<_>>(), [1, 15, 64]);
        assert_eq!(SignalSet::from_bits(set.bits()), set);
        assert_eq!(set.without(Signal::TERM).iter().count(), 2);
    }

    #[test]
    fn all_can_be_held_but_kill_stop_and_the_two_of_the_c_library() {
        let held: Vec<i32> = (1..=64).filter_map(Signal::new).filter(|s| s.can_be_held()).map(Signal::number).collect();
        let expected: Vec<i32> = (1..=64).filter(|number| ![9, 19, 32, 33].contains(number)).collect();
        assert_eq!(held, expected);
    }

    #[test]
    fn a_signal_that_is_put_into_a_set_twice_is_in_it() {
        let set = SignalSet::EMPTY.with(Signal::TERM).with(Signal::TERM);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Signal::TERM]);
    }
}
