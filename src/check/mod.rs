//! `lameduckctl check`: holds the files of a deployment against each other.
//!
//! The numbers of one stop live in five files of three systems. This reads them together, says where each
//! came from, and fails when they do not fit.
//!
//! From files to findings, each step in a module of its own:
//!
//! 1. [`source`] reads files and knows places in them; [`tree`] makes nodes of YAML and JSON, each with its
//!    place; [`detect`] tells by its content which format a document has.
//! 2. [`load`]: one small file a format puts what it says into the [`model`], as [`fact`]s: a value with its
//!    origin, or the reason why it is not known.
//! 3. [`link`] joins services, task definitions and target groups, [`cluster`] what is in a cluster, [`compose`]
//!    the files of a project and [`image`] images with what runs them; [`launch`] finds out what each container
//!    runs and what lameduck's settings are; [`flow`] works out who tells the balancer, and when;
//!    [`settings`] holds what the command line adds.
//! 4. [`rules`]: one small file a rule looks at a [`case`], a container with everything around it.
//! 5. [`suppress`] takes out what was said to be known, [`report`] writes the rest.
//!
//! How to add a format stands in [`load`], how to add a rule in [`rules`]; a scenario for the tests is a
//! folder below `tests/check`, as its README says.
//!
//! Nothing here runs in PID 1: it may use the heap, the console and other people's parsers. It never
//! panics on what a file holds, and one unreadable file keeps no other from being checked.

pub mod case;
pub mod cluster;
pub mod compose;
pub mod detect;
mod expand;
pub mod fact;
pub mod flow;
pub mod image;
pub mod launch;
pub mod link;
pub mod load;
pub mod model;
pub mod report;
pub mod rules;
pub mod settings;
pub mod source;
pub mod suppress;
#[cfg(test)]
mod tests;
pub mod tree;
mod words;

use case::Case;
use flow::Flow;
use model::Model;
use report::{Finding, Format, NotChecked, Report};
use rules::{Over, RULES, Severity};
use settings::Given;
use source::{Problem, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;

/// Check that the timeouts of a deployment fit together.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Files and directories, in any mix and order; - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to write the findings: text, json, sarif or github
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: String,
    /// What makes the exit status 1: error or warning
    #[arg(long, value_name = "SEVERITY", default_value = "error")]
    fail_on: String,
    /// Who tells the balancer: hc (nobody but its health checks),
    /// concurrent (it is told with the server), sequential (it is told first)
    #[arg(long, value_name = "FLOW", verbatim_doc_comment)]
    flow: Option<String>,
    /// A value that stands in no file, as in p99=2s; see below
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Two things that belong together, by name, ARN or file
    #[arg(long, value_name = "A=B")]
    link: Vec<String>,
    /// A rule not to report, as in LD010
    #[arg(long, value_name = "RULE")]
    ignore: Vec<String>,
}

/// List the rules, or explain one.
#[derive(Debug, clap::Args)]
pub struct RulesArgs {
    /// The rule to explain, as in LD002
    rule: Option<String>,
}

/// What stands below the options.
fn after_help() -> String {
    format!(
        "\
Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 something could not be read.
In a file, `lameduck:ignore LD010 -- reason` takes that rule's findings in this file out.

What --set takes:
{}
Letters of the sums:
{}",
        settings::names(),
        report::rules::letters()
    )
}

/// The exit status when something could not be read.
const UNREADABLE: u8 = 2;

/// What is checked and how, resolved from [`Args`].
#[derive(Debug, Default)]
pub struct Question {
    /// The files and directories.
    pub files: Vec<PathBuf>,
    /// What stands in none of them.
    pub given: Given,
    /// The rules not to report.
    pub ignore: Vec<String>,
}

/// Runs `check`; returns the exit status.
#[must_use]
pub fn main(args: &Args) -> u8 {
    let (question, format, fail_on) = match read_args(args) {
        Ok(read) => read,
        Err(errors) => {
            for error in errors {
                let _ = writeln!(io::stderr(), "lameduckctl: {error}");
            }
            return UNREADABLE;
        }
    };
    let (report, sources) = check(&question);
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = report::write(&report, &sources, format, colour);
    // A reader that went away, as `head` does, has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    report.status(fail_on)
}

/// Runs `rules`; returns the exit status.
#[must_use]
pub fn main_rules(args: &RulesArgs) -> u8 {
    let text = match &args.rule {
        None => report::rules::list(),
        Some(id) => {
            if let Some(rule) = rules::by_id(id) {
                report::rules::page(rule)
            } else {
                let _ = writeln!(io::stderr(), "lameduckctl: no rule {id}; lameduckctl rules lists them");
                return UNREADABLE;
            }
        }
    };
    let _ = io::stdout().write_all(text.as_bytes());
    0
}

fn read_args(args: &Args) -> Result<(Question, Format, Severity), Vec<String>> {
    let mut errors = Vec::new();
    let mut given = Given::default();
    for text in &args.set {
        errors.extend(given.set(text).err());
    }
    for text in &args.link {
        errors.extend(given.link(text).err());
    }
    match args.flow.as_deref().map(Flow::parse).transpose() {
        Ok(flow) => given.flow = flow,
        Err(why) => errors.push(why),
    }
    for id in &args.ignore {
        if rules::by_id(id).is_none() {
            errors.push(format!("--ignore {id}: no such rule; lameduckctl rules lists them"));
        }
    }
    let format = Format::parse(&args.format).map_err(|why| errors.push(why));
    let fail_on = match args.fail_on.as_str() {
        "error" => Ok(Severity::Error),
        "warning" => Ok(Severity::Warning),
        other => {
            let _: () = errors.push(format!("--fail-on {other}: write error or warning"));
            Err(())
        }
    };
    match (format, fail_on) {
        (Ok(format), Ok(fail_on)) if errors.is_empty() => {
            Ok((Question { files: args.files.clone(), given, ignore: args.ignore.clone() }, format, fail_on))
        }
        _ => Err(errors),
    }
}

/// What stands in the files of a deployment, joined.
#[derive(Debug, Default)]
pub struct Deployment {
    /// Everything that runs, with what brings requests to it.
    pub model: Model,
    /// The files.
    pub sources: Sources,
    /// What was taken to be so.
    pub assumed: Vec<String>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Kinds of things that were passed over, with how many there were.
    pub passed_over: Vec<(String, usize)>,
    /// How many files were looked at.
    pub files: usize,
}

/// Reads the files and joins what is in them.
#[must_use]
pub fn read(files: &[PathBuf], given: &Given) -> Deployment {
    let mut sources = Sources::default();
    let mut problems = Vec::new();
    let mut model = Model::default();
    let mut passed_over = BTreeMap::new();
    let mut looked_at = 0;
    for (path, named) in source::find(files, &mut problems) {
        looked_at += 1;
        match source::read(&path) {
            Ok(source) => {
                let file = sources.add(source);
                let loaded = detect::load(file, sources.get(file), named, &mut model);
                problems.extend(loaded.problems);
                for what in loaded.passed_over {
                    *passed_over.entry(what).or_insert(0) += 1;
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    let mut assumed = link::link(&mut model, given, &sources);
    problems.extend(crowded(&mut model, &sources));
    for container in model.workloads.iter_mut().flat_map(|workload| &mut workload.containers) {
        container.launch = launch::read(container);
        assumed.extend(container.launch.assumed.clone());
    }
    problems.extend(refused(&model, &sources));
    let problems = in_order(problems, &sources);
    let passed_over = passed_over.into_iter().collect();
    Deployment { model, sources, assumed, problems, passed_over, files: looked_at }
}

/// Reads the files and holds them against the rules.
#[must_use]
pub fn check(question: &Question) -> (Report, Sources) {
    let Deployment { model, sources, assumed, problems, passed_over, files } = read(&question.files, &question.given);
    let mut report = examine(&model, assumed, &question.given);
    report.passed_over = passed_over;
    report.files = files;
    report.errors = problems;
    suppress::apply(&mut report, &sources, &question.ignore);
    (report, sources)
}

/// So many containers of one workload are looked at, for rules hold each of them against all others. ECS takes
/// ten.
const MOST_CONTAINERS: usize = 50;

/// Takes out what is more than that, and says so.
fn crowded(model: &mut Model, sources: &Sources) -> Vec<Problem> {
    let crowded = model.workloads.iter_mut().filter(|workload| workload.containers.len() > MOST_CONTAINERS);
    let problem = |workload: &mut model::Workload| {
        workload.containers.truncate(MOST_CONTAINERS);
        let message =
            format!("{}: more than the {MOST_CONTAINERS} containers that are looked at together", workload.name);
        let place = workload.place;
        Problem { file: sources.get(place.file).name.clone(), line: Some(sources.position(place).0), message }
    };
    crowded.map(problem).collect()
}

/// What lameduck itself would refuse to start with.
fn refused(model: &Model, sources: &Sources) -> Vec<Problem> {
    let containers = model.workloads.iter().flat_map(|workload| &workload.containers);
    let errors = containers.filter_map(|container| container.launch.lameduck()).flat_map(|settings| &settings.errors);
    let problem = |error: &fact::Fact<String>| {
        let (place, message) = (error.place?, error.known()?);
        let file = sources.get(place.file).name.clone();
        let message = format!("lameduck would not start: {message}");
        Some(Problem { file, line: Some(sources.position(place).0), message })
    };
    errors.filter_map(problem).collect()
}

/// Problems in the order of the files they are in.
fn in_order(mut problems: Vec<Problem>, sources: &Sources) -> Vec<Problem> {
    let rank = |problem: &Problem| sources.iter().position(|(_, source)| source.name == problem.file);
    problems.sort_by_key(|problem| (rank(problem).unwrap_or(usize::MAX), problem.line));
    problems.dedup();
    problems
}

/// Looks at a deployment with every rule.
fn examine(model: &Model, assumed: Vec<String>, given: &Given) -> Report {
    let mut report = Report { assumed, ..Report::default() };
    let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for workload in &model.workloads {
        let flow = flow::of(workload, given.flow);
        if let (Ok(known), true) = (&flow.value, given.flow.is_none() && !workload.routes.is_empty()) {
            let why = fact::Shown::shown(&flow.origin);
            report.assumed.push(format!("{}: the flow is {}: {why}", workload.name, known.word()));
        }
        let subjects = case::subjects(workload);
        for (at, container) in subjects.iter().enumerate() {
            let case = Case { model, workload, container, flow: &flow, given };
            let subject = if subjects.len() > 1 || container.name != workload.name {
                format!("{}/{}", workload.name, container.name)
            } else {
                workload.name.clone()
            };
            for rule in RULES.iter().filter(|rule| at == 0 || rule.over == Over::Containers) {
                match (rule.check)(&case) {
                    Ok(broken) => report.findings.extend(broken.into_iter().map(|b| Finding::new(rule, &subject, b))),
                    Err(missing) => needs.entry(rule.id).or_default().extend(missing.0),
                }
            }
        }
    }
    report.findings.sort_by(Finding::order);
    report.findings.dedup();
    report.not_checked =
        needs.into_iter().map(|(rule, needs)| NotChecked { rule, needs: needs.into_iter().collect() }).collect();
    report
}
