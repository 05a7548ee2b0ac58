//! The traffic of the delay: what is seen of it, what the report says, and who may look.

mod hold;
mod places;
mod quiet;
mod report;
mod servers;
mod shared;
mod unasked;

use crate::support::files::{TempDir, tempdir};
use crate::support::{Init, LIMIT, Running, fixtures, scaled, schema};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server that has no handler, under lameduck, in a network of its own; with a report.
struct Watched {
    run: Running,
    port: u16,
    dir: TempDir,
}

/// A client on one kept-alive connection.
struct Client {
    stream: TcpStream,
}

// === impl Watched ===

impl Watched {
    /// The server of the tests in the network that everybody shares.
    fn start(flags: &[&str], environ: &[(&str, &str)]) -> Self {
        Self::start_in(Init::new(), flags, environ)
    }

    fn start_in(init: Init, flags: &[&str], environ: &[(&str, &str)]) -> Self {
        Self::run(init.python(fixtures::THINKING, &[]), flags, environ)
    }

    /// In a network of its own, where nobody else's connections count for anything.
    fn alone(flags: &[&str]) -> Self {
        Self::start_in(Init::new().own_network(), flags, &[])
    }

    /// Whatever command was given.
    fn run(init: Init, flags: &[&str], environ: &[(&str, &str)]) -> Self {
        let dir = tempdir();
        // Whoever the server and lameduck are, the report is theirs to write.
        let report = dir.file("report.json", "", 0o666);
        let init = environ.iter().fold(init, |init, (name, value)| init.env(name, value));
        let mut run = init.flags(["--report", &report]).flags(flags).spawn();
        let port = u16::try_from(run.told("port")).unwrap();
        Self { run, port, dir }
    }

    fn client(&self) -> Client {
        Client { stream: self.run.connect(&format!("127.0.0.1:{}", self.port)) }
    }

    /// Sends requests, `count` of them, a pause between two: with curl's like, each on a connection of
    /// its own.
    fn requests(&self, count: u32, pause: &str) {
        self.requests_to(self.port, count, pause);
    }

    /// The same to another port.
    fn requests_to(&self, port: u16, count: u32, pause: &str) {
        let script = format!(
            "import socket, time\nfor _ in range({count}):\n  s = socket.create_connection(('127.0.0.1', {port}))\n  \
             s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')\n  assert s.recv(999)\n  s.close()\n  time.sleep({pause})"
        );
        let command = &["/usr/bin/python3", "-c", &script];
        assert!(self.run.inside_its_network(command).status().unwrap().success());
    }

    /// The stop signal; returns when it was said.
    fn stop(&mut self) -> Instant {
        let began = Instant::now();
        self.run.signal(nix::libc::SIGTERM);
        self.run.expect_stderr("serving on");
        began
    }

    /// Ends a delay that has lasted as long as was needed, and waits for the end; what the report says.
    fn hurried(&mut self) -> Value {
        self.run.hurry();
        self.ended()
    }

    /// Waits for the end; what the report says of the traffic.
    fn ended(&mut self) -> Value {
        self.run.expect_exit(143);
        self.traffic()
    }

    fn traffic(&self) -> Value {
        let text = std::fs::read_to_string(self.dir.path.join("report.json")).unwrap();
        schema::report(&text)["traffic"].clone()
    }

    fn log(&mut self) -> String {
        self.run.stderr()
    }
}

// === impl Client ===

impl Client {
    fn ask(&mut self, path: &str) {
        self.stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    }

    /// Whether the answer comes whole.
    fn is_answered(&mut self) -> bool {
        self.stream.set_read_timeout(Some(scaled(LIMIT))).unwrap();
        let mut answer = [0; 44];
        self.stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"hello\n")
    }

    /// One request after the other, for so long; how many there were.
    fn busy(&mut self, time: Duration) -> u64 {
        let began = Instant::now();
        let mut count = 0;
        while began.elapsed() < time {
            self.ask("/");
            assert!(self.is_answered());
            count += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        count
    }
}

/// A number of seconds in the report.
fn seconds(value: &Value) -> Duration {
    Duration::from_secs_f64(value.as_f64().unwrap_or_else(|| panic!("no number: {value}")))
}
