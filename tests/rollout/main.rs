//! The proof: real servers behind a real balancer under steady load, replaced one by one with
//! `docker stop`, and counted by `lameduckctl probe`.
//!
//! ```console
//! $ cargo test --test rollout                                  # the short form, some two minutes
//! $ cargo test --test rollout -- mesh nginx                    # the cells whose names have these words
//! $ cargo test --release --test rollout -- --long              # everything else: the better part of an hour
//! $ cargo test --release --test rollout -- --long quiet        # one part of it
//! $ cargo test --test rollout -- --long --replacements 2       # all of it in small
//! ```
//!
//! Every cell of the short form is run twice, under tini and under lameduck, in the same image. It
//! needs root, a Docker engine, and debootstrap to make that image; without them it says so and passes.

#![allow(clippy::disallowed_methods, reason = "a test measures time, and sleeps between two looks")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program is there to be read")]

mod asked;
mod cell;
mod deploy;
mod docker;
mod progress;
mod table;

use asked::{Asked, HELP};
use cell::Cell;
use deploy::{BACKENDS, Site};
use docker::{Container, IMAGE, Network, Result, address, docker};
use progress::Progress;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use table::Tried;

/// Cells at the same time. More of them would measure the machine.
const JOBS: usize = 2;

/// How often a cell is tried again.
const AGAIN: usize = 5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, state] = args.as_slice()
        && role == "--roll"
    {
        return roll(Path::new(state));
    }
    let asked = match Asked::read(&args) {
        Ok(asked) => asked,
        Err(why) => return failed(&why),
    };
    if asked.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let cells = asked.cells();
    if asked.list {
        for cell in &cells {
            println!("{}: test", cell.name());
        }
        return ExitCode::SUCCESS;
    }
    if cells.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Err(why) = lacks().and_then(|()| docker::image()) {
        eprintln!("skipped: rollout: {why}");
        return ExitCode::SUCCESS;
    }
    match try_all(&cells, &asked) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => failed(&format!("FAILED:\n{}", wrong.join("\n"))),
        Err(why) => failed(&why),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("\nrollout: {why}");
    ExitCode::FAILURE
}

fn lacks() -> Result<()> {
    if nix::unistd::geteuid().is_root() { Ok(()) } else { Err("needs root".to_owned()) }
}

/// Tries all of them; what failed, in words.
fn try_all(cells: &[Cell], asked: &Asked) -> Result<Vec<String>> {
    if let Some(directory) = &asked.html {
        fs::create_dir_all(directory).map_err(|why| format!("--html {}: {why}", directory.display()))?;
    }
    let files = files()?;
    // Ctrl-C goes to the probe as well; a cell that ends by it takes its containers away.
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [nix::libc::SIGINT, nix::libc::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped)).map_err(|why| why.to_string())?;
    }
    let progress = Mutex::new(Progress::new(cells));
    let next = AtomicUsize::new(0);
    let results: Vec<_> = cells.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                let take = || {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cells.get(at).zip(results.get(at)).filter(|_| !stopped.load(Ordering::Relaxed))
                };
                while let Some((cell, result)) = take() {
                    let tried = measure(cell, &files, asked.html.as_deref());
                    if let (Ok(mut progress), Ok(mut result)) = (progress.lock(), result.lock()) {
                        progress.done(cell, &tried);
                        *result = Some(tried);
                    }
                }
            });
        }
    });
    let _ = fs::remove_dir_all(&files);
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (cell, result) in cells.iter().zip(results) {
        let wrong = match result.into_inner().ok().flatten() {
            Some(Ok(tried)) => {
                let wrong = tried.wrong();
                done.push(tried);
                wrong
            }
            Some(Err(why)) => Some(why),
            None => Some("not tried".to_owned()),
        };
        failed.extend(wrong.map(|why| format!("{}: {why}", cell.name())));
    }
    println!("{}", table::write(&done, &asked.command()));
    Ok(failed)
}

/// The servers' files and lameduck, to be mounted into the containers.
fn files() -> Result<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rollout-{}", std::process::id()));
    let put = || -> std::io::Result<()> {
        fs::create_dir_all(directory.join("pages"))?;
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rollout/servers"))? {
            let entry = entry?;
            fs::copy(entry.path(), directory.join(entry.file_name()))?;
        }
        fs::write(directory.join("pages/index.html"), "done\n")?;
        fs::write(directory.join("pages/healthz"), "ok\n")?;
        // At 8 KB a second.
        fs::write(directory.join("slow.txt"), "x".repeat(8_192))?;
        fs::copy(lameduck(), directory.join("lameduck"))?;
        // So that the pages show a short deploy command.
        std::os::unix::fs::symlink(std::env::current_exe()?, directory.join("deploy"))
    };
    put().map_err(|why| format!("{}: {why}", directory.display()))?;
    Ok(directory)
}

/// What is shipped, where it has been built (`LAMEDUCK_TEST_BIN`), else what cargo built.
fn lameduck() -> PathBuf {
    std::env::var_os("LAMEDUCK_TEST_BIN").map_or_else(|| env!("CARGO_BIN_EXE_lameduck").into(), PathBuf::from)
}

/// One cell; again when the machine was too busy for a measure.
fn measure(cell: &Cell, files: &Path, html: Option<&Path>) -> Result<Tried> {
    let mut tried = try_one(cell, files, html);
    for _ in 0..AGAIN {
        match &tried {
            Ok(done) if done.report["result"] == "no_measure" => tried = try_one(cell, files, html),
            _ => break,
        }
    }
    tried
}

/// One cell, from nothing to nothing.
fn try_one(cell: &Cell, files: &Path, html: Option<&Path>) -> Result<Tried> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("lameduck-rollout-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let network = Network::new(&name)?;
    let balancer = Container(format!("{name}-lb"));
    let config = format!("CONFIG={}", cell.balancer.config(BACKENDS + 1, cell.health_port()));
    let entry = "printf '%s' \"$CONFIG\" >/tmp/haproxy.cfg; exec haproxy -W -db -f /tmp/haproxy.cfg";
    docker(&["run", "-d", "--name", &balancer.0, "--network", &network.0, "-e", &config, IMAGE, "sh", "-c", entry])?;
    let ip = address(&balancer.0)?;
    docker::until("the balancer listens", || docker::ask(ip, 9999, "show info\n").is_ok())?;
    let files_text = files.to_string_lossy().into_owned();
    let mut site = Site { cell: cell.clone(), name: name.clone(), files: files_text.clone(), balancer: ip, newest: 0 };
    for place in 1..=BACKENDS {
        site.start(place)?;
    }
    let state = format!("{name}.state");
    let (report, ends) = (files.join(format!("{name}.report")), files.join(format!("{name}.ends")));
    let about = json!({
        "cell": cell.name(), "replacements": cell.replacements, "name": name, "files": files_text, "balancer": ip,
        "newest": site.newest, "ends": ends,
    });
    fs::write(files.join(&state), about.to_string()).map_err(|why| why.to_string())?;
    let output = probe(&site, &state, &report, html)?;
    let report = fs::read_to_string(&report).ok().and_then(|text| serde_json::from_str(&text).ok());
    let report: Value = report.ok_or_else(|| format!("the probe failed:\n{output}"))?;
    let ends = fs::read_to_string(&ends).ok().and_then(|text| serde_json::from_str(&text).ok());
    let ends: Vec<Value> = ends.ok_or_else(|| format!("the deploy failed:\n{output}"))?;
    Ok(Tried { cell: cell.clone(), report, ends })
}

/// Runs the probe, with this program as the deploy command. What both of them said.
fn probe(site: &Site, state: &str, report: &Path, html: Option<&Path>) -> Result<String> {
    let cell = &site.cell;
    let mut probe = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    probe.current_dir(&site.files).args(["probe", &format!("http://{}/", site.balancer)]);
    probe.args(["--slow-path", "/slow", "--slow", "10%", "--settle", "2s"]);
    probe.args(["--rate", &cell.rate.to_string(), "--keep-alive", &format!("{}%", cell.keep_alive)]);
    if cell.has_a_health_port() {
        // Those that are stopped first.
        for number in 1..=BACKENDS.min(cell.replacements) {
            let ip = address(&site.backend(number))?;
            probe.arg("--watch-status").arg(format!("http://{ip}:{}/status", cell.health_port()));
        }
    }
    probe.arg("--json").arg(report);
    if let Some(directory) = html {
        let directory = fs::canonicalize(directory).map_err(|why| format!("{}: {why}", directory.display()))?;
        probe.arg("--html").arg(directory.join(format!("{}.html", cell.name().replace(' ', "-"))));
    }
    let output = probe.args(["--", "./deploy", "--roll", state]).output().map_err(|why| why.to_string())?;
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout)))
}

/// The other role of this program: the deploy command.
fn roll(state: &Path) -> ExitCode {
    let rolled = || -> Result<()> {
        let text = fs::read_to_string(state).map_err(|why| why.to_string())?;
        let state: Value = serde_json::from_str(&text).map_err(|why| why.to_string())?;
        let text = |key: &str| state[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| state[key].as_u64().and_then(|number| number.try_into().ok());
        let mut cells = cell::short().into_iter().chain(cell::long());
        let mut cell = cells.find(|cell| cell.name() == text("cell")).ok_or("no such cell")?;
        cell.replacements = number("replacements").ok_or("no replacements")?;
        let balancer = text("balancer").parse().map_err(|_| "no balancer".to_owned())?;
        let newest = number("newest").ok_or("no backends")?;
        let site = Site { cell, name: text("name"), files: text("files"), balancer, newest };
        let ends = deploy::roll(site)?;
        fs::write(text("ends"), Value::from(ends).to_string()).map_err(|why| why.to_string())
    };
    match rolled() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
