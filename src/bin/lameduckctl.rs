//! The desk tool: see [`lameduck::ctl`].

use std::process::ExitCode;

fn main() -> ExitCode {
    lameduck::ctl::main()
}
