//! A freeze in the middle of a stop, as `docker pause` makes one: all processes of a cgroup (here of
//! version 2; with the engine, see `containers::frozen`) stand still, and the clock goes on.

use crate::support::files::tempdir;
use crate::support::{Init, Running, free_port, schema, skipped, until};
use nix::libc;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A cgroup, and the hierarchy that it is in, which is mounted in the init's namespace only.
struct Freezer {
    hierarchy: File,
    name: String,
}

/// Starts a recorder in a cgroup of its own, and says where the report will be; nothing where there are
/// no cgroups of version 2.
fn start(flags: &[String], args: &[&str]) -> Option<(Freezer, Running, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("lameduck-it-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let join =
        format!("mount -t cgroup2 none /mnt && mkdir /mnt/{name} && echo $$ >/mnt/{name}/cgroup.procs; exec \"$@\"");
    let dir = tempdir();
    let report = dir.path.join("report.json");
    let init = Init::new().through(["sh", "-c", &join, "sh"]).flags(["--report", report.to_str().unwrap()]);
    let run = init.flags(flags).files(dir).recorder(args);
    let hierarchy = File::open(format!("/proc/{}/root/mnt", run.pid)).unwrap();
    let freezer = Freezer { hierarchy, name };
    if freezer.file("cgroup.freeze").exists() {
        return Some((freezer, run, report));
    }
    skipped("needs a freezer: cgroups of version 2");
    None
}

/// How long a phase of the stop was, by the machine's own times: a line of the log comes later.
fn lasted(report: &Path, phase: &str) -> Duration {
    let report = schema::report(&fs::read_to_string(report).unwrap());
    let row = report["phases"].as_array().unwrap().iter().find(|row| row["phase"] == phase);
    Duration::from_secs_f64(row.unwrap_or_else(|| panic!("no {phase} in {report}"))["seconds"].as_f64().unwrap())
}

// === impl Freezer ===

impl Freezer {
    fn file(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{}/{name}", self.hierarchy.as_raw_fd(), self.name).into()
    }

    fn set(&self, frozen: u8) {
        fs::write(self.file("cgroup.freeze"), format!("{frozen}")).unwrap();
        let wanted = format!("frozen {frozen}\n");
        until("all stand still, or none", || fs::read_to_string(self.file("cgroup.events")).unwrap().contains(&wanted));
    }

    /// Everything stands still for so long.
    fn freeze_for(&self, time: Duration) {
        let began = Instant::now();
        self.set(1);
        until("the time has passed", || began.elapsed() >= time);
        self.set(0);
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // The kernel may take a moment after the last process was reaped. When a test has failed in the
        // middle it may stay: a drop does not panic.
        for _ in 0..400 {
            if fs::remove_dir(self.file("")).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// These flags, with and without a runtime beside the stop.
fn in_both_loops(flags: &[&str]) -> [Vec<String>; 2] {
    let quiet: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let health = ["--health-listen".to_owned(), format!("127.0.0.1:{}", free_port())];
    [quiet.clone(), [quiet, health.into()].concat()]
}

#[test]
fn deadlines_that_pass_in_the_ice_act_at_the_thaw_in_their_order_and_skip_nothing() {
    needs!("mount");
    for flags in in_both_loops(&["--delay", "300ms", "--drain-timeout", "500ms"]) {
        let Some((freezer, mut run, report)) = start(&flags, &[]) else { return };
        run.signal(libc::SIGTERM);
        run.expect_stderr("serving on for 300ms");
        freezer.freeze_for(Duration::from_secs(1));
        run.expect_exit(137);
        // Both deadlines were over. The server was asked all the same, and had its whole drain.
        assert!(run.stderr().contains("SIGTERM to python3["), "{}", run.stderr());
        assert!(lasted(&report, "lame-duck") >= Duration::from_millis(300));
        assert!(lasted(&report, "draining") >= Duration::from_millis(500));
    }
}

#[test]
fn a_drain_that_is_over_in_the_ice_is_over_at_the_thaw() {
    needs!("mount");
    for flags in in_both_loops(&["--drain-timeout", "500ms"]) {
        let Some((freezer, mut run, _)) = start(&flags, &[]) else { return };
        run.signal(libc::SIGTERM);
        run.expect_stdout("got 15\n");
        freezer.freeze_for(Duration::from_secs(1));
        run.expect_exit(137);
    }
}

#[test]
fn signals_that_come_in_the_ice_are_there_at_the_thaw() {
    needs!("mount");
    for flags in in_both_loops(&["--delay", "500ms"]) {
        let Some((freezer, mut run, report)) = start(&flags, &["15=7"]) else { return };
        freezer.set(1);
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
            run.signal(signal);
        }
        freezer.set(0);
        for got in ["got 1\n", "got 10\n", "got 15\n"] {
            run.expect_stdout(got);
        }
        run.expect_exit(7);
        // The delay counts from when the signal could be heard.
        assert!(lasted(&report, "lame-duck") >= Duration::from_millis(500));
    }
}
