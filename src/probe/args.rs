//! What the command line says, and the settings that come of it: all errors at once.

use super::rule::{Condition, Rules};
use super::schedule::{MAX_RATE, Schedule};
use super::target::{self, Resolve, Target};
use super::tls::{self, Trust};
use crate::core::duration;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Send requests at a steady rate while something is deployed, and count those that were lost.
///
/// Every request ends in exactly one class. "ok" is an answer of the application below 500. All others
/// are lost: refused, reset, no_answer (closed without one), cut_body (an answer that began and broke
/// off), timeout, proxy_error (a 502, 503 or 504 that a proxy made), app_error (a 5xx of the
/// application), tls and dns.
///
/// A 502 or 504 is always a proxy's; a 503 is when it carries the mark of Envoy, HAProxy, nginx, an AWS
/// ALB, Linkerd, Traefik or httpd. --lost-if and --ok-if know better.
///
/// Exits with 0 when at most --max-lost requests were lost, 1 when there were more, and 2 when it could
/// not measure: it was late itself, ran out of sockets, or the deploy command failed.
#[allow(clippy::doc_markdown, reason = "this is the help page")]
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to ask; several take turns
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,

    /// Requests per second, whatever becomes of them
    #[arg(long, default_value_t = 50.0, value_name = "N", help_heading = LOAD)]
    rate: f64,

    /// How long, when there is no deploy command
    #[arg(long = "for", default_value = "60s", value_parser = time, value_name = "TIME", conflicts_with = "deploy", help_heading = LOAD)]
    length: Duration,

    /// How long to go on after the deploy command has ended
    #[arg(long, default_value = "10s", value_parser = time, value_name = "TIME", help_heading = LOAD)]
    settle: Duration,

    /// The share of requests on connections that are kept; the others open one each
    #[arg(long, default_value = "50%", value_parser = share, value_name = "SHARE", help_heading = LOAD)]
    keep_alive: f64,

    /// A path that takes its time, to have long requests in flight as well
    #[arg(long, value_name = "PATH", help_heading = LOAD)]
    slow_path: Option<String>,

    /// The share of requests that go there
    #[arg(long, default_value = "10%", value_parser = share, value_name = "SHARE", requires = "slow_path", help_heading = LOAD)]
    slow: f64,

    /// How long a request may take, its whole answer included
    #[arg(long, default_value = "10s", value_parser = time, value_name = "TIME", help_heading = LOAD)]
    timeout: Duration,

    /// The method of the requests
    #[arg(long, default_value = "GET", value_name = "METHOD", help_heading = REQUEST)]
    method: Method,

    /// A header of the requests, "NAME: VALUE"
    #[arg(short = 'H', long = "header", value_parser = header, value_name = "HEADER", help_heading = REQUEST)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// The name in the Host header and in TLS, in place of that of the URL
    #[arg(long, value_name = "NAME", help_heading = REQUEST)]
    host: Option<String>,

    /// Go to this address for this name, as curl does
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = REQUEST)]
    resolve: Vec<Resolve>,

    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = REQUEST)]
    ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long, help_heading = REQUEST)]
    ipv6: bool,

    /// Trust the certificates in this file (PEM), and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = REQUEST)]
    cacert: Option<PathBuf>,

    /// Trust every certificate
    #[arg(long, help_heading = REQUEST)]
    insecure: bool,

    /// Ask this beside the load, and show when it turns red; never counted as lost
    #[arg(long, value_name = "PATH|URL", help_heading = WATCH)]
    readiness: Vec<String>,

    /// The /status of a lameduck that is stopped, for its phases
    #[arg(long, value_name = "URL", help_heading = WATCH)]
    watch_status: Vec<String>,

    /// What a lameduck wrote with --report while this ran, for its phases; read at the end
    #[arg(long, value_name = "FILE", help_heading = WATCH)]
    stop_report: Vec<PathBuf>,

    /// Count answers like this as lost: status=5xx, header=NAME, header=NAME:PART or body=PART, and several with commas
    #[arg(long, value_name = "CONDITION", help_heading = VERDICT)]
    lost_if: Vec<Condition>,

    /// Count answers like this as ok
    #[arg(long, value_name = "CONDITION", help_heading = VERDICT)]
    ok_if: Vec<Condition>,

    /// How many lost requests are too few to fail
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = VERDICT)]
    max_lost: u64,

    /// Write the result as JSON; "-" is standard output
    #[arg(long, value_name = "FILE", help_heading = VERDICT)]
    json: Option<PathBuf>,

    /// Write the result as one HTML page with its picture in it
    #[arg(long, value_name = "FILE", help_heading = VERDICT)]
    html: Option<PathBuf>,

    /// The deploy command: the load begins 2 s before it and ends --settle after it
    #[arg(last = true, value_name = "DEPLOY COMMAND")]
    deploy: Vec<OsString>,
}

const LOAD: &str = "Load";
const REQUEST: &str = "Requests";
const WATCH: &str = "Beside the load";
const VERDICT: &str = "Result";

const EXAMPLES: &str = "\
TIME is 15s, 1m30s, 500ms, 1.5s, or bare seconds. SHARE is 50% or 50.

Examples:
  lameduckctl probe http://web.example/ -- kubectl rollout restart deploy/web
  lameduckctl probe https://web.example/ --slow-path /report --html deploy.html -- ./deploy.sh
  lameduckctl probe http://10.0.0.7:8080/ --watch-status http://10.0.0.7:9000/status --for 2m";

/// What a probe is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the requests go.
    pub targets: Vec<Target>,
    /// Where the slow ones go, in the same order.
    pub slow: Vec<Target>,
    /// When each goes out.
    pub schedule: Schedule,
    /// How long the load lasts.
    pub until: Until,
    /// The method of every request.
    pub method: Method,
    /// Headers of every request, beside those that are always there.
    pub headers: HeaderMap,
    /// How long a request may take.
    pub timeout: Duration,
    /// Which addresses may be used.
    pub family: Family,
    /// Which certificates are trusted.
    pub trust: Trust,
    /// What is polled for its readiness.
    pub readiness: Vec<Target>,
    /// What is polled for the phase of a stop.
    pub statuses: Vec<Target>,
    /// What is read at the end for the phases of a stop.
    pub stop_reports: Vec<PathBuf>,
    /// What the user knows about answers.
    pub rules: Rules,
    /// How many lost requests are too few to fail.
    pub max_lost: u64,
    /// Where the result goes as JSON.
    pub json: Option<PathBuf>,
    /// Where the page goes.
    pub html: Option<PathBuf>,
}

/// When the load ends.
#[derive(Clone, Debug)]
pub enum Until {
    /// After this time.
    For(Duration),
    /// So long after this command.
    Deployed(Vec<OsString>, Duration),
}

/// Which addresses of a name are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// All of them.
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

// === impl Args ===

impl Args {
    /// The settings.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn settings(&self) -> Result<Settings, Vec<String>> {
        let mut errors = Vec::new();
        let targets = self.read(&self.urls, &mut errors);
        let from_targets = |path: &String| targets.iter().map(|target| target.at(path)).collect::<Vec<_>>();
        let slow = self.slow_path.as_ref().map(|path| from_targets(&absolute(path, "--slow-path", &mut errors)));
        let mut readiness = Vec::new();
        for place in &self.readiness {
            if place.contains("://") {
                readiness.extend(self.read(std::slice::from_ref(place), &mut errors));
            } else {
                readiness.extend(from_targets(&absolute(place, "--readiness", &mut errors)));
            }
        }
        let statuses = self.read(&self.watch_status, &mut errors);
        let asked = || targets.iter().chain(&readiness).chain(&statuses);
        let unused =
            self.resolve.iter().filter(|resolve| errors.is_empty() && !asked().any(|target| resolve.is_for(target)));
        let unused: Vec<String> =
            unused.map(|resolve| format!("--resolve {resolve}: no URL has this host and port")).collect();
        errors.extend(unused);
        let family = match (self.ipv4, self.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        };
        for target in asked().filter(|target| target.fixed().is_some_and(|address| !family.has(address))) {
            let (flag, other) = if family == Family::V4 { ("--ipv4", 6) } else { ("--ipv6", 4) };
            errors.push(format!("\"{}\": goes to an address of IPv{other}, and {flag} is given", target.url));
        }
        if !(self.rate > 0.0 && self.rate <= MAX_RATE) {
            errors.push(format!("--rate {}: more than 0 and at most {MAX_RATE} a second", self.rate));
        }
        if self.timeout.is_zero() {
            errors.push("--timeout 0: no request can be answered in no time".to_owned());
        }
        let trust = match &self.cacert {
            _ if self.insecure => Trust::Anything,
            Some(file) => tls::read(file).map_or_else(
                |why| {
                    errors.push(format!("--cacert {why}"));
                    Trust::Anything
                },
                Trust::These,
            ),
            None => Trust::System,
        };
        if !errors.is_empty() {
            return Err(errors);
        }
        let schedule = Schedule {
            rate: self.rate,
            kept_alive: self.keep_alive,
            slow: if slow.is_some() { self.slow } else { 0.0 },
            targets: targets.len(),
        };
        let until = match self.deploy.as_slice() {
            [] => Until::For(self.length),
            command => Until::Deployed(command.to_vec(), self.settle),
        };
        Ok(Settings {
            targets,
            slow: slow.unwrap_or_default(),
            schedule,
            until,
            method: self.method.clone(),
            headers: self.headers.iter().cloned().collect(),
            timeout: self.timeout,
            family,
            trust,
            readiness,
            statuses,
            stop_reports: self.stop_report.clone(),
            rules: Rules::new(&self.lost_if, &self.ok_if),
            max_lost: self.max_lost,
            json: self.json.clone(),
            html: self.html.clone(),
        })
    }

    /// Reads URLs, and gives them the host and the addresses that were asked for.
    fn read(&self, urls: &[String], errors: &mut Vec<String>) -> Vec<Target> {
        let mut targets = Vec::new();
        for url in urls {
            let with_host = |target: Target| match &self.host {
                Some(host) => target.with_host(host),
                None => Ok(target),
            };
            match target::parse(url).map(|target| target.resolved(&self.resolve)).and_then(with_host) {
                Ok(target) => targets.push(target),
                Err(why) => errors.push(why),
            }
        }
        targets
    }
}

// === impl Family ===

impl Family {
    /// Whether this address may be used.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// A path from the root of a server.
fn absolute(path: &str, flag: &str, errors: &mut Vec<String>) -> String {
    if !path.starts_with('/') || path.parse::<hyper::http::uri::PathAndQuery>().is_err() {
        errors.push(format!("{flag} \"{path}\": not a path, which begins with / and has no blanks"));
    }
    path.to_owned()
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|why| why.to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>().ok();
    let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| "not a share: write 0% to 100%".to_owned())
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let form = || "write it as \"NAME: VALUE\"".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(form)?;
    let name = name.trim().parse().map_err(|_| form())?;
    Ok((name, value.trim().parse().map_err(|_| form())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Probe {
        #[command(flatten)]
        args: Args,
    }

    fn settings(words: &str) -> Result<Settings, Vec<String>> {
        let words = std::iter::once("probe").chain(words.split_whitespace());
        let probe = Probe::try_parse_from(words).map_err(|error| vec![error.to_string()])?;
        probe.args.settings()
    }

    #[test]
    fn a_url_is_all_that_is_needed() {
        let settings = settings("http://h/").unwrap();
        assert_eq!(settings.schedule, Schedule { rate: 50.0, kept_alive: 0.5, slow: 0.0, targets: 1 });
        assert!(matches!(settings.until, Until::For(time) if time == Duration::from_secs(60)));
        assert_eq!((settings.timeout, settings.max_lost), (Duration::from_secs(10), 0));
    }

    #[test]
    fn everything_after_two_dashes_is_the_deploy_command() {
        let settings = settings("http://a/ http://b/ --settle 3s -- ./deploy --for 5").unwrap();
        let Until::Deployed(command, settle) = settings.until else { panic!("no deploy") };
        assert_eq!(
            (command, settle),
            (["./deploy", "--for", "5"].map(OsString::from).to_vec(), Duration::from_secs(3))
        );
        assert_eq!(settings.targets.len(), 2);
    }

    #[test]
    fn slow_and_readiness_paths_are_asked_of_every_target() {
        let settings =
            settings("http://a/x https://b/ --slow-path /s --slow 25% --readiness /r --readiness http://c:1/r")
                .unwrap();
        let urls = |targets: &[Target]| targets.iter().map(|target| target.url.clone()).collect::<Vec<_>>();
        assert_eq!(urls(&settings.slow), ["http://a/s", "https://b/s"]);
        assert_eq!(urls(&settings.readiness), ["http://a/r", "https://b/r", "http://c:1/r"]);
        assert!((settings.schedule.slow - 0.25).abs() < 1e-9);
    }

    #[test]
    fn all_errors_are_told_at_once() {
        let errors = settings("ftp://a/ nonsense --slow-path slow --readiness r --rate 0 --timeout 0s --cacert /none")
            .unwrap_err();
        assert_eq!(errors.len(), 7, "{errors:#?}");
        for (words, part) in [
            ("", "URL"),
            ("http://h/ --slow 10%", "--slow-path"),
            ("http://h/ --for 5s -- true", "cannot be used"),
            ("http://h/ --keep-alive 101%", "0% to 100%"),
            ("http://h/ --for 5x", "not a duration"),
            ("http://h/ --header nonsense", "NAME: VALUE"),
            ("http://h/ -4 -6", "cannot be used"),
            ("http://127.0.0.1/ -6", "IPv4"),
            ("http://a/ -4 --resolve a:80:::1", "IPv6"),
            ("http://a/ --resolve a:443:127.0.0.1", "no URL"),
            ("http://h/ --lost-if 503", "status=503"),
        ] {
            let error = settings(words).unwrap_err().concat();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
