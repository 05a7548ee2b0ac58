//! What an init costs, beside the others that are installed.
//!
//! ```console
//! $ .ci/build lameduck
//! $ cargo bench --bench peers                       # half a minute
//! $ cargo bench --bench peers -- --quick            # a few seconds, to see that it works
//! $ cargo bench --bench peers -- --json FILE        # the figures for a program
//! ```
//!
//! Each is started as process 1 of a fresh PID namespace, around the least of a server (`server.rs`), and
//! they take turns, so that what else the machine does meets all of them. Times on a machine that does
//! other things differ from run to run more than inits from each other: hold the columns of one run
//! against each other, not against those of another. `bare` is that server as process 1 itself.
//!
//! What is measured is what is shipped, `target/dist/lameduck`; `LAMEDUCK_BENCH_BIN` names another.
//! Nothing here fails because of a time. Counts that repeat (system calls, page faults) are held to
//! their budget by `.ci/budget`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program is there to be read")]

mod forward;
mod idle;
mod inits;
mod life;
mod reap;
// Shown to the compiler elsewhere, and here only to those who format and read.
#[cfg(false)]
mod server;
mod table;
mod world;

use inits::Init;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, thread};
use table::Row;
use world::{Result, World};

const HELP: &str = "\
Measures inits side by side: start, exit, memory, idling, signals, orphans.

cargo bench --bench peers -- [--quick] [--json FILE]

  --quick      few runs: that it works, not what it costs
  --json FILE  write the figures there as well

Needs root, to make PID namespaces, and target/dist/lameduck from .ci/build (or the file that
LAMEDUCK_BENCH_BIN names).
";

const LEGEND: &str = "\
Start, exit, and both together: of bare as they are, of the inits what they add to bare's in the same round;
the median.";

/// What is asked for.
#[derive(Default)]
struct Asked {
    quick: bool,
    help: bool,
    json: Option<PathBuf>,
}

/// How much is measured.
struct Effort {
    starts: usize,
    idle_seconds: u32,
    signals: usize,
    orphan_rounds: usize,
    orphans: u32,
}

const FULL: Effort = Effort { starts: 400, idle_seconds: 5, signals: 5_000, orphan_rounds: 4, orphans: 5_000 };
const QUICK: Effort = Effort { starts: 40, idle_seconds: 2, signals: 500, orphan_rounds: 1, orphans: 1_000 };

fn main() -> ExitCode {
    let asked = match Asked::read(env::args().skip(1)) {
        Ok(asked) => asked,
        Err(why) => return failed(&why),
    };
    if asked.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: peers: needs root, to make PID namespaces");
        return ExitCode::SUCCESS;
    }
    match measure(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failed(&why),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("peers: {why}");
    ExitCode::FAILURE
}

fn measure(asked: &Asked) -> Result<()> {
    let effort = if asked.quick { QUICK } else { FULL };
    let (inits, missing) = inits::all()?;
    let world = World::new(&inits)?;
    let load_before = first_word("/proc/loadavg");
    let began = world::now()?;
    let mut rows = life::measure(&world, effort.starts)?;
    rows.extend(idle::measure(&world, effort.idle_seconds)?);
    rows.extend(forward::measure(&world, effort.signals)?);
    rows.extend(reap::measure(&world, effort.orphan_rounds, effort.orphans)?);
    let took = world::now()?.saturating_sub(began).as_secs_f64();

    let names: Vec<&str> = inits.iter().map(|init| init.name).collect();
    let (load_after, kernel) = (first_word("/proc/loadavg"), first_word("/proc/sys/kernel/osrelease"));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("{}\n{LEGEND}", table::write(&names, &rows));
    if names.contains(&table::YARDSTICK) {
        println!("In brackets: the ratio to {}.", table::YARDSTICK);
    }
    if !missing.is_empty() {
        println!("Left out, as not installed: {}.", missing.join(", "));
    }
    println!("{took:.0} s on {cores} cores, Linux {kernel}; load average {load_before} before and {load_after} after.");
    if let Some(file) = &asked.json {
        let report = json!({
            "quick": asked.quick, "took_s": took, "cores": cores, "kernel": kernel, "load_before": load_before,
            "load_after": load_after, "missing": missing, "inits": figures(&inits, &rows),
        });
        fs::write(file, format!("{report:#}\n")).map_err(|why| format!("--json {}: {why}", file.display()))?;
    }
    Ok(())
}

/// By init, for a program.
fn figures(inits: &[Init], rows: &[Row]) -> Vec<Value> {
    let of = |at: usize| rows.iter().map(move |row| (row.key, row.values.get(at).copied().flatten()));
    let figures = |(at, init): (usize, &Init)| {
        let figures: BTreeMap<&str, Option<f64>> = of(at).collect();
        json!({ "name": init.name, "command": init.words(), "figures": figures })
    };
    inits.iter().enumerate().map(figures).collect()
}

/// Of a file of the kernel's.
fn first_word(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_ascii_whitespace().next().unwrap_or("unknown").to_owned()
}

// === impl Asked ===

impl Asked {
    fn read(args: impl Iterator<Item = String>) -> Result<Self> {
        let mut asked = Self::default();
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => asked.quick = true,
                "--help" | "-h" => asked.help = true,
                "--json" => asked.json = Some(args.next().ok_or("--json: write the file behind it")?.into()),
                // From cargo.
                "--bench" => {}
                other => return Err(format!("{other}: not a flag here; see --help")),
            }
        }
        Ok(asked)
    }
}
