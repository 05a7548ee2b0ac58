//! Every other signal: passed on at once, in every phase in which there is somebody to hear it.

use super::{Machine, Question};
use crate::core::action::Target;
use crate::core::{Action, Delivery, Phase, Pid, Signal, Snapshot, Tick, targets};

impl Machine {
    pub(super) fn forward(&mut self, now: Tick, signal: Signal, actions: &mut Vec<Action>) {
        let (Some(main), Some(rewritten)) = (self.main(), self.policy.rewritten(signal)) else { return };
        if self.phase == Phase::Draining
            && matches!(signal, Signal::TERM | Signal::INT)
            && !self.drain.targets.is_empty()
        {
            self.pass_on_to_told(signal, actions);
        } else if self.policy.group {
            send(Target::Group(main), rewritten, actions);
        } else if !self.policy.stops() || self.plain(now).is_some() || !is_for_servers(rewritten) {
            send(Target::Child(main), rewritten, actions);
        } else {
            self.ask(Question::Forward(rewritten), actions);
        }
    }

    /// To whom it concerns, now that it is known what runs.
    pub(super) fn forward_behind(signal: Signal, snapshot: &Snapshot, main: Pid, actions: &mut Vec<Action>) {
        for pid in targets::behind(snapshot, main, signal) {
            send(targets::target(pid, main, snapshot.get(pid), false), signal, actions);
        }
    }

    /// To those that were told to drain: a second TERM means "faster" to many servers.
    pub(super) fn pass_on_to_told(&mut self, signal: Signal, actions: &mut Vec<Action>) {
        let Some(rewritten) = self.policy.rewritten(signal) else { return };
        for target in &self.drain.targets {
            send(*target, rewritten, actions);
        }
    }
}

/// The signals by which a server is told to do something of its own (reload, reopen its logs), and
/// that would only kill a shell in front of it.
fn is_for_servers(signal: Signal) -> bool {
    matches!(signal, Signal::HUP | Signal::USR1 | Signal::USR2)
}

fn send(to: Target, signal: Signal, actions: &mut Vec<Action>) {
    actions.push(Action::Send(Delivery { to, signal, wake: false }));
}
