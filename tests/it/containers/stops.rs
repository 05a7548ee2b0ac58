//! The stops.

use super::container::{Container, Stopped};
use super::image::{self, Slot};
use super::load::{Load, Outcome, Request, SLOW};
use crate::support::tell;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const DELAY: Duration = Duration::from_secs(1);

/// The flags of most tests: a drain that has time enough.
const AMPLE: [&str; 4] = ["--delay", "1s", "--drain-timeout", "20s"];

/// Within this time of the graceful signal a server closes its port: a request that comes then may
/// find it open and be dropped. No init can close that gap.
const CLOSING: Duration = Duration::from_millis(100);

/// A stop under load.
pub(super) struct Watched {
    stopped: Stopped,
    requests: Vec<Request>,
}

/// Runs `test` with a slot, one test at a time: each one brings a load of its own. Says why when the
/// machine lacks something.
pub(super) fn in_a_container(name: &str, test: impl FnOnce(Slot)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    match image::slot() {
        Ok(slot) => test(slot),
        Err(why) => tell(&format!("skipped: containers::{name}: {why}")),
    }
}

/// Stops a container that is asked all the time.
pub(super) fn stop_under_load(slot: Slot, container: &Container) -> Watched {
    let load = Load::start(slot);
    // So long that slow requests are in flight at every moment, in all stages.
    thread::sleep(SLOW + SLOW / 2);
    let stopped = container.stop();
    Watched { stopped, requests: load.end() }
}

pub(super) fn nginx(slot: Slot) -> [String; 5] {
    ["nginx", "-e", "stderr", "-c", &format!("/etc/it/{}/nginx.conf", slot.number)].map(str::to_owned)
}

pub(super) fn start_nginx(slot: Slot, options: &[&str], flags: &[&str]) -> Container {
    let command = nginx(slot);
    Container::start(slot, options, flags, &command.each_ref().map(String::as_str))
}

// === impl Watched ===

impl Watched {
    /// Everything was answered that was sent before the port was closed; the port stayed open for the
    /// whole delay; what was in flight then was finished; the server left by itself, with 0.
    pub(super) fn assert_nothing_was_lost(&self, told: &str) {
        let Self { stopped, requests } = self;
        let log = &stopped.log;
        let draining = log.phase("draining");
        assert_eq!(stopped.code, 0, "{}", log.text);
        assert!(draining.get("told").starts_with(told), "{}", log.text);
        assert!(draining.elapsed() >= DELAY, "{}", log.text);

        let told = draining.time();
        let closed = told.saturating_sub(CLOSING);
        // A server takes in those who wait in their order. On a busy machine it may be late with that, and
        // a client late with its connection.
        let answered = requests.iter().filter(|r| r.outcome == Outcome::Answered);
        let taken_in = answered.map(|r| r.connected).max().unwrap_or_default();
        let is_lost = |r: &&Request| match r.outcome {
            Outcome::Answered => false,
            Outcome::Refused => r.ended < told,
            Outcome::Lost(_) => r.connected < closed.min(taken_in),
        };
        let lost = requests.iter().filter(is_lost);
        let lost: Vec<_> = lost.map(|r| (r.slow, told.saturating_sub(r.connected), &r.outcome)).collect();
        assert!(lost.is_empty(), "lost, so long before the server was told: {lost:?}\n{}", log.text);

        let began = draining.time().saturating_sub(draining.elapsed());
        let in_the_delay = requests.iter().filter(|r| r.began > began && r.began < closed).count();
        assert!(in_the_delay >= 40, "only {in_the_delay} requests in the delay");
        let in_flight = requests.iter().filter(|r| r.slow && r.began < closed && r.ended > draining.time()).count();
        assert!(in_flight >= 2, "only {in_flight} slow requests were in flight when the drain began");
        assert!(requests.iter().any(|r| r.outcome == Outcome::Refused), "the port was never closed");
    }

    /// From the stop signal to the last answer, as the clients saw it.
    fn last_answer(&self) -> Duration {
        let draining = self.stopped.log.phase("draining");
        let answered = self.requests.iter().filter(|r| r.outcome == Outcome::Answered);
        let began = draining.time().saturating_sub(draining.elapsed());
        answered.map(|r| r.ended).max().unwrap().saturating_sub(began)
    }
}

#[test]
fn nginx_stopped_under_load_answers_everything_and_waits_for_nothing_else() {
    in_a_container("nginx_stopped_under_load_answers_everything_and_waits_for_nothing_else", |slot| {
        // A wait of ours would be there each time; that this machine has no time for us is not.
        let waits_for_nothing_else = (0..5).any(|_| {
            let watched = stop_under_load(slot, &start_nginx(slot, &[], &AMPLE));
            watched.assert_nothing_was_lost("SIGQUIT to nginx[");
            let Stopped { log, took, .. } = &watched.stopped;
            let gone = log.phase("gone").elapsed();
            // Delay, then the real drain, and no more: the drain ends with the last answer.
            let idle = gone.saturating_sub(watched.last_answer());
            let engine = took.saturating_sub(gone);
            let figures = format!(
                "stop {gone:.2?} = delay {DELAY:?} + drain {:.2?}, of it after the last answer {idle:.2?}; docker stop {engine:.2?} more",
                gone.saturating_sub(DELAY)
            );
            tell(&format!("containers: nginx: {} requests; {figures}", watched.requests.len()));
            idle <= Duration::from_millis(100) && engine <= Duration::from_secs(1)
        });
        assert!(waits_for_nothing_else, "see the figures above");
    });
}

#[test]
fn a_drain_timeout_that_is_too_short_ends_in_137_and_the_log_says_who_was_killed() {
    in_a_container("a_drain_timeout_that_is_too_short_ends_in_137_and_the_log_says_who_was_killed", |slot| {
        let container = start_nginx(slot, &[], &["--delay", "1s", "--drain-timeout", "300ms"]);
        let Watched { stopped, requests } = stop_under_load(slot, &container);
        let log = &stopped.log;
        assert_eq!(stopped.code, 137, "{}", log.text);
        assert!(log.text.contains("the drain did not end within 300ms"), "{}", log.text);
        assert!(log.text.contains("\"killed\":\"nginx["), "{}", log.text);
        assert_eq!(log.phase("gone").get("during"), "killing", "{}", log.text);
        let killed = log.phase("killing");
        assert!(killed.elapsed() >= DELAY + Duration::from_millis(300), "{}", log.text);
        // That is what it costs: slow requests that were sent in time were cut.
        let cut = |r: &&Request| r.slow && r.began < killed.time() && matches!(r.outcome, Outcome::Lost(_));
        assert!(requests.iter().filter(cut).count() >= 1, "{}", log.text);
    });
}

#[test]
fn httpd_stopped_with_winch_gets_its_delay() {
    in_a_container("httpd_stopped_with_winch_gets_its_delay", |slot| {
        let config = format!("/etc/it/{}/httpd.conf", slot.number);
        let command = ["apache2", "-DFOREGROUND", "-f", &config];
        let container = Container::start(slot, &["--stop-signal", "SIGWINCH"], &AMPLE, &command);
        let watched = stop_under_load(slot, &container);
        watched.assert_nothing_was_lost("SIGWINCH to apache2[");
        assert_eq!(watched.stopped.log.phase("lame-duck").get("signal"), "SIGWINCH");
    });
}

#[test]
fn haproxy_stopped_with_usr1_gets_its_delay() {
    in_a_container("haproxy_stopped_with_usr1_gets_its_delay", |slot| {
        let config = format!("/etc/it/{}/haproxy.cfg", slot.number);
        let command = ["haproxy", "-W", "-db", "-f", &config];
        let container = Container::start(slot, &["--stop-signal", "SIGUSR1"], &AMPLE, &command);
        let watched = stop_under_load(slot, &container);
        watched.assert_nothing_was_lost("SIGUSR1 to haproxy[");
        assert_eq!(watched.stopped.log.phase("lame-duck").get("signal"), "SIGUSR1");
    });
}

#[test]
fn nginx_behind_a_shell_is_stopped_like_nginx() {
    in_a_container("nginx_behind_a_shell_is_stopped_like_nginx", |slot| {
        let command = ["sh", "-c", &format!("true; {}; exit $?", nginx(slot).join(" "))];
        let watched = stop_under_load(slot, &Container::start(slot, &[], &AMPLE, &command));
        watched.assert_nothing_was_lost("SIGQUIT to nginx[");
    });
}

#[test]
fn a_process_of_docker_exec_that_stays_changes_nothing() {
    in_a_container("a_process_of_docker_exec_that_stays_changes_nothing", |slot| {
        // It is not ours: nobody waits for it. The engine would kill us after a minute.
        let container = start_nginx(slot, &[], &[&AMPLE[..], &["--linger", "10m"]].concat());
        container.exec_something_that_stays();
        let watched = stop_under_load(slot, &container);
        watched.assert_nothing_was_lost("SIGQUIT to nginx[");
    });
}

#[test]
fn nothing_but_the_right_to_run_is_enough() {
    in_a_container("nothing_but_the_right_to_run_is_enough", |slot| {
        let options = [
            &["--read-only", "--tmpfs", "/tmp", "--user", "65534:65534"][..],
            &["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
        ];
        let watched = stop_under_load(slot, &start_nginx(slot, &options.concat(), &AMPLE));
        watched.assert_nothing_was_lost("SIGQUIT to nginx[");
    });
}
