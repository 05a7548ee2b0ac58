//! The stop sequence as a pure state machine: no I/O, no clock, no threads, nothing but `std`.
//!
//! The shell around it ([`crate::run`]) waits for something to happen, hands it in with
//! [`Machine::step`] together with the present moment, performs the [`Action`]s that come back in
//! their order, and sleeps until [`Machine::next_deadline`]. No action returns a value: what comes
//! of it is told by a later [`Event`], and every event is legal in every phase. So the whole of the
//! behaviour can be explored in virtual time, and is, in the tests of this module.
//!
//! What always holds, whatever the events (the tests state each of these):
//!
//! 1. The server hears no stop before the delay is over, unless a second stop signal or the verdict
//!    that the traffic is over came first.
//! 2. SIGKILL comes only after the drain deadline, or at the very end to what was left behind.
//! 3. From the stop signal to the exit no more passes than the settings add up to ([`Budget`]).
//! 4. Readiness, once withdrawn, never comes back.
//! 5. There is exactly one [`Action::Exit`], and nothing after it.
//! 6. The exit status is the main process's own.

pub mod action;
pub mod budget;
pub mod duration;
pub mod event;
pub mod machine;
pub mod note;
pub mod phase;
pub mod policy;
pub mod process;
pub mod programs;
pub mod report;
pub mod signal;
pub mod startup;
pub mod state;
pub mod status;
pub mod targets;
pub mod traffic;

#[cfg(test)]
pub(crate) mod fixtures;

pub use action::{Action, Delivery, Hook, Look, Target};
pub use budget::Budget;
pub use event::{Event, Sender, Tick};
pub use machine::Machine;
pub use note::Note;
pub use phase::Phase;
pub use policy::{Place, Policy, StopSignal, Unready};
pub use process::{Pid, Process, Snapshot};
pub use report::Recorder;
pub use signal::{Signal, SignalSet};
pub use state::State;
pub use status::WaitStatus;
pub use traffic::{Quiet, Traffic};
