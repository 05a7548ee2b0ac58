//! `lameduckctl plan`: the numbers of a stop, computed.
//!
//! From files, flags and reports to numbers, each step in a module of its own:
//!
//! 1. `ask` puts together what is known of one workload: from the files, read as the check reads them, and
//!    from the flags, which beat them. `platform` has the words and what is known of each platform; `seen`
//!    reads reports of real stops.
//! 2. `compute` makes a `Plan` of it: every number with its reason and its source.
//! 3. `text` and `json` write it, `snippet` in the platform's own words.
//!
//! The formulas are those that the rules of the check hold the files against: what is planned here passes
//! there.

pub mod ask;
pub mod compute;
mod json;
pub mod platform;
pub mod seen;
pub mod snippet;
mod text;

use crate::check::flow::Flow;
use crate::check::settings::Given;
use crate::check::source::Problem;
use crate::check::{self, Deployment};
use crate::core::duration;
use platform::{Platform, Way};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

/// Compute the numbers of a stop, each with its reason.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Files and directories of a deployment, as for check
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What stops the server:
    /// ecs-fargate, ecs-ec2, kubernetes, compose, docker or nomad
    #[arg(long, value_name = "PLATFORM", verbatim_doc_comment)]
    platform: Option<String>,
    /// How requests reach it; may be said more than once:
    /// alb, nlb, service-connect, cloud-map, kube-proxy or haproxy
    #[arg(long, value_name = "WAY", verbatim_doc_comment)]
    lb: Vec<String>,
    /// The balancer's health check: from one to the next
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// So many failures in a row count
    #[arg(long, value_name = "COUNT")]
    threshold: Option<String>,
    /// The time for an answer
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// The longest usual request
    #[arg(long, value_name = "TIME")]
    p99: Option<String>,
    /// What the program does after its last request
    #[arg(long, value_name = "TIME")]
    hook: Option<String>,
    /// Who tells the balancer: hc, concurrent or sequential, as for check
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// Reports of real stops (lameduck --report)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from_reports: Vec<PathBuf>,
    /// A value that stands in no file, as for check
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Two things that belong together, as for check
    #[arg(long, value_name = "A=B")]
    link: Vec<String>,
    /// How to write the plan: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: String,
}

const AFTER: &str = "\
Times are 15s, 1m30s, 500ms or bare seconds. What a flag says beats what the files say.
Exit status: 0 planned, 1 it does not fit into what the platform takes, 2 something is unreadable.";

/// The exit status when the platform does not wait for so long.
const DOES_NOT_FIT: u8 = 1;

/// The exit status when something could not be read.
const UNREADABLE: u8 = 2;

/// What the flags say of the deployment itself.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Where it runs.
    pub platform: Option<Platform>,
    /// What brings requests.
    pub ways: Vec<Way>,
    /// From one health check to the next.
    pub interval: Option<Duration>,
    /// The time for an answer.
    pub timeout: Option<Duration>,
    /// So many failures count.
    pub threshold: Option<u64>,
}

/// Runs `plan`; returns the exit status.
#[must_use]
pub fn main(args: &Args) -> u8 {
    let (flags, given, json) = match read_args(args) {
        Ok(read) => read,
        Err(errors) => return complain(&errors),
    };
    let mut problems = Vec::new();
    let seen = (!args.from_reports.is_empty()).then(|| seen::read(&args.from_reports, &mut problems));
    let (asks, deployment) = if args.files.is_empty() {
        match ask::of_flags(&flags, &given, seen) {
            Ok(ask) => (vec![Ok(ask)], Deployment::default()),
            Err(why) => return complain(&[why]),
        }
    } else {
        let deployment = check::read(&args.files, &given);
        (ask::of_files(&deployment, &flags, &given, seen.as_ref()), deployment)
    };
    problems.extend(deployment.problems.iter().cloned());
    let mut plans = Vec::new();
    let mut not_planned = Vec::new();
    for ask in asks {
        match ask {
            Ok(ask) => plans.push(compute::plan(ask)),
            Err(why) => not_planned.push(why),
        }
    }
    if plans.is_empty() && not_planned.is_empty() && problems.is_empty() {
        not_planned.push("the files hold nothing that is stopped: no task definition, no pod, no service".to_owned());
    }
    let sources = &deployment.sources;
    let text = if json {
        format!("{}\n", json::value(&plans, &not_planned, &problems, sources))
    } else {
        tell(&problems);
        text::write(&plans, &not_planned, sources)
    };
    // A reader that went away, as `head` does, has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    if !problems.is_empty() || plans.is_empty() {
        UNREADABLE
    } else if plans.iter().any(|plan| !plan.problems.is_empty()) {
        DOES_NOT_FIT
    } else {
        0
    }
}

fn complain(errors: &[String]) -> u8 {
    for error in errors {
        let _ = writeln!(io::stderr(), "lameduckctl: {error}");
    }
    UNREADABLE
}

fn tell(problems: &[Problem]) {
    for problem in problems {
        let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        let _ = writeln!(io::stderr(), "{}{line}: {}", problem.file, problem.message);
    }
}

fn read_args(args: &Args) -> Result<(Flags, Given, bool), Vec<String>> {
    let mut errors = Vec::new();
    let mut given = Given::default();
    for text in &args.set {
        errors.extend(given.set(text).err());
    }
    for (name, value) in [("p99", &args.p99), ("hook", &args.hook)] {
        if let Some(value) = value {
            // The one complaint there can be is about the value.
            errors.extend(given.set(&format!("{name}={value}")).err().map(|why| why.replacen("--set ", "--", 1)));
        }
    }
    for text in &args.link {
        errors.extend(given.link(text).err());
    }
    match args.flow.as_deref().map(Flow::parse).transpose() {
        Ok(flow) => given.flow = flow,
        Err(why) => errors.push(why),
    }
    let mut flags = Flags::default();
    match args.platform.as_deref().map(Platform::parse).transpose() {
        Ok(platform) => flags.platform = platform,
        Err(why) => errors.push(why),
    }
    for text in args.lb.iter().flat_map(|text| text.split(',')) {
        match Way::parse(text) {
            Ok(way) if !flags.ways.contains(&way) => flags.ways.push(way),
            Ok(_) => {}
            Err(why) => errors.push(why),
        }
    }
    for (name, text, to) in
        [("interval", &args.interval, &mut flags.interval), ("timeout", &args.timeout, &mut flags.timeout)]
    {
        match text.as_deref().map(duration::parse).transpose() {
            Ok(Some(time)) if time.is_zero() => errors.push(format!("--{name} 0: a time is wanted here")),
            Ok(time) => *to = time,
            Err(why) => errors.push(format!("--{name} {}: {why}", text.as_deref().unwrap_or_default())),
        }
    }
    if let Some(text) = &args.threshold {
        match text.parse() {
            Ok(count @ 1..=100) => flags.threshold = Some(count),
            _ => errors.push(format!("--threshold {text}: a number from 1 to 100 is wanted here")),
        }
    }
    let json = match args.format.as_str() {
        "text" => false,
        "json" => true,
        other => {
            errors.push(format!("--format {other}: write text or json"));
            false
        }
    };
    if errors.is_empty() { Ok((flags, given, json)) } else { Err(errors) }
}
