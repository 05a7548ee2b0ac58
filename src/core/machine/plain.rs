//! Being no more than a plain init, for the names of those that lameduck stands in for: no stop
//! sequence, and where the main process lives in another group or session, what that makes of the
//! terminal's signals.

use super::{Machine, Main};
use crate::core::action::Target;
use crate::core::policy::Place;
use crate::core::{Action, Delivery, Phase, Pid, Sender, Signal, Tick, WaitStatus};

impl Machine {
    /// The end of the main process is the end of everything, at once.
    pub(super) fn end_plainly(&mut self, now: Tick, pid: Pid, status: WaitStatus, actions: &mut Vec<Action>) {
        actions.push(Action::Ready(false));
        let bids_farewell = self.policy.group && self.policy.place == Place::OwnSession;
        if let Some(signal) = self.policy.rewritten(Signal::TERM).filter(|_| bids_farewell) {
            let to = Target::Remains(pid);
            actions.push(Action::Send(Delivery { to, signal, wake: false }));
        }
        self.main = Main::Ended { pid, status, phase: self.phase };
        self.phase = Phase::Gone;
        self.leave(now, actions);
    }

    /// A key on the terminal signals the whole foreground group. When the main process is in ours, it
    /// has had the signal already; whether it still is there takes a look.
    ///
    /// HUP is not among them: when the terminal goes, the kernel tells the leader of the session alone,
    /// which may be us.
    pub(super) fn may_have_it_from_the_terminal(&self, signal: Signal, sender: Sender) -> bool {
        let of_a_key = matches!(signal, Signal::INT | Signal::QUIT | Signal::TSTP | Signal::WINCH);
        self.policy.place == Place::OurGroup && sender == Sender::Kernel && of_a_key
    }

    /// The shell that we are a job of does not see the main process in its session: it sees us, and
    /// takes the job for stopped when we are.
    pub(super) fn suspend_with_it(&self, signal: Signal, actions: &mut Vec<Action>) {
        if self.policy.place != Place::OwnGroup && matches!(signal, Signal::TSTP | Signal::TTIN | Signal::TTOU) {
            actions.push(Action::Suspend);
        }
    }
}
