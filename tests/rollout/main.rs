//! The proof: real servers behind a real balancer under steady load, replaced one by one with
//! `docker stop`, and counted by `lameduckctl probe`.
//!
//! ```console
//! $ cargo test --test rollout                       # the short form, some two minutes
//! $ cargo test --test rollout -- mesh nginx         # the cells whose names have these words
//! $ cargo test --test rollout -- --long             # everything; hours
//! $ cargo test --test rollout -- --long --html DIR  # and a page for each
//! ```
//!
//! Every cell of the short form is run twice, under tini and under lameduck, in the same image. It
//! needs root, a Docker engine, and debootstrap to make that image; without them it says so and passes.

#![allow(clippy::disallowed_methods, reason = "a test measures time, and sleeps between two looks")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this program is there to be read")]

mod cell;
mod deploy;
mod docker;

use cell::{Cell, Expect};
use deploy::{BACKENDS, Site};
use docker::{Container, IMAGE, Network, Result, address, docker};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Cells at the same time. More of them would measure the machine.
const JOBS: usize = 2;

/// How often a cell is tried again.
const AGAIN: usize = 2;

/// What the command line says. Flags of cargo's own harness are passed over.
struct Asked {
    words: Vec<String>,
    long: bool,
    list: bool,
    html: Option<PathBuf>,
}

/// What became of a cell.
struct Tried {
    cell: Cell,
    /// The probe's report.
    report: Value,
    /// How the stopped backends ended.
    ends: Vec<Value>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, state] = args.as_slice()
        && role == "--roll"
    {
        return roll(Path::new(state));
    }
    let asked = Asked::read(&args);
    let mut cells = if asked.long { cell::long() } else { cell::short() };
    cells.retain(|cell| asked.words.iter().all(|word| cell.name().contains(word.as_str())));
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
    match try_all(cells, asked.html.as_deref()) {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            println!("\nFAILED:\n{}", failed.join("\n"));
            ExitCode::FAILURE
        }
        Err(why) => {
            println!("rollout: {why}");
            ExitCode::FAILURE
        }
    }
}

fn lacks() -> Result<()> {
    if nix::unistd::geteuid().is_root() { Ok(()) } else { Err("needs root".to_owned()) }
}

/// Tries all of them; what failed, in words.
fn try_all(mut cells: Vec<Cell>, html: Option<&Path>) -> Result<Vec<String>> {
    let files = files()?;
    let help = Command::new(files.join("lameduck")).arg("--help").output().map_err(|why| why.to_string())?;
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    cells.retain(|cell| {
        let missing = cell.needs().into_iter().find(|flag| !help.contains(flag));
        if let Some(flag) = missing {
            eprintln!("skipped: rollout {}: this lameduck has no {flag}", cell.name());
        }
        missing.is_none()
    });
    println!("{HEAD}");
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = match measure(cell, &files, html) {
                        Ok(tried) => {
                            println!("{}", tried.row());
                            tried.wrong()
                        }
                        Err(why) => Some(why),
                    };
                    if let (Some(why), Ok(mut failed)) = (wrong, failed.lock()) {
                        failed.push(format!("{}: {why}", cell.name()));
                    }
                }
            });
        }
    });
    let _ = fs::remove_dir_all(&files);
    failed.into_inner().map_err(|_| "a cell panicked".to_owned())
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
        "cell": cell.name(), "name": name, "files": files_text, "balancer": ip, "newest": site.newest, "ends": ends,
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
    if cell.needs().contains(&"--health-listen") {
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
        let cell = cell::long().into_iter().find(|cell| cell.name() == text("cell")).ok_or("no such cell")?;
        let balancer = text("balancer").parse().map_err(|_| "no balancer".to_owned())?;
        let newest = state["newest"].as_u64().and_then(|newest| newest.try_into().ok()).ok_or("no backends")?;
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

const HEAD: &str = "| cell | sent | lost | lost per backend | what | lost from..to, s after the deploy began | stop, s | exit |\n|---|---|---|---|---|---|---|---|";

// === impl Tried ===

impl Tried {
    fn number(&self, key: &str) -> u64 {
        self.report[key].as_u64().unwrap_or_default()
    }

    /// A row of a table.
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    fn row(&self) -> String {
        let lost = self.number("lost");
        let classes = self.report["classes"].as_object().into_iter().flatten();
        let classes: Vec<String> = classes
            .filter(|(class, count)| *class != "ok" && count.as_u64() != Some(0))
            .map(|(class, count)| format!("{class} {count}"))
            .collect();
        let at = |key: &str| self.report[key].as_f64().map_or_else(|| "-".to_owned(), |at| format!("{at:.2}"));
        let mut codes: Vec<String> = self.ends.iter().map(|end| end["code"].to_string()).collect();
        codes.sort();
        codes.dedup();
        let mut seconds: Vec<f64> = self.ends.iter().filter_map(|end| end["seconds"].as_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        format!(
            "| {} | {} | {lost} | {:.1} | {} | {}..{} | {:.1} | {} |",
            self.cell.name(),
            self.number("sent"),
            lost as f64 / self.ends.len().max(1) as f64,
            if classes.is_empty() { "-".to_owned() } else { classes.join(", ") },
            at("first_lost_s"),
            at("last_lost_s"),
            seconds.get(seconds.len() / 2).copied().unwrap_or_default(),
            codes.join(", "),
        )
    }

    /// What is not as it has to be.
    fn wrong(&self) -> Option<String> {
        let lost = self.number("lost");
        if self.report["result"] == "no_measure" {
            return Some(format!("no measure: {}", self.report["why_no_measure"]));
        }
        match self.cell.expect {
            Expect::Nothing if lost > 0 => {
                let losses = self.report["losses"].as_array().into_iter().flatten().take(3);
                Some(format!("{lost} lost, the first of them: {}", losses.map(Value::to_string).collect::<String>()))
            }
            Expect::Something if lost == 0 => Some("nothing was lost, so this proves nothing".to_owned()),
            _ => None,
        }
    }
}

// === impl Asked ===

impl Asked {
    fn read(args: &[String]) -> Self {
        let mut asked = Self { words: Vec::new(), long: false, list: false, html: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--long" => asked.long = true,
                "--list" => asked.list = true,
                "--html" => asked.html = args.next().map(PathBuf::from),
                // Of cargo's harness; their values are no names of cells.
                "--skip" | "--test-threads" | "--format" | "--color" | "--logfile" => drop(args.next()),
                flag if flag.starts_with('-') => {}
                word => asked.words.push(word.to_owned()),
            }
        }
        asked
    }
}
