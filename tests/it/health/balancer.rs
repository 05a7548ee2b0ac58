//! What it is for: a balancer that learns from nothing but its own health checks.
//!
//! HAProxy in front of two nginx, which are replaced one after the other under load. It takes one out
//! after two failed checks, and passes on nothing twice.

use crate::servers::nginx_at;
use crate::support::files::{TempDir, tempdir};
use crate::support::{Running, free_port, http, tell, until};
use nix::libc;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A backend's place: its port, and that of its health.
#[derive(Clone, Copy)]
struct Place {
    name: &'static str,
    port: u16,
    health: u16,
}

/// HAProxy.
struct Balancer {
    front: u16,
    stats: u16,
    process: Child,
    _files: TempDir,
}

/// Requests, 100 a second, and how many of them were lost.
struct Load {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    lost: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Both.
struct Site {
    load: Load,
    balancer: Balancer,
}

// === impl Place ===

impl Place {
    fn new(name: &'static str) -> Self {
        Self { name, port: free_port(), health: free_port() }
    }

    fn start(self, flags: &[&str]) -> Running {
        let listen = format!("127.0.0.1:{}", self.health);
        nginx_at(self.port, &[&["--health-listen", &listen], flags].concat()).0
    }
}

// === impl Balancer ===

impl Balancer {
    fn start(places: [Place; 2]) -> Self {
        let (files, front, stats) = (tempdir(), free_port(), free_port());
        let servers = places.map(|Place { name, port, health }| {
            format!("  server {name} 127.0.0.1:{port} check port {health} inter 100ms fall 2 rise 1\n")
        });
        let config = format!(
            "defaults\n  mode http\n  timeout connect 20s\n  timeout client 20s\n  timeout server 20s\n  timeout check 20s\n\
             \x20 retries 0\n\
             frontend stats\n  bind 127.0.0.1:{stats}\n  stats enable\n  stats uri /\n\
             frontend front\n  bind 127.0.0.1:{front}\n  default_backend back\n\
             backend back\n  option httpchk GET /readyz\n{}",
            servers.concat()
        );
        let config = files.file("haproxy.cfg", config, 0o644);
        let mut haproxy = Command::new("haproxy");
        let process = haproxy.args(["-db", "-f", &config]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { front, stats, process, _files: files }
    }

    /// `UP`, `DOWN`, or on its way to one of them: what HAProxy thinks of a backend.
    fn thinks(&self, place: Place) -> String {
        let table = http::get(self.stats, "/;csv").map(|answer| answer.body).unwrap_or_default();
        let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row.starts_with(&["back", place.name]));
        row.and_then(|row| row.get(17).map(|status| (*status).to_owned())).unwrap_or_default()
    }
}

// === impl Load ===

impl Load {
    fn start(port: u16) -> Self {
        let over = Arc::<AtomicBool>::default();
        let (sent, lost) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let client = |_| {
            let (over, sent, lost) = (Arc::clone(&over), Arc::clone(&sent), Arc::clone(&lost));
            std::thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    sent.fetch_add(1, Ordering::SeqCst);
                    if !http::get(port, "/").is_ok_and(|answer| answer.code == 200) {
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                    std::thread::sleep(Duration::from_millis(40));
                }
            })
        };
        let clients = (0..4).map(client).collect();
        Self { over, sent, lost, clients }
    }

    fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }

    /// Sent and lost.
    fn end(mut self) -> (usize, usize) {
        self.over.store(true, Ordering::SeqCst);
        for client in self.clients.drain(..) {
            client.join().unwrap();
        }
        (self.sent.load(Ordering::SeqCst), self.lost())
    }
}

/// Replaces the backends in turn, so many times in all; `until_noticed` is how a stop is let go on once it
/// has begun. Returns how many requests were sent, and how many lost.
fn replace(times: usize, flags: &[&str], until_noticed: impl Fn(&Site, Place, &mut Running)) -> (usize, usize) {
    let places = [Place::new("a"), Place::new("b")];
    let balancer = Balancer::start(places);
    let up = |balancer: &Balancer, place| until("HAProxy sees it up", || balancer.thinks(place) == "UP");
    let mut backends = places.map(|place| place.start(flags));
    for place in places {
        up(&balancer, place);
    }
    let site = Site { load: Load::start(balancer.front), balancer };
    for time in 0..times {
        let place = places[time % 2];
        let backend = &mut backends[time % 2];
        backend.signal(libc::SIGTERM);
        until_noticed(&site, place, backend);
        backend.expect_exit(0);
        *backend = place.start(flags);
        up(&site.balancer, place);
    }
    site.load.end()
}

#[test]
fn a_balancer_that_only_checks_loses_nothing_when_readiness_goes_first() {
    needs!("nginx", "haproxy");
    let (sent, lost) = replace(2, &["--delay", "10m"], |site, place, backend| {
        until("HAProxy sees it down", || site.balancer.thinks(place).starts_with("DOWN"));
        backend.hurry();
    });
    assert!(sent > 20 && lost == 0, "{lost} of {sent} lost");
}

#[test]
fn a_balancer_that_only_checks_loses_requests_when_readiness_stays() {
    needs!("nginx", "haproxy");
    let (sent, lost) = replace(2, &["--delay", "10m", "--unready", "never"], |site, place, backend| {
        // Ten checks later it still knows nothing.
        backend.goes_on_for(Duration::from_secs(1));
        assert!(site.balancer.thinks(place).starts_with("UP"));
        // With this in flight, its port is closed for as long as it takes until somebody comes.
        let _slow = http::send(u32::from(place.port), "/slower").unwrap();
        let before = site.load.lost();
        backend.hurry();
        until("a request is lost", || site.load.lost() > before);
    });
    assert!(lost > 0, "none of {sent} lost: the test of the flip could not fail");
}

/// `cargo test --test it balancer -- --ignored`
#[test]
#[ignore = "twenty replacements in real time: needs a machine that is not busy"]
fn ten_replacements_with_a_delay_longer_than_the_checks_take_lose_nothing() {
    needs!("nginx", "haproxy");
    // Two checks, 100 ms apart, of at most 1 s.
    let figures = |unready: &str| replace(10, &["--delay", "2s", "--unready", unready], |_, _, _| {});
    let ((sent, lost), (sent_never, lost_never)) = (figures("start"), figures("never"));
    tell(&format!("10 replacements: {lost} of {sent} lost; with --unready never {lost_never} of {sent_never}"));
    assert!(lost == 0 && lost_never > 0);
}
