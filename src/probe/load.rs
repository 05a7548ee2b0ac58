//! The run itself: requests out, results in, everything else beside them.

use super::args::{Settings, Until};
use super::client::{Client, On};
use super::deploy::{self, Event};
use super::live::Live;
use super::measured::{Deploy, MOST_LINES, Measured};
use super::outcome;
use super::schedule::Kind;
use super::tally::{Done, Tally};
use super::watch::{self, Change};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// How long the load runs before the deploy command starts: what it is like without one.
const LEAD: Duration = Duration::from_secs(2);

/// Between two looks at the status line.
const LOOK: Duration = Duration::from_millis(500);

/// A run in progress.
struct Load<'a> {
    settings: &'a Settings,
    shared: Arc<Shared>,
    began: Instant,
    /// Requests at the same time: what the file table allows.
    most_in_flight: u64,
    in_flight: u64,
    next: u64,
    tell: UnboundedSender<Done>,
    measured: Measured,
    live: Live,
    /// When no more requests are sent; unknown while the deploy runs.
    end: Option<Instant>,
    deploy_began: Option<Instant>,
}

/// What every request needs.
struct Shared {
    client: Arc<Client>,
    settings: Settings,
}

/// Runs it to its end. The second is the deploy command when it still runs.
///
/// # Errors
/// When it cannot begin, or the deploy command cannot be started.
pub(super) async fn run(
    settings: &Settings,
    most_in_flight: u64,
    live: Live,
) -> Result<(Measured, Option<UnboundedReceiver<Event>>), String> {
    let client = Arc::new(Client::new(settings).map_err(|why| why.to_string())?);
    let (tell, mut results) = unbounded_channel();
    let (tell_changes, mut changes) = unbounded_channel();
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let [Ok(interrupt), Ok(terminate)] = &mut signals else { return Err("cannot listen for signals".to_owned()) };
    for (number, target) in settings.readiness.iter().enumerate() {
        tokio::spawn(watch::readiness(Arc::clone(&client), target.clone(), number, tell_changes.clone()));
    }
    for (number, target) in settings.statuses.iter().enumerate() {
        tokio::spawn(watch::phases(Arc::clone(&client), target.clone(), number, tell_changes.clone()));
    }
    let mut load = Load::new(settings, client, tell, most_in_flight, live);
    let mut deploy = None;
    let mut look = load.began + LOOK;
    loop {
        let now = Instant::now();
        if let (None, Until::Deployed(command, _)) = (load.deploy_began, &settings.until)
            && now >= load.began + LEAD
        {
            deploy = Some(load.start(command)?);
        }
        // What was due before the end goes out even when we come too late for it.
        load.send(load.end.map_or(now, |end| now.min(end - Duration::from_nanos(1))));
        if load.end.is_some_and(|end| now >= end) {
            break;
        }
        if now >= look {
            load.live.look(&load.measured, now - load.began);
            look = now + LOOK;
        }
        let wake = [Some(load.due()), Some(look), load.end, load.deploy_due()].into_iter().flatten().min();
        tokio::select! {
            biased;
            () = stopped(interrupt, terminate) => load.interrupt(),
            Some(event) = next(&mut deploy) => load.deploy(event),
            Some(change) = changes.recv() => load.change(&change),
            Some(done) = results.recv() => load.count(&done),
            () = sleep_until(wake.unwrap_or(look)) => {}
        }
    }
    load.measured.length = load.began.elapsed();
    // What is in flight has its own time limit; another signal does not wait for it.
    let told = Instant::now() + LOOK;
    let mut tell = load.measured.interrupted;
    while load.in_flight > 0 {
        tokio::select! {
            Some(done) = results.recv() => load.count(&done),
            Some(change) = changes.recv() => load.change(&change),
            Some(event) = next(&mut deploy) => load.deploy(event),
            () = stopped(interrupt, terminate) => break,
            () = sleep_until(told), if tell => {
                tell = false;
                load.live.note(&format!("waiting for {} requests in flight (Ctrl-C leaves them)", load.in_flight));
            }
        }
    }
    load.measured.unfinished = load.in_flight;
    let running = deploy.filter(|_| load.measured.deploy.as_ref().is_some_and(|deploy| deploy.code.is_none()));
    load.live.end();
    Ok((load.measured, running))
}

/// Waits for the signals that end a run.
pub(super) async fn stop_signal() {
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    match &mut signals {
        [Ok(interrupt), Ok(terminate)] => stopped(interrupt, terminate).await,
        _ => std::future::pending().await,
    }
}

async fn stopped(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

async fn next(deploy: &mut Option<UnboundedReceiver<Event>>) -> Option<Event> {
    match deploy {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

// === impl Load ===

impl<'a> Load<'a> {
    fn new(
        settings: &'a Settings,
        client: Arc<Client>,
        tell: UnboundedSender<Done>,
        most_in_flight: u64,
        live: Live,
    ) -> Self {
        let began = Instant::now();
        let (end, zero) = match settings.until {
            Until::For(time) => (Some(began + time), Duration::ZERO),
            Until::Deployed(..) => (None, LEAD),
        };
        #[allow(clippy::disallowed_methods, reason = "the one time of day, for the reports")]
        let time_of_day = SystemTime::now();
        let measured = Measured {
            urls: settings.targets.iter().map(|target| target.url.clone()).collect(),
            rate: settings.schedule.rate,
            max_lost: settings.max_lost,
            began: time_of_day,
            zero,
            length: Duration::ZERO,
            tally: Tally::new(settings.targets.len()),
            readiness: Vec::new(),
            phases: Vec::new(),
            deploy: None,
            interrupted: false,
            unfinished: 0,
        };
        let shared = Arc::new(Shared { client, settings: settings.clone() });
        Self {
            settings,
            shared,
            began,
            most_in_flight,
            in_flight: 0,
            next: 0,
            tell,
            measured,
            live,
            end,
            deploy_began: None,
        }
    }

    /// When the next request is due.
    fn due(&self) -> Instant {
        self.began + self.settings.schedule.due(self.next)
    }

    fn deploy_due(&self) -> Option<Instant> {
        let waits = self.deploy_began.is_none() && matches!(self.settings.until, Until::Deployed(..));
        waits.then(|| self.began + LEAD)
    }

    /// Sends all that is due.
    fn send(&mut self, now: Instant) {
        while self.due() <= now {
            let (number, due) = (self.next, self.settings.schedule.due(self.next));
            self.next += 1;
            if self.in_flight >= self.most_in_flight {
                self.measured
                    .tally
                    .not_sent("too many at the same time for the open files that are allowed (ulimit -n)");
                continue;
            }
            self.in_flight += 1;
            let kind = self.settings.schedule.kind(number);
            tokio::spawn(one(Arc::clone(&self.shared), kind, self.began, due, self.tell.clone()));
        }
    }

    fn count(&mut self, done: &Done) {
        self.in_flight -= 1;
        self.measured.tally.count(done);
        self.live.done(&self.measured, done);
    }

    fn change(&mut self, change: &Change) {
        let since = |at: Instant| at.saturating_duration_since(self.began);
        match *change {
            Change::Readiness(number, at, status) => {
                let url = self.settings.readiness.get(number).map(|target| target.url.clone()).unwrap_or_default();
                self.live.ready(&self.measured, &url, since(at), status);
                self.measured.readiness.push((url, since(at), status));
            }
            Change::Phase(number, at, phase) => {
                let url = self.settings.statuses.get(number).map(|target| target.url.clone()).unwrap_or_default();
                self.measured.phases.push((url, since(at), phase));
            }
        }
    }

    fn start(&mut self, command: &[std::ffi::OsString]) -> Result<UnboundedReceiver<Event>, String> {
        let written = deploy::written(command);
        let now = Instant::now();
        self.deploy_began = Some(now);
        self.measured.zero = now - self.began;
        let events = deploy::start(command).map_err(|why: io::Error| format!("cannot start \"{written}\": {why}"))?;
        self.measured.deploy = Some(Deploy { command: written, code: None, took: Duration::ZERO, lines: Vec::new() });
        Ok(events)
    }

    fn deploy(&mut self, event: Event) {
        let Some(deploy) = &mut self.measured.deploy else { return };
        match event {
            Event::Said(at, line) => {
                let at = at.saturating_duration_since(self.began);
                if deploy.lines.len() < MOST_LINES {
                    deploy.lines.push((at, line.clone()));
                }
                self.live.said(&line);
            }
            Event::Ended(at, status) => {
                deploy.code = status.ok().and_then(deploy::code);
                deploy.took = at.saturating_duration_since(self.deploy_began.unwrap_or(at));
                if let (Until::Deployed(_, settle), false) = (&self.settings.until, self.measured.interrupted) {
                    self.end = Some(at + *settle);
                }
            }
        }
    }

    /// Ends the load now. The deploy command has had its own Ctrl-C from the terminal.
    fn interrupt(&mut self) {
        self.measured.interrupted = true;
        self.end = Some(Instant::now());
        if let (Some(deploy), Some(began)) = (&mut self.measured.deploy, self.deploy_began)
            && deploy.code.is_none()
        {
            deploy.took = began.elapsed();
        }
    }
}

/// One request, from its moment to its end.
async fn one(shared: Arc<Shared>, kind: Kind, began: Instant, due: Duration, tell: UnboundedSender<Done>) {
    let sent = began.elapsed();
    let targets = if kind.slow { &shared.settings.slow } else { &shared.settings.targets };
    let Some(target) = targets.get(kind.target) else { return };
    let on = if kind.kept_alive { On::Kept(kind.target) } else { On::Fresh };
    let (seen, reused) = shared.client.send(target, on).await;
    let ended = began.elapsed();
    let verdict = outcome::judge(&seen, &shared.settings.rules);
    // Nobody listens any more when the run was cut short.
    let _ = tell.send(Done { kind, due, sent, ended, reused, verdict });
}
