//! The command line of `lameduckctl`: one variant a subcommand, each of which lives in a module of its
//! own.

use clap::Parser;
use std::process::ExitCode;

/// The desk tool of lameduck: what can be found out before a deploy, and measured during one.
#[derive(Debug, Parser)]
#[command(name = "lameduckctl", version)]
enum Ctl {
    Probe(crate::probe::Args),
}

/// Runs `lameduckctl` with the arguments of this process; the status is that of the subcommand.
#[must_use]
pub fn main() -> ExitCode {
    let code = match Ctl::parse() {
        Ctl::Probe(args) => crate::probe::main(&args),
    };
    ExitCode::from(code)
}
