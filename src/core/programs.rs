//! Which signal stops which program gracefully, and whether it then finishes what is in flight.
//!
//! The signal a platform sends is not the one a server drains on: QUIT is graceful for nginx and a
//! crash for PostgreSQL, TERM is graceful for gunicorn and cuts every request of nginx. Only what
//! was watched live, or read in the program's or its official image's source, stands here; a program
//! that is missing gets the signal as received if it handles that, else TERM.

use super::Signal;

/// How a program is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// What the kernel calls it (`/proc/PID/comm`).
    pub name: &'static str,
    /// The signal that makes it stop gracefully.
    pub graceful: Signal,
    /// Whether it finishes the requests in flight by itself when it gets that signal.
    pub drains: bool,
    /// Where this is known from.
    pub source: Source,
}

/// How an entry of the table is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Watched: a request of 3 s was in flight when the signal came, and a new connection was tried.
    Live,
    /// Read in the program's own source.
    Code,
    /// Read in the source of its official image.
    Image,
}

const fn program(name: &'static str, graceful: Signal, drains: bool, source: Source) -> Program {
    Program { name, graceful, drains, source }
}

/// The table. Names that contain others (`php-fpm8.2`) are found by [`lookup`].
///
/// The reasons behind single entries:
/// * `apache2`, `httpd`: on QUIT only the parent dies and its workers serve on as orphans.
/// * `php-fpm`: drains only when `process_control_timeout` is set, which it is not by default; so it
///   counts as one that does not.
/// * `postgres`: TERM waits for every client to leave; the official image stops it with INT ("fast").
/// * `java`: QUIT prints a thread dump and goes on. Whether the hooks of TERM drain depends on the
///   application, so it counts as one that does not.
/// * `nats-server`: USR2 is its own lame-duck mode; TERM is immediate.
/// * `memcached`, `varnishd`: no signal lets a request in flight finish.
const TABLE: [Program; 23] = {
    use Source::{Code, Image, Live};
    [
        program("nginx", Signal::QUIT, true, Live),
        program("openresty", Signal::QUIT, true, Code),
        program("httpd", Signal::WINCH, true, Live),
        program("apache2", Signal::WINCH, true, Live),
        program("haproxy", Signal::USR1, true, Live),
        program("php-fpm", Signal::QUIT, false, Image),
        program("lighttpd", Signal::INT, true, Live),
        program("varnishd", Signal::TERM, false, Live),
        program("squid", Signal::TERM, true, Code),
        program("traefik", Signal::TERM, true, Code),
        program("caddy", Signal::TERM, true, Code),
        program("gunicorn", Signal::TERM, true, Live),
        program("uvicorn", Signal::TERM, true, Live),
        program("hypercorn", Signal::TERM, true, Live),
        program("puma", Signal::TERM, true, Live),
        program("unicorn", Signal::QUIT, true, Live),
        program("java", Signal::TERM, false, Live),
        program("postgres", Signal::INT, false, Image),
        program("redis-server", Signal::TERM, true, Live),
        program("memcached", Signal::USR1, false, Live),
        program("nats-server", Signal::USR2, true, Code),
        program("vector", Signal::TERM, true, Code),
        program("fluent-bit", Signal::TERM, true, Code),
    ]
};

/// The entry for a program, by the name the kernel keeps of it (cut at the first `:` or blank).
/// A version at its end is passed over: `php-fpm8.2` is `php-fpm`.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Program> {
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    TABLE.iter().find(|program| program.name == name || program.name == unversioned)
}

/// All entries, for the documentation.
#[must_use]
pub fn all() -> &'static [Program] {
    &TABLE
}

/// Whether `signal` is the graceful signal of any program that has one besides TERM and QUIT: only
/// then is it worth a look at what runs.
#[must_use]
pub fn is_graceful_of_some(signal: Signal) -> bool {
    TABLE.iter().any(|program| program.graceful == signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_what_the_kernel_calls_them() {
        assert_eq!(lookup("nginx").map(|p| p.graceful), Some(Signal::QUIT));
        assert_eq!(lookup("apache2").map(|p| p.graceful), Some(Signal::WINCH));
        assert_eq!(lookup("php-fpm8.2").map(|p| p.name), Some("php-fpm"));
        assert_eq!(lookup("postgres").map(|p| p.graceful), Some(Signal::INT));
        assert_eq!(lookup("python3"), None);
        assert_eq!(lookup("nginx-extra"), None);
        assert_eq!(lookup(""), None);
    }

    #[test]
    fn names_fit_the_kernels_fifteen_bytes_and_stand_once() {
        for (at, program) in TABLE.iter().enumerate() {
            assert!(program.name.len() <= 15, "{}", program.name);
            assert!(TABLE.iter().skip(at + 1).all(|other| other.name != program.name), "{}", program.name);
        }
    }

    #[test]
    fn only_table_signals_are_worth_a_look() {
        for signal in [Signal::WINCH, Signal::USR1, Signal::INT, Signal::USR2, Signal::TERM, Signal::QUIT] {
            assert!(is_graceful_of_some(signal), "{signal}");
        }
        assert!(!is_graceful_of_some(Signal::HUP));
    }
}
