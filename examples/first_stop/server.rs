//! The server: a thread for each request, and a graceful stop on SIGTERM as a good server has it:
//! take no more, answer what was taken, leave.

use nix::sys::signal::{SigSet, Signal};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long a slow request takes.
pub(crate) const SLOW: Duration = Duration::from_millis(900);

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

/// Serves until SIGTERM and then until all that was asked is answered.
pub(crate) fn serve() -> io::Result<()> {
    // Blocked before any thread is there, so that it waits for the one that asks for it.
    let mut stop_signals = SigSet::empty();
    stop_signals.add(Signal::SIGTERM);
    stop_signals.thread_block()?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    println!("{}", address.port());
    crate::flush();

    let stopping = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            if stop_signals.wait().is_ok() {
                stopping.store(true, Ordering::SeqCst);
                // Wakes `accept`; that it may fail when there are no descriptors left is all right,
                // as the next request wakes it too.
                let _ = TcpStream::connect(address);
            }
        });
        for stream in listener.incoming() {
            if let Ok(stream) = stream {
                threads.spawn(move || answer(stream));
            }
            if stopping.load(Ordering::SeqCst) {
                break;
            }
        }
        // Those who are connected already are answered; from the end of this function on, nobody
        // else gets in. The scope then waits for the answers: that is the drain.
        if listener.set_nonblocking(true).is_ok() {
            while let Ok((stream, _)) = listener.accept() {
                threads.spawn(move || answer(stream));
            }
        }
        drop(listener);
    });
    Ok(())
}

/// One request. A client that goes away is its own problem.
fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    // To the end of the request: closing a connection with something unread on it resets it, and
    // the answer is lost.
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => request.extend_from_slice(&piece[..length]),
            _ => return,
        }
    }
    if request.starts_with(b"GET /slow ") {
        thread::sleep(SLOW);
    }
    let _ = stream.write_all(ANSWER);
}
