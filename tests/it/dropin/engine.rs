//! A container engine of the test's own: with its own storage, its own network namespace where it
//! makes networks, and lameduck as its init.

use crate::support::files::{TempDir, tempdir};
use crate::support::init::shipped;
use crate::support::scaled;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The name of the one image: busybox and nothing else.
const IMAGE: &str = "lameduck-it-busybox";

/// An engine; what it stores goes with it.
pub(super) struct Engine {
    /// The words before a command: `podman --root …`.
    words: Vec<String>,
    daemon: Option<Child>,
    dir: TempDir,
}

// === impl Engine ===

impl Engine {
    /// A `dockerd --init-path` that touches nothing of the one that runs here: it has a network
    /// namespace of its own, in which it may do to `docker0` what it likes, and a `/run`.
    ///
    /// # Errors
    /// Why there can be none here.
    pub(super) fn docker() -> Result<Self, String> {
        let dir = with_init()?;
        let init = dir.path.join("lameduck").display().to_string();
        let at = |name: &str| dir.path.join(name).display().to_string();
        // Not that of the engine that runs here.
        fs::write(at("config"), "{}").unwrap();
        let script = format!(
            "mount -t tmpfs none /run && exec dockerd --config-file {} --host unix://{} --data-root {} --exec-root {} --pidfile {} \
             --init-path {init} --bridge none --iptables=false --ip6tables=false --storage-driver vfs >{} 2>&1",
            at("config"),
            at("socket"),
            at("data"),
            at("exec"),
            at("pid"),
            at("log"),
        );
        let daemon = Command::new("unshare").args(["--net", "--mount", "sh", "-c", &script]).spawn();
        let mut daemon = daemon.map_err(|error| format!("dockerd: {error}"))?;
        let words = ["docker".to_owned(), "--host".to_owned(), format!("unix://{}", at("socket"))];
        let began = std::time::Instant::now();
        loop {
            let asked = Command::new(&words[0]).args(&words[1..]).arg("version").output();
            if asked.is_ok_and(|output| output.status.success()) {
                break;
            }
            let gone = daemon.try_wait().is_ok_and(|status| status.is_some());
            if gone || began.elapsed() > scaled(Duration::from_secs(60)) {
                let log = fs::read_to_string(at("log")).unwrap_or_default();
                let _ = daemon.kill();
                return Err(format!("no second dockerd: {}", log.lines().last().unwrap_or_default()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { words: words.into(), daemon: Some(daemon), dir }.with_image()
    }

    /// Podman, which has no daemon.
    ///
    /// # Errors
    /// Why it does not run here.
    pub(super) fn podman() -> Result<Self, String> {
        let dir = with_init()?;
        let at = |name: &str| dir.path.join(name).display().to_string();
        let words = ["podman", "--root", &at("data"), "--runroot", &at("run"), "--storage-driver", "vfs"];
        let words = words.into_iter().chain(["--cgroup-manager", "cgroupfs", "--events-backend", "file"]);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        // crun takes no mixture of the two kinds of cgroups; runc does.
        if let Some(runc) = ["/usr/sbin/runc", "/usr/bin/runc"].into_iter().find(|path| Path::new(path).exists()) {
            words.extend(["--runtime".to_owned(), runc.to_owned()]);
        }
        Self { words, daemon: None, dir }.with_image()
    }

    fn with_image(self) -> Result<Self, String> {
        let root = self.dir.path.join("image");
        fs::create_dir_all(root.join("bin")).unwrap();
        for directory in ["dev", "proc", "sys", "tmp", "etc", "run", "sbin"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        let busybox = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
        fs::copy(busybox.ok_or("busybox is not installed")?, root.join("bin/busybox")).unwrap();
        for name in ["sh", "httpd", "cat", "sleep", "echo", "readlink"] {
            symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        fs::write(root.join("index.html"), "whole\n").unwrap();
        let tar = self.dir.path.join("image.tar").display().to_string();
        let packed = Command::new("tar").arg("-C").arg(&root).args(["-cf", &tar, "."]).status();
        assert!(packed.is_ok_and(|status| status.success()));
        self.run(&["import", &tar, IMAGE])?;
        // Whether a container can be run at all is not what is tested.
        self.run(&container(&["--rm"], &["/bin/sh", "-c", "exit 0"]))?;
        Ok(self)
    }

    /// Runs a command of the engine and returns what it printed; its complaint when it failed.
    pub(super) fn run(&self, args: &[&str]) -> Result<Output, String> {
        let output = Command::new(&self.words[0])
            .args(&self.words[1..])
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() { Ok(output) } else { Err(text(&output.stderr)) }
    }

    /// What a command printed.
    #[track_caller]
    pub(super) fn says(&self, args: &[&str]) -> String {
        let output = self.run(args).unwrap_or_else(|why| panic!("{args:?}: {why}"));
        text(&output.stdout) + &text(&output.stderr)
    }

    /// The path of a file that goes with the engine: `lameduck`, a static one, or `log`, the daemon's.
    pub(super) fn file(&self, name: &str) -> String {
        self.dir.path.join(name).display().to_string()
    }

    /// Whether a file has `wanted` in it.
    pub(super) fn finds(&self, name: &str, wanted: &str) -> bool {
        fs::read_to_string(self.dir.path.join(name)).is_ok_and(|text| text.contains(wanted))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(daemon.id()).unwrap());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            let _ = daemon.wait();
        } else {
            let _ = self.run(&["rm", "--force", "--all", "--time", "0"]);
        }
    }
}

/// The words that run a command in a container.
pub(super) fn container<'a>(options: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    // An engine within a container may not raise these limits.
    let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
    [&["run"][..], &limits, options, &[IMAGE], command].concat()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with a lameduck for images that have no libraries for it.
fn with_init() -> Result<TempDir, String> {
    let shipped = shipped().ok_or("needs a static binary of these sources, as .ci/build makes it")?;
    let dir = tempdir();
    fs::copy(shipped, dir.path.join("lameduck")).unwrap();
    Ok(dir)
}
