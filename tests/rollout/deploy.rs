//! A rolling deploy, as a platform does it: a new backend up, an old one stopped, one after the other.
//! This is the deploy command that the probe runs.

use super::cell::{self, Balancer, Cell, STALE, Stopper};
use super::docker::{IMAGE, Result, address, ask, docker, get, until};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

/// A balancer and its backends.
pub(crate) struct Site {
    pub(crate) cell: Cell,
    /// What the names of all its containers begin with; also that of its network.
    pub(crate) name: String,
    /// The directory with the servers' files, and lameduck.
    pub(crate) files: String,
    pub(crate) balancer: IpAddr,
    /// The number of the newest backend.
    pub(crate) newest: usize,
}

/// The backends at the same time.
pub(crate) const BACKENDS: usize = 2;

/// A backend in its place.
#[derive(Clone, Debug)]
struct Backend {
    name: String,
    place: usize,
}

/// Replaces backends one by one, and tells how each of the old ones ended: one JSON object a line.
pub(crate) fn roll(mut site: Site) -> Result<Vec<Value>> {
    let mut ends = Vec::new();
    let mut serving: Vec<Backend> =
        (1..=BACKENDS).map(|number| Backend { name: site.backend(number), place: number }).collect();
    let mut free = BACKENDS + 1;
    for _ in 0..site.cell.replacements {
        let old = serving.remove(0);
        let new = site.start(free)?;
        say(&format!("{new} is in rotation"));
        serving.push(Backend { name: new, place: free });
        free = old.place;
        // Two backends share the load for a moment: the new one is not measured while it warms up.
        thread::sleep(Duration::from_millis(300));
        ends.push(site.stop(&old)?);
    }
    Ok(ends)
}

// === impl Site ===

impl Site {
    /// The name of a backend.
    pub(crate) fn backend(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    /// Starts a backend and puts it into a place of the balancer.
    pub(crate) fn start(&mut self, place: usize) -> Result<String> {
        self.newest += 1;
        let name = self.backend(self.newest);
        let files = format!("{}:/rollout:ro", self.files);
        let lameduck = format!("{}/lameduck:/usr/bin/lameduck:ro", self.files);
        let signal = format!("--stop-signal=SIG{}", self.cell.stop_signal());
        let network = if self.cell.balancer == Balancer::Sidecar {
            let (side, entry) = (
                format!("{name}-side"),
                "printf '%s' \"$CONFIG\" >/tmp/haproxy.cfg; exec haproxy -W -db -f /tmp/haproxy.cfg",
            );
            let config = format!("CONFIG={}", cell::SIDECAR);
            docker(&["run", "-d", "--name", &side, "--network", &self.name, "-e", &config, IMAGE, "sh", "-c", entry])?;
            format!("container:{side}")
        } else {
            self.name.clone()
        };
        let mut args =
            vec!["run", "-d", "--name", &name, "--network", &network, "-v", &files, "-v", &lameduck, &signal, IMAGE];
        let command = self.cell.command();
        args.extend(command.iter().map(String::as_str));
        docker(&args)?;
        let address = self.address(&name)?;
        let cell = &self.cell;
        let answers = until(format!("{name} answers"), || get(address, cell.health_port(), "/healthz") == Some(200));
        answers.map_err(|why| format!("{why}; it said: {}", docker(&["logs", &name]).unwrap_or_default()))?;
        self.tell(&format!("set server back/s{place} addr {address} port {}", cell.port()))?;
        self.tell(&format!("set server back/s{place} state ready"))?;
        until(format!("the balancer takes {name}"), || {
            self.state(place).is_ok_and(|state| state.starts_with("UP") || state == "no check")
        })?;
        Ok(name)
    }

    /// Stops a backend, and takes it out of the balancer's list when that is due.
    fn stop(&self, old: &Backend) -> Result<Value> {
        say(&format!("docker stop {}", old.name));
        let began = Instant::now();
        thread::scope(|scope| {
            let leave = self.cell.balancer.has_a_list().then(|| {
                scope.spawn(|| {
                    thread::sleep(STALE);
                    self.tell(&format!("set server back/s{} state maint", old.place))
                })
            });
            if self.cell.stopper == Stopper::PreStop {
                docker(&["exec", &old.name, "sleep", &self.cell.delay.as_secs_f64().to_string()])?;
            }
            let grace = self.cell.grace.as_secs().to_string();
            docker(&["stop", "--time", &grace, &old.name])?;
            let seconds = began.elapsed().as_secs_f64();
            let code = docker(&["inspect", "--format", "{{.State.ExitCode}}", &old.name])?;
            say(&format!("{} has gone after {seconds:.1} s with status {code}", old.name));
            if let Some(leave) = leave {
                leave.join().map_err(|_| "the list could not be changed")??;
            } else {
                let out = || self.state(old.place).is_ok_and(|state| state.starts_with("DOWN"));
                until("the health checks fail", out)?;
                self.tell(&format!("set server back/s{} state maint", old.place))?;
            }
            docker(&["rm", "--force", &old.name])?;
            if self.cell.balancer == Balancer::Sidecar {
                docker(&["rm", "--force", &format!("{}-side", old.name)])?;
            }
            Ok(json!({ "code": code.parse::<i64>().ok(), "seconds": seconds }))
        })
    }

    fn address(&self, name: &str) -> Result<IpAddr> {
        if self.cell.balancer == Balancer::Sidecar { address(&format!("{name}-side")) } else { address(name) }
    }

    /// Tells the balancer to do something.
    fn tell(&self, what: &str) -> Result<String> {
        ask(self.balancer, 9999, &format!("{what}\n"))
    }

    /// What the balancer thinks of a place.
    fn state(&self, place: usize) -> Result<String> {
        let table = self.tell("show stat")?;
        let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let at = rows.next().and_then(|names| names.iter().position(|name| *name == "status"));
        let own = rows.find(|row| row.first() == Some(&"back") && row.get(1) == Some(&format!("s{place}").as_str()));
        let state = own.zip(at).and_then(|(row, at)| row.get(at).map(|state| (*state).to_owned()));
        state.ok_or_else(|| format!("the balancer does not know place {place}"))
    }
}

/// A line for the probe, which passes it on.
fn say(line: &str) {
    println!("{line}");
}
