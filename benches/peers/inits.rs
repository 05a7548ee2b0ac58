//! Who is measured.

use super::world::Result;
use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;

/// The inits that may be installed.
const PEERS: [&str; 4] = ["tini-static", "tini", "dumb-init", "catatonit"];

/// An init, and how it is started.
pub(crate) struct Init {
    pub(crate) name: &'static str,
    /// None: the server itself is process 1.
    pub(crate) program: Option<PathBuf>,
    pub(crate) flags: Vec<String>,
}

/// `bare` first; and the names of those that this machine does not have.
pub(crate) fn all() -> Result<(Vec<Init>, Vec<&'static str>)> {
    let mut inits = vec![Init { name: "bare", program: None, flags: Vec::new() }];
    let mut missing = Vec::new();
    for name in PEERS {
        match find(name) {
            Some(program) => inits.push(Init { name, program: Some(program), flags: dashes(&[]) }),
            None => missing.push(name),
        }
    }
    let lameduck = lameduck()?;
    // Without a check of its own, as the others have none; what it is about starts with the port.
    let health = ["--health-listen", &free_address()?, "--health-check", "none"];
    inits.push(Init { name: "lameduck", program: Some(lameduck.clone()), flags: dashes(&[]) });
    inits.push(Init { name: "lameduck, health port", program: Some(lameduck), flags: dashes(&health) });
    Ok((inits, missing))
}

fn dashes(flags: &[&str]) -> Vec<String> {
    flags.iter().copied().chain(["--"]).map(str::to_owned).collect()
}

fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// What is shipped.
fn lameduck() -> Result<PathBuf> {
    let built = || concat!(env!("CARGO_MANIFEST_DIR"), "/target/dist/lameduck").into();
    let file = env::var_os("LAMEDUCK_BENCH_BIN").map_or_else(built, PathBuf::from);
    let refused = |why| format!("{}: {why}: build it with .ci/build lameduck", file.display());
    let file = fs::canonicalize(&file).map_err(refused)?;
    // Pages of a file that are not on the disk yet count as memory that whoever maps them has written.
    File::open(&file).and_then(|file| file.sync_all()).map_err(refused)?;
    Ok(file)
}

fn free_address() -> Result<String> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.to_string()).map_err(|why| format!("no port for health: {why}"))
}

// === impl Init ===

impl Init {
    pub(crate) fn is_bare(&self) -> bool {
        self.program.is_none()
    }

    /// As it is started, before the server.
    pub(crate) fn words(&self) -> Vec<String> {
        let program = self.program.iter().map(|program| program.display().to_string());
        program.chain(self.flags.iter().cloned()).collect()
    }
}
