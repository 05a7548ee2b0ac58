//! Whether the server has come up, by what can be seen of it: readiness waits for that when there is no
//! check to ask the server itself.
//!
//! A process that runs is not a server that listens: what a balancer sends in between is refused, and
//! with a slow interpreter that is a second of every deploy (measured: 40 of 3,037 requests lost at the
//! start of gunicorn behind checks five times a second). Not every server listens on TCP, though, and
//! one that never will must not wait for ever.

use super::{Pid, Tick};
use std::time::Duration;

/// A server that listens on nothing and does nothing for so long is not about to. One that comes up
/// works: it loads code, or starts programs that do. A choice of ours: it may wait for the answer of
/// another service meanwhile, and one answer is rarely longer in coming.
pub const IDLE: Duration = Duration::from_secs(1);

/// A server that listens on nothing after this is taken for one that never will. A choice of ours: a JVM
/// or a large Python application listens sooner, and a worker that is busy from its first second on must
/// not fail a deploy.
pub const LONGEST: Duration = Duration::from_secs(30);

/// What was seen of the server, all its processes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It listens on TCP.
    Listening,
    /// It does not; and its processes have used so much processor time, in the kernel's ticks.
    Working(Vec<(Pid, u64)>),
    /// Who listens cannot be seen here.
    Nothing,
}

/// Why the server counts as up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// It listens.
    Listens,
    /// It listens on nothing, and was idle for [`IDLE`].
    Idle,
    /// It listens on nothing, [`LONGEST`] after it was started.
    Late,
    /// Nobody can tell.
    Unseen,
}

/// What was seen so far. Only looks move it on: without anybody who asks it costs nothing.
#[derive(Debug, Default)]
pub struct Startup {
    up: Option<Up>,
    /// What it had done, and since when it has done no more.
    idle: Option<(Tick, Vec<(Pid, u64)>)>,
}

// === impl Startup ===

impl Startup {
    /// Whether the server is up, and why. Once it is, it stays so.
    #[must_use]
    pub const fn up(&self) -> Option<Up> {
        self.up
    }

    /// Takes in what was seen, so long after the server was started; returns why the server is up.
    pub fn look(&mut self, now: Tick, seen: Seen) -> Option<Up> {
        if self.up.is_none() {
            self.up = self.judge(now, seen);
        }
        self.up
    }

    fn judge(&mut self, now: Tick, seen: Seen) -> Option<Up> {
        let work = match seen {
            Seen::Listening => return Some(Up::Listens),
            Seen::Nothing => return Some(Up::Unseen),
            Seen::Working(work) => work,
        };
        if now >= LONGEST {
            return Some(Up::Late);
        }
        match &self.idle {
            Some((since, before)) if *before == work => (now.saturating_sub(*since) >= IDLE).then_some(Up::Idle),
            _ => {
                self.idle = Some((now, work));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of looks at these moments, in milliseconds, at a server that has used so many ticks.
    fn looks(seen: &[(u64, u64)]) -> Vec<Option<Up>> {
        let mut startup = Startup::default();
        let mut look = |(at, ticks): &(u64, u64)| startup.look(Duration::from_millis(*at), working(&[(7, *ticks)]));
        seen.iter().map(&mut look).collect()
    }

    fn working(work: &[(Pid, u64)]) -> Seen {
        Seen::Working(work.to_vec())
    }

    #[test]
    fn a_server_is_up_once_it_listens_and_stays_so() {
        let mut startup = Startup::default();
        assert_eq!(startup.look(Duration::ZERO, working(&[(7, 0)])), None);
        assert_eq!(startup.up(), None);
        assert_eq!(startup.look(Duration::from_millis(10), Seen::Listening), Some(Up::Listens));
        assert_eq!(startup.look(Duration::from_millis(20), working(&[(7, 9)])), Some(Up::Listens));
        assert_eq!(startup.up(), Some(Up::Listens));
    }

    #[test]
    fn a_server_that_listens_nowhere_is_up_after_a_second_without_work() {
        assert_eq!(looks(&[(0, 5), (999, 5), (1000, 5)]), [None, None, Some(Up::Idle)]);
        // However rarely it is looked at.
        assert_eq!(looks(&[(0, 5), (10_000, 5)]), [None, Some(Up::Idle)]);
        // From when it has done no more, not from when it was started.
        assert_eq!(looks(&[(0, 5), (900, 6), (1800, 6), (1900, 6)]), [None, None, None, Some(Up::Idle)]);
    }

    #[test]
    fn a_server_that_works_is_waited_for_but_not_for_ever() {
        let busy: Vec<(u64, u64)> = (0..30).map(|second| (second * 1000, second)).collect();
        assert_eq!(looks(&busy), vec![None; 30]);
        assert_eq!(looks(&[(29_999, 5), (30_000, 6)]), [None, Some(Up::Late)]);
        // Nobody asked before.
        assert_eq!(looks(&[(60_000, 5)]), [Some(Up::Late)]);
    }

    #[test]
    fn processes_that_come_and_go_are_work_though_none_of_them_takes_time() {
        let mut startup = Startup::default();
        // A script that tries its database once a second.
        for (at, sleep) in (0..20).zip(8..) {
            let seen = working(&[(7, 3), (sleep, 0)]);
            assert_eq!(startup.look(Duration::from_secs(at), seen), None);
        }
    }

    #[test]
    fn where_nothing_can_be_seen_there_is_nothing_to_wait_for() {
        assert_eq!(Startup::default().look(Duration::ZERO, Seen::Nothing), Some(Up::Unseen));
    }
}
