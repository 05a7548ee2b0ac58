//! Whether the server has come up, by what can be seen of it: readiness waits for that when there is no
//! check to ask the server itself.
//!
//! A process that runs is not a server that listens: what a balancer sends in between is refused, and
//! with a slow interpreter that is a second of every deploy (measured: 40 of 3,037 requests lost at the
//! start of gunicorn behind checks five times a second). Not every server listens on TCP, though, and
//! one that never will must not wait for ever.

use super::{Pid, Tick};
use std::time::Duration;

/// A server that listens on nothing and does next to nothing for so long is not about to. One that comes up
/// works: it loads code, or starts programs that do. A choice of ours: it may wait for the answer of
/// another service meanwhile, and one answer is rarely longer in coming.
pub const IDLE: Duration = Duration::from_millis(500);

/// A server that listens on nothing after this is taken for one that never will. A choice of ours: a JVM
/// or a large Python application listens sooner, and a worker that is busy from its first second on must
/// not fail a deploy.
pub const LONGEST: Duration = Duration::from_secs(30);

/// Of a process that comes up, more than this share of its life is processor time: a 20th, which is below
/// the least share that containers are commonly given of one processor.
pub const SELDOM: u32 = 20;

/// A process of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its id.
    pub pid: Pid,
    /// When it was started, counted from the start of the server.
    pub began: Duration,
    /// The processor time it has used.
    pub used: Duration,
    /// Whether it runs at this moment, or would if it had the processor or the disk.
    pub runs: bool,
}

/// What was seen of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It listens on TCP.
    Listening,
    /// It does not; and these are its processes.
    Working(Vec<Work>),
    /// It has ended, which those who ask are not told yet.
    Ended,
    /// Who listens cannot be seen here.
    Nothing,
}

/// Why the server counts as up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// It listens.
    Listens,
    /// It is not seen to listen, and has been idle for [`IDLE`].
    Idle,
    /// It is not seen to listen, [`LONGEST`] after it was started.
    Late,
    /// Nobody can tell.
    Unseen,
}

/// What was seen so far. Only looks move it on: without anybody who asks it costs nothing.
#[derive(Debug, Default)]
pub struct Startup {
    up: Option<Up>,
    /// What it had done, and since when it has done no more.
    idle: Option<(Tick, Vec<Work>)>,
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
        if self.up.is_some() {
            // There may have been thousands of processes.
            self.idle = None;
        }
        self.up
    }

    fn judge(&mut self, now: Tick, seen: Seen) -> Option<Up> {
        let work = match seen {
            Seen::Listening => return Some(Up::Listens),
            Seen::Nothing => return Some(Up::Unseen),
            Seen::Ended => return None,
            Seen::Working(work) => work,
        };
        if now >= LONGEST {
            return Some(Up::Late);
        }
        // Probes may be half a minute apart: often the first look is enough.
        if work.iter().all(|process| process.waits(now)) {
            return Some(Up::Idle);
        }
        match &self.idle {
            Some((since, before)) if *before == work && !work.iter().any(|process| process.runs) => {
                (now.saturating_sub(*since) >= IDLE).then_some(Up::Idle)
            }
            _ => {
                self.idle = Some((now, work));
                None
            }
        }
    }
}

// === impl Work ===

impl Work {
    /// Whether it has done next to nothing in a life that is long enough to tell.
    fn waits(&self, now: Tick) -> bool {
        let age = now.saturating_sub(self.began);
        !self.runs && age >= IDLE && self.used.saturating_mul(SELDOM) <= age
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of looks at these moments at a server that has worked so long, all in milliseconds.
    fn looks(seen: &[(u64, u64)]) -> Vec<Option<Up>> {
        let mut startup = Startup::default();
        let mut look = |(at, used): &(u64, u64)| startup.look(Duration::from_millis(*at), working(&[(7, 0, *used)]));
        seen.iter().map(&mut look).collect()
    }

    /// Processes by id, start and work.
    fn working(processes: &[(Pid, u64, u64)]) -> Seen {
        let work = |(pid, began, used): &(Pid, u64, u64)| Work {
            pid: *pid,
            began: Duration::from_millis(*began),
            used: Duration::from_millis(*used),
            runs: false,
        };
        Seen::Working(processes.iter().map(work).collect())
    }

    #[test]
    fn a_server_is_up_once_it_listens_and_stays_so() {
        let mut startup = Startup::default();
        assert_eq!(startup.look(Duration::ZERO, working(&[(7, 0, 0)])), None);
        assert_eq!(startup.up(), None);
        assert_eq!(startup.look(Duration::from_millis(10), Seen::Listening), Some(Up::Listens));
        assert_eq!(startup.look(Duration::from_millis(20), working(&[(7, 0, 9)])), Some(Up::Listens));
        assert_eq!(startup.up(), Some(Up::Listens));
    }

    #[test]
    fn a_server_that_listens_nowhere_is_up_after_half_a_second_without_work() {
        assert_eq!(looks(&[(2000, 900), (2499, 900), (2500, 900)]), [None, None, Some(Up::Idle)]);
        // However rarely it is looked at.
        assert_eq!(looks(&[(2000, 900), (12_000, 900)]), [None, Some(Up::Idle)]);
        // From when it has done no more, not from when it was started.
        assert_eq!(looks(&[(2000, 900), (2400, 910), (2800, 910), (2900, 910)]), [None, None, None, Some(Up::Idle)]);
    }

    #[test]
    fn a_server_that_hardly_ever_worked_is_up_at_the_first_look_that_can_tell() {
        assert_eq!(looks(&[(499, 0), (500, 0)]), [None, Some(Up::Idle)]);
        assert_eq!(looks(&[(1000, 50)]), [Some(Up::Idle)]);
        assert_eq!(looks(&[(1000, 51)]), [None]);
        assert_eq!(looks(&[(10_000, 500)]), [Some(Up::Idle)]);
    }

    #[test]
    fn a_server_that_works_is_waited_for_but_not_for_ever() {
        let busy: Vec<(u64, u64)> = (0..30).map(|second| (second * 1000, second * 51)).collect();
        assert_eq!(looks(&busy), vec![None; 30]);
        assert_eq!(looks(&[(29_999, 5000), (30_000, 5010)]), [None, Some(Up::Late)]);
        // Nobody asked before.
        assert_eq!(looks(&[(60_000, 5000)]), [Some(Up::Late)]);
    }

    #[test]
    fn a_server_that_starves_is_not_idle() {
        let starving = Work { pid: 7, began: Duration::ZERO, used: Duration::ZERO, runs: true };
        let mut startup = Startup::default();
        for second in 1..30 {
            assert_eq!(startup.look(Duration::from_secs(second), Seen::Working(vec![starving.clone()])), None);
        }
    }

    #[test]
    fn processes_that_come_and_go_are_work_though_none_of_them_takes_time() {
        let mut startup = Startup::default();
        // A script that starts a program every second, each looked at while it is young.
        for (second, pid) in (0..29).zip(8..) {
            let seen = working(&[(7, 0, 3), (pid, second * 1000, 0)]);
            assert_eq!(startup.look(Duration::from_millis(second * 1000 + 400), seen), None);
        }
    }

    #[test]
    fn a_server_that_has_ended_does_not_come_up_any_more() {
        let mut startup = Startup::default();
        for second in [1, 2, 60] {
            assert_eq!(startup.look(Duration::from_secs(second), Seen::Ended), None);
        }
    }

    #[test]
    fn nothing_is_remembered_of_the_processes_of_a_server_that_is_up() {
        let mut startup = Startup::default();
        assert_eq!(startup.look(Duration::ZERO, working(&[(7, 0, 0)])), None);
        assert!(startup.idle.is_some());
        assert_eq!(startup.look(Duration::from_secs(1), Seen::Listening), Some(Up::Listens));
        assert_eq!(startup.idle, None);
    }

    #[test]
    fn where_nothing_can_be_seen_there_is_nothing_to_wait_for() {
        assert_eq!(Startup::default().look(Duration::ZERO, Seen::Nothing), Some(Up::Unseen));
    }
}
