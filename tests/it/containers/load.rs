//! Clients that ask all the time, and the server behind the server that answers slowly.

use super::image::Slot;
use super::log::now;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a slow answer takes: half of it comes at once, the rest after this.
pub(super) const SLOW: Duration = Duration::from_millis(1_200);

/// Clients of each kind.
const CLIENTS: u32 = 4;

/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(10);

/// Clients at work.
pub(super) struct Load {
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Request>>>,
    backend: JoinHandle<()>,
    backend_port: u16,
}

/// A request and what became of it. Times are since 1970.
pub(super) struct Request {
    /// Whether it was one that takes [`SLOW`].
    pub(super) slow: bool,
    /// When the client began to connect.
    pub(super) began: Duration,
    /// When it was let in by the kernel; when it knew that it was not.
    pub(super) connected: Duration,
    /// When it had its answer, or knew that there would be none.
    pub(super) ended: Duration,
    /// What it got.
    pub(super) outcome: Outcome,
}

/// What a request got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The whole answer.
    Answered,
    /// Nobody listened any more.
    Refused,
    /// It was let in, and then there was no answer, or half of one.
    Lost(String),
}

// === impl Load ===

impl Load {
    /// Begins to ask the server of `slot`.
    pub(super) fn start(slot: Slot) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let listener = TcpListener::bind(("127.0.0.1", slot.backend)).expect("the backend's port is free");
        let backend_over = Arc::clone(&over);
        let backend = thread::spawn(move || answer_slowly(&listener, &backend_over));
        let clients = (0..2 * CLIENTS).map(|number| {
            let over = Arc::clone(&over);
            thread::spawn(move || ask_until_refused(slot.port, number % 2 == 1, &over))
        });
        Self { clients: clients.collect(), over, backend, backend_port: slot.backend }
    }

    /// The book, once every request has come to its end.
    pub(super) fn end(self) -> Vec<Request> {
        self.over.store(true, Ordering::SeqCst);
        let requests = self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        // Wakes the backend, which looks whether it is over after each connection.
        let _ = TcpStream::connect(("127.0.0.1", self.backend_port));
        self.backend.join().unwrap();
        requests
    }
}

/// Asks again and again, until nobody listens or it is over.
fn ask_until_refused(port: u16, slow: bool, over: &AtomicBool) -> Vec<Request> {
    let mut requests = Vec::new();
    while !over.load(Ordering::SeqCst) {
        let began = now();
        let (connected, outcome) = ask(port, slow);
        let refused = outcome == Outcome::Refused;
        requests.push(Request { slow, began, connected, ended: now(), outcome });
        if refused {
            break;
        }
        thread::sleep(PAUSE);
    }
    requests
}

fn ask(port: u16, slow: bool) -> (Duration, Outcome) {
    let stream = TcpStream::connect(("127.0.0.1", port));
    let connected = now();
    let stream = match stream {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return (connected, Outcome::Refused),
        Err(error) => return (connected, Outcome::Lost(error.to_string())),
    };
    let outcome = match exchange(stream, if slow { "/slow" } else { "/index.txt" }) {
        Ok(answer) if answer.starts_with("HTTP/1.1 200") && answer.contains("done") => Outcome::Answered,
        Ok(answer) => Outcome::Lost(answer),
        Err(error) => Outcome::Lost(error.to_string()),
    };
    (connected, outcome)
}

fn exchange(mut stream: TcpStream, path: &str) -> io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(15)))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The backend: the head and half a body at once, the rest later.
fn answer_slowly(listener: &TcpListener, over: &AtomicBool) {
    thread::scope(|threads| {
        for stream in listener.incoming().flatten() {
            if over.load(Ordering::SeqCst) {
                break;
            }
            threads.spawn(move || answer(stream));
        }
    });
}

/// A client that went away is the client's affair, and seen there.
fn answer(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let asked = Instant::now();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n";
    if stream.read(&mut request).is_ok() && stream.write_all(format!("{head}half ").as_bytes()).is_ok() {
        thread::sleep(SLOW.saturating_sub(asked.elapsed()));
        let _ = stream.write_all(b"done\n");
    }
}
