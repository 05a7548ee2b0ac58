//! The command line of `lameduckctl`: one variant a subcommand, each of which lives in a module of its
//! own.

use clap::Parser;
use std::process::ExitCode;

/// The desk tool of lameduck: what can be found out before a deploy, and measured during one.
#[derive(Debug, Parser)]
#[command(name = "lameduckctl", version, after_help = AFTER)]
enum Ctl {
    Check(crate::check::Args),
    Rules(crate::check::RulesArgs),
    Plan(crate::plan::Args),
    Probe(crate::probe::Args),
}

const AFTER: &str = "\
lameduckctl check task.json service.json     do the numbers fit together?
lameduckctl rules LD002                      what a finding is about
lameduckctl plan --platform ecs-fargate --lb alb --p99 2s
                                             which numbers to set, and why
lameduckctl probe https://web.example/ -- DEPLOY COMMAND
                                             what does a deploy lose?";

/// Runs `lameduckctl` with the arguments of this process; the status is that of the subcommand.
#[must_use]
pub fn main() -> ExitCode {
    let code = match Ctl::parse() {
        Ctl::Check(args) => crate::check::main(&args),
        Ctl::Rules(args) => crate::check::main_rules(&args),
        Ctl::Plan(args) => crate::plan::main(&args),
        Ctl::Probe(args) => crate::probe::main(&args),
    };
    ExitCode::from(code)
}
