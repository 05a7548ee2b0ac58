//! An image with nginx, HAProxy, httpd, dash and lameduck, made of what is installed here: each
//! program with the libraries that `ldd` names. It takes a second or two, needs no registry, and is
//! made once per test run.

use super::config;
use super::container::docker;
use crate::support::free_port;
use crate::support::init::shipped;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What images of these tests have in common. They have no names, which another run might give away in the
/// middle of this one.
const LABEL: &str = "lameduck-it";

/// A configuration for each container of a run, with ports of its own.
const SLOTS: usize = 16;

/// What runs in it.
const PROGRAMS: [&str; 5] = ["/usr/sbin/nginx", "/usr/sbin/haproxy", "/usr/sbin/apache2", "/bin/sh", "/bin/busybox"];

/// The ports of one configuration.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Its number: the configuration is in `/etc/it/NUMBER`.
    pub(super) number: usize,
    /// The server's port.
    pub(super) port: u16,
    /// Where the server finds the one that answers slowly.
    pub(super) backend: u16,
    /// The image that it is in.
    pub(super) image: &'static str,
}

/// What is made once per run: an image, and the ports of its slots.
struct Made {
    image: String,
    ports: Vec<[u16; 2]>,
}

/// A slot that nobody else uses, or why there is none.
pub(super) fn slot() -> Result<Slot, String> {
    static MADE: OnceLock<Result<Made, String>> = OnceLock::new();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let Made { image, ports } = MADE.get_or_init(make).as_ref().map_err(Clone::clone)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [port, backend] = *ports.get(number).expect("more tests than slots: raise SLOTS");
    Ok(Slot { number, port, backend, image })
}

fn make() -> Result<Made, String> {
    if docker(&["version"]).is_err() {
        return Err("no Docker engine answers".to_owned());
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !Path::new(program).exists()) {
        return Err(format!("{missing} is not installed (.ci/run installs what the tests need)"));
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("containers-{}", std::process::id()));
    let ports = fill(&root);
    let image = import(&root, &[]);
    fs::remove_dir_all(&root).expect("the root file system can be removed again");
    Ok(Made { image, ports })
}

/// Puts the root file system together.
fn fill(root: &Path) -> Vec<[u16; 2]> {
    let modules = config::HTTPD_MODULES.map(|module| format!("/usr/lib/apache2/modules/mod_{module}.so"));
    let mut files: BTreeSet<PathBuf> = PROGRAMS.iter().map(PathBuf::from).chain(modules.map(PathBuf::from)).collect();
    let lameduck = binary();
    for file in files.clone().iter().chain([&lameduck]) {
        files.extend(libraries(file));
    }
    for file in &files {
        copy(file, &inside(root, file));
    }
    copy(&lameduck, &root.join("lameduck"));
    for directory in ["tmp", "dev", "proc", "sys", "var/log/nginx", "var/lib/nginx", "var/www"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    write(root, "etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n");
    write(root, "etc/group", "root:x:0:\nnogroup:x:65534:\n");
    write(root, "var/www/index.txt", "done\n");
    let ports: Vec<[u16; 2]> = (0..SLOTS).map(|_| [free_port(), free_port()]).collect();
    for (number, [port, backend]) in ports.iter().enumerate() {
        write(root, &format!("etc/it/{number}/nginx.conf"), &config::nginx(*port, *backend));
        write(root, &format!("etc/it/{number}/haproxy.cfg"), &config::haproxy(*port, *backend));
        write(root, &format!("etc/it/{number}/httpd.conf"), &config::httpd(*port, *backend));
    }
    ports
}

/// What is shipped, or else what cargo built, which brings its libraries along.
fn binary() -> PathBuf {
    shipped().unwrap_or_else(|| env!("CARGO_BIN_EXE_lameduck").into())
}

/// The files `ldd` names: shared libraries and the loader. None for a static program.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("ldd is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(PathBuf::from).collect()
}

/// Makes an image of nothing but lameduck and busybox, and what these need if they are not static, and
/// returns its id; `changes` are lines of a Dockerfile.
pub(super) fn from_scratch(changes: &[&str]) -> String {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scratch-{}", std::process::id()));
    let lameduck = binary();
    for file in libraries(&lameduck) {
        copy(&file, &inside(&root, &file));
    }
    copy(&lameduck, &root.join("lameduck"));
    copy(Path::new("/bin/busybox"), &root.join("busybox"));
    write(&root, "www/index.html", "done\n");
    let image = import(&root, changes);
    fs::remove_dir_all(&root).expect("the root file system can be removed again");
    image
}

fn import(root: &Path, changes: &[&str]) -> String {
    // So that nothing piles up; those of a run that goes on are younger. Another may be at it already.
    let label = format!("label={LABEL}");
    let _ = docker(&["image", "prune", "--force", "--filter", &label, "--filter", "until=2h"]);
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(root).args(["--owner=0", "--group=0", "-c", "."]).stdout(Stdio::piped());
    let mut tar = tar.spawn().expect("tar is there");
    let mut import = Command::new("docker");
    import.args(["import", "--change", r#"ENTRYPOINT ["/lameduck"]"#, "--change", &format!("LABEL {LABEL}=1")]);
    import.args(changes.iter().flat_map(|change| ["--change", change])).arg("-");
    let output = import.stdin(tar.stdout.take().unwrap()).output().unwrap();
    assert!(output.status.success(), "docker import: {}", String::from_utf8_lossy(&output.stderr));
    assert!(tar.wait().unwrap().success());
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn inside(root: &Path, file: &Path) -> PathBuf {
    root.join(file.strip_prefix("/").unwrap())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

fn write(root: &Path, file: &str, text: &str) {
    let file = root.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}
