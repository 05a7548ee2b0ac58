//! `lameduck`, the init of a container that stops its server in the right order.
//!
//! [`core`] decides, [`run`] performs and waits, [`sys`] holds every call into the kernel, [`cli`]
//! reads what was asked for, [`log`] tells what happened, [`json`] writes it for programs, [`http`]
//! reads requests and addresses, [`ask`] asks a lameduck that runs, [`exit`] names the statuses.
//!
//! With the feature `ctl`, for the desk and for CI: `ctl` is the command line of `lameduckctl`, `check`
//! holds the files of a deployment against each other, `plan` computes the numbers that are in them,
//! `probe` counts what a deploy loses.

#[cfg(not(target_os = "linux"))]
compile_error!("lameduck is an init for Linux containers: it builds on Linux only");

#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
pub mod ask;
#[cfg(feature = "ctl")]
pub mod check;
pub mod cli;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
pub mod core;
#[cfg(feature = "ctl")]
pub mod ctl;
pub mod exit;
#[cfg(test)]
mod fuzz;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
pub mod http;
pub mod json;
pub mod log;
#[cfg(feature = "ctl")]
pub mod plan;
#[cfg(feature = "ctl")]
pub mod probe;
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
pub mod run;
#[allow(unsafe_code)]
#[cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
pub mod sys;

use std::ffi::OsString;

/// Everything the `lameduck` binary does: reads `args` (the first is our own name) and the
/// environment, then runs the command to its end, or prints what was asked for. Returns the status
/// to exit with.
///
/// For the one thread of a process that has no other children: it blocks all signals and reaps every
/// child there is.
#[must_use]
pub fn run_as_init(args: &[OsString]) -> u8 {
    // First of all: from here on no signal is lost, and none ends us.
    let mask = sys::signals::block_all();
    log::tell_panics();
    let program = cli::Program::of(args.first());
    let environ: Vec<_> = sys::args::environ().filter_map(|word| program.variable(word)).collect();
    match program.read(args.get(1..).unwrap_or_default(), &environ) {
        cli::Outcome::Run(settings) => run::run(&settings, &mask),
        cli::Outcome::Ask(question) => run::print(&ask::ask(&question)),
        cli::Outcome::Print(page) => run::print(&page),
    }
}
