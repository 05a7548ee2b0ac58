//! Whether the server listens already: asked before the stop, by those who want to know whether it has
//! come up. The watch itself never looks before the stop signal.

use super::ports;
use super::table::{Entry, Listener, Step, Table, Wanted};
use crate::core::Pid;
use crate::core::startup::Seen;
use crate::core::traffic::Source;
use crate::run::clock::Clock;
use crate::run::{look, procfs};
use std::io;

/// What is to be seen of the server now, whose main process is `main`. `given` are the ports that were asked
/// for; none for any.
pub(in crate::run) fn at_the_server(given: &[u16], own_pid: Pid, main: Option<Pid>, clock: &Clock) -> Seen {
    let listeners = [Source::SockDiag, Source::Proc].into_iter().find_map(|source| listeners(source, clock).ok());
    let seen = match listeners {
        Some(listeners) if procfs::is_ours() => {
            if ports::are_open(listeners, given, own_pid) {
                Seen::Listening
            } else {
                match look::work_of_descendants(own_pid) {
                    hidden if hidden.is_empty() => Seen::Nothing,
                    work => Seen::Working(work),
                }
            }
        }
        // Without /proc nobody can say whose sockets they are.
        _ => Seen::Nothing,
    };
    // Nobody reaps it while it is looked at. What it has left behind is not the server.
    let has_ended = main.and_then(procfs::stat).is_some_and(|main| main.has_ended());
    if has_ended { Seen::Ended } else { seen }
}

fn listeners(source: Source, clock: &Clock) -> io::Result<Vec<Listener>> {
    let mut table = Table::open(source)?;
    let mut found = Vec::new();
    table.begin(Wanted::Listeners);
    loop {
        let each = |entry| {
            if let Entry::Listener(listener) = entry {
                found.push(listener);
            }
        };
        match table.step(clock.now(), Wanted::Listeners, each)? {
            Step::More => {}
            Step::Complete => return Ok(found),
            // The kernel answers while it is asked; nobody is kept waiting for one that does not.
            Step::Waiting => return Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::own_pid;
    use std::process::Command;

    #[test]
    fn a_server_that_has_ended_and_waits_to_be_reaped_is_seen_as_one() {
        let mut server = Command::new("true").spawn().unwrap();
        let main = Pid::try_from(server.id()).unwrap();
        while procfs::stat(main).is_some_and(|stat| !stat.has_ended()) {
            std::thread::yield_now();
        }
        assert_eq!(at_the_server(&[], own_pid(), Some(main), &Clock::start()), Seen::Ended);
        server.wait().unwrap();
    }
}
