//! What the tests are made of: starting an init in a world of its own, waiting for what it does, and
//! the programs it runs.

pub(crate) mod files;
pub(crate) mod fixtures;
pub(crate) mod http;
pub(crate) mod init;
pub(crate) mod procfs;
mod running;
#[cfg(feature = "ctl")]
pub(crate) mod scenarios;
pub(crate) mod schema;
mod tap;
mod world;

pub(crate) use init::Init;
pub(crate) use running::Running;
pub(crate) use world::{be_nice, kill};

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Leaves a test that needs what this machine lacks: root always, and the programs named.
macro_rules! needs {
    ($($program:literal),*) => {
        if let Some(why) = $crate::support::lacks(&[$($program),*]) {
            return $crate::support::skipped(&why);
        }
    };
}

/// Where programs are looked for, by the tests and by what they start.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What keeps a test from running here.
pub(crate) fn lacks(programs: &[&str]) -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root, to make namespaces".to_owned());
    }
    let missing = |program: &&&str| !PATH.split(':').any(|dir| Path::new(dir).join(program).exists());
    ["python3"].iter().chain(programs).find(missing).map(|program| format!("needs {program}"))
}

/// Says so, past the capture of the test harness.
pub(crate) fn skipped(why: &str) {
    let thread = std::thread::current();
    tell(&format!("skipped: {}: {why}", thread.name().unwrap_or("a test")));
}

/// Says something that is seen also when the test passes: what `println!` prints is not.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// No wait for a condition lasts longer. Far above what anything here takes on a machine that has other
/// things to do, and far below what the tests call never: ten minutes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Longer than two stop signals may be apart and still be one.
pub(crate) const NO_DUPLICATE: Duration = Duration::from_millis(250);

/// A limit on waiting, as long as this machine needs.
pub(crate) fn scaled(limit: Duration) -> Duration {
    let scale = std::env::var("LAMEDUCK_TEST_SCALE").ok().and_then(|scale| scale.parse().ok());
    limit.mul_f64(scale.unwrap_or(1.0))
}

/// A port that is free now and stays so: below those that the kernel hands out to clients.
pub(crate) fn free_port() -> u16 {
    static LAST: Mutex<u16> = Mutex::new(0);
    let mut last = LAST.lock().unwrap();
    if *last == 0 {
        *last = 20_000 + u16::try_from(std::process::id() % 8_000).unwrap();
    }
    loop {
        *last += 1;
        if TcpListener::bind(("127.0.0.1", *last)).is_ok() {
            return *last;
        }
    }
}

/// Held by tests that use up a whole machine, so that there is one of them at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind.
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `holds`, looking again every few milliseconds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    let limit = scaled(LIMIT);
    while !holds() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}
