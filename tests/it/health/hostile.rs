//! Those who mean harm, or are just slow: they cost nobody else anything.

use super::{listening, until_ready};
use crate::support::{Init, LIMIT, Running, be_nice, fixtures, http, scaled, tell, until};
use nix::libc;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The four kinds: a head byte by byte, nothing at all, garbage, a head of a megabyte.
const KINDS: usize = 4;

/// Connections that are made again as soon as they are cut, until this is dropped.
struct Attack {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

// === impl Attack ===

impl Attack {
    fn start(port: u16, connections: usize) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let attacker = |number: usize| {
            let over = Arc::clone(&over);
            std::thread::Builder::new()
                .stack_size(64 * 1024)
                .spawn(move || {
                    // What is measured is what it costs lameduck, not the machine.
                    be_nice();
                    while !over.load(Ordering::SeqCst) {
                        // Being cut off is what it is for.
                        let _ = attack(port, number % KINDS, &over);
                        std::thread::sleep(Duration::from_millis(200));
                    }
                })
                .unwrap()
        };
        let threads = (0..connections).map(attacker).collect();
        Self { over, threads }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn attack(port: u16, kind: usize, over: &AtomicBool) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    match kind {
        0 => {
            for byte in b"GET /readyz HTTP/1.1\r\nX: ".iter().chain(std::iter::repeat(&b'a')) {
                stream.write_all(&[*byte])?;
                std::thread::sleep(Duration::from_millis(10));
                if over.load(Ordering::SeqCst) {
                    break;
                }
            }
        }
        1 => {
            while !over.load(Ordering::SeqCst) {
                match stream.read(&mut [0]) {
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    _ => break,
                }
            }
        }
        2 => stream.write_all(&[0x16, 3, 1, 0xff, 0, 0xff].repeat(500))?,
        _ => {
            stream.write_all(b"GET / HTTP/1.1\r\nX: ")?;
            stream.write_all(&vec![b'a'; 1 << 20])?;
        }
    }
    let _ = stream.read(&mut [0; 512]);
    Ok(())
}

fn open_descriptors(run: &Running) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", run.pid)).unwrap().count()
}

fn recorder(init: Init) -> Running {
    let mut run = init.python(fixtures::RECORDER, &["15=4"]).spawn();
    run.expect_stdout("ready\n");
    run
}

#[test]
fn two_hundred_hostile_connections_keep_nobody_from_anything() {
    needs!();
    let _alone = crate::support::alone();
    let (init, port) = listening(&["--delay", "300ms"]);
    let mut run = recorder(init);
    until_ready(&mut run, port, 200);
    let attack = Attack::start(port, 200);
    until("as many as may are there", || open_descriptors(&run) >= 100);
    for round in 1..=20 {
        // On a machine that has no time for anybody, one may be pushed out; not again and again.
        until_ready(&mut run, port, 200);
        // 128, those that are being closed, and our own; not one for each of those who ask.
        assert!(open_descriptors(&run) <= 170, "{}", open_descriptors(&run));
        run.signal(libc::SIGUSR1);
        run.expect_stdout_times("got 10\n", round);
    }
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 300ms");
    run.expect_stdout("got 15\n");
    run.expect_exit(4);
    drop(attack);
    assert!(!run.stderr().contains("health"), "{}", run.stderr());
}

#[test]
fn a_head_without_end_is_refused_and_a_slow_one_cut_off() {
    needs!();
    let (init, port) = listening(&[]);
    let mut run = recorder(init);
    until_ready(&mut run, port, 200);
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(9_000));
    assert_eq!(http::ask(("127.0.0.1", port), &long).unwrap().code, 431);
    let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
    slow.set_read_timeout(Some(scaled(LIMIT))).unwrap();
    slow.write_all(b"GET / HT").unwrap();
    assert_eq!(slow.read(&mut [0; 64]).unwrap(), 0, "a request that never ends was answered");
}

/// How long it takes from sending a signal to the server's having it.
fn forwarding(run: &mut Running, times: usize) -> Vec<Duration> {
    let heard = run.stdout().matches("got 10\n").count();
    (1..=times)
        .map(|round| {
            let began = Instant::now();
            run.signal(libc::SIGUSR1);
            run.expect_stdout_times("got 10\n", heard + round);
            began.elapsed()
        })
        .collect()
}

/// Run alone, and for the figures: `cargo test --test it hostile -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement: needs a machine that does nothing else"]
fn two_hundred_hostile_connections_add_at_most_five_milliseconds_to_forwarding() {
    needs!();
    let (init, port) = listening(&[]);
    let mut run = recorder(init);
    until_ready(&mut run, port, 200);
    let at = |took: &[Duration], hundredth: usize| took[(took.len() * hundredth / 100).min(took.len() - 1)];
    let (mut before, mut under_attack) = (Vec::new(), Vec::new());
    // In turns, so that both see the same machine.
    for _ in 0..10 {
        before.extend(forwarding(&mut run, 200));
        let attack = Attack::start(port, 200);
        until("as many as may are there", || open_descriptors(&run) >= 100);
        under_attack.extend(forwarding(&mut run, 200));
        drop(attack);
    }
    before.sort();
    under_attack.sort();
    for (what, took) in [("alone", &before), ("under attack", &under_attack)] {
        tell(&format!(
            "forwarding, {what}: median {:.2?}, p99 {:.2?}, most {:.2?}",
            at(took, 50),
            at(took, 99),
            at(took, 100)
        ));
    }
    assert!(at(&under_attack, 99) <= at(&before, 99) + Duration::from_millis(5));
}
