//! `lameduckctl probe`: what a deploy loses, counted from outside.
//!
//! [`schedule`] says when each request goes out, `client` sends it, [`outcome`] judges what became of it,
//! [`tally`] counts, `report` and [`chart`] show. `load` is the loop that holds them together, and the only
//! place where time passes.

pub mod args;
pub mod chart;
mod client;
mod deploy;
mod live;
mod load;
pub mod maker;
pub mod measured;
pub mod outcome;
pub mod report;
pub mod rule;
pub mod schedule;
mod stopped;
pub mod tally;
pub mod target;
pub mod tls;
mod watch;

pub use args::Args;

use args::Settings;
use deploy::Event;
use live::Live;
use measured::Measured;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::UnboundedReceiver;

/// The status when it could not measure.
const NO_MEASURE: u8 = 2;

/// Descriptors that are not for requests: files, pipes, the runtime, kept connections.
const OTHER_FILES: u64 = 256;

/// Open files that are asked for: no address has more ports.
const MOST_FILES: u64 = 65_536;

/// Where the result goes. Opened before anything else: a deploy is not to be repeated for a name that was
/// mistyped.
struct Files {
    json_to_stdout: bool,
    json: Option<Output>,
    html: Option<Output>,
}

/// A file for a result.
struct Output {
    /// Its flag and its path.
    name: String,
    file: File,
}

/// Measures, reports, and returns the status to exit with.
#[must_use]
pub fn main(args: &Args) -> u8 {
    let settings = match args.settings() {
        Ok(settings) => settings,
        Err(errors) => {
            for error in errors {
                complain(&error);
            }
            return NO_MEASURE;
        }
    };
    let mut files = match Files::open(&settings) {
        Ok(files) => files,
        Err(why) => return failed(&why),
    };
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => return failed(&format!("cannot start: {why}")),
    };
    match runtime.block_on(load::run(&settings, most_in_flight(), Live::new())) {
        Ok((mut measured, running)) => {
            read_reports(&settings, &mut measured);
            end(&runtime, &mut files, &measured, running)
        }
        Err(why) => failed(&why),
    }
}

/// Adds the phases that lameducks have written down. One that cannot be read takes nothing from the rest.
fn read_reports(settings: &Settings, measured: &mut Measured) {
    for file in &settings.stop_reports {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|why| why.to_string());
        match text.and_then(|text| stopped::read(&text)) {
            Ok(phases) => measured.phases.extend(
                phases
                    .into_iter()
                    .map(|(at, phase)| (name.clone(), at.duration_since(measured.began).unwrap_or_default(), phase)),
            ),
            Err(why) => complain(&format!("--stop-report {name}: {why}")),
        }
    }
}

/// Tells the result, and then lets a deploy command that still runs come to its end.
fn end(runtime: &Runtime, files: &mut Files, measured: &Measured, running: Option<UnboundedReceiver<Event>>) -> u8 {
    let mut code = measured.result().code();
    let text = report::text::write(measured);
    if files.json_to_stdout {
        put(io::stderr().lock(), &text);
        put(io::stdout().lock(), &report::json::write(measured));
    } else {
        put(io::stdout().lock(), &text);
    }
    if let Some(file) = &mut files.json {
        code = file.save(&report::json::write(measured)).unwrap_or(code);
    }
    if let Some(file) = &mut files.html {
        code = file.save(&report::html::write(measured)).unwrap_or(code);
    }
    if let Some(mut events) = running {
        complain("the deploy command still runs: waiting for it (Ctrl-C leaves it alone)");
        runtime.block_on(async {
            let mut live = Live::new();
            tokio::select! {
                () = load::stop_signal() => {}
                () = async {
                    while let Some(Event::Said(_, line)) = events.recv().await {
                        live.said(&line);
                    }
                } => {}
            }
        });
    }
    code
}

/// How many requests there may be at the same time, after raising our limit as far as we may.
fn most_in_flight() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return OTHER_FILES };
    // The deploy command gets it too, and some programs walk through all of it.
    let wanted = hard.min(MOST_FILES).max(soft);
    let limit = if setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok() { wanted } else { soft };
    limit.saturating_sub(OTHER_FILES).max(1)
}

// === impl Files ===

impl Files {
    fn open(settings: &Settings) -> Result<Self, String> {
        let json_to_stdout = settings.json.as_deref() == Some(Path::new("-"));
        let json = settings.json.as_ref().filter(|_| !json_to_stdout);
        let json = json.map(|path| Output::open("--json", path)).transpose()?;
        let html = settings.html.as_ref().map(|path| Output::open("--html", path)).transpose()?;
        Ok(Self { json_to_stdout, json, html })
    }
}

// === impl Output ===

impl Output {
    fn open(flag: &str, path: &Path) -> Result<Self, String> {
        let name = format!("{flag} {}", path.display());
        // What is in it stays until there is something better.
        let file = File::options().write(true).create(true).truncate(false).open(path);
        file.map(|file| Self { name: name.clone(), file }).map_err(|why| format!("{name}: {why}"))
    }

    /// Writes the file; the status when that fails.
    fn save(&mut self, text: &str) -> Option<u8> {
        // A pipe has no length to be set.
        let _ = self.file.set_len(0);
        let written = self.file.write_all(text.as_bytes());
        written.err().map(|why| failed(&format!("{}: {why}", self.name)))
    }
}

fn failed(why: &str) -> u8 {
    complain(why);
    NO_MEASURE
}

fn complain(what: &str) {
    put(io::stderr().lock(), &format!("lameduckctl probe: {what}\n"));
}

fn put(mut out: impl io::Write, text: &str) {
    // A reader that has gone away has seen enough.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
