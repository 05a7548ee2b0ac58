//! Reading and writing in small steps, each of which leaves the thread to others.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio::task::yield_now;

/// What is read in one step.
const STEP: usize = 2048;

/// No more than this is read of what nobody wants to know, in bytes: it only keeps the kernel from
/// cutting our answer off, which it does when a socket is closed with something unread in it.
const MOST_THROWN_AWAY: usize = 256 * 1024;

/// Adds what has come to `bytes`, at most up to `most` in all; false at the end of the stream.
pub(super) async fn read(stream: &TcpStream, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut chunk = [0; STEP];
    let room = chunk.get_mut(..most.saturating_sub(bytes.len()).min(STEP)).unwrap_or_default();
    loop {
        // Somebody who sends without end is read a step at a time, as everybody else.
        yield_now().await;
        stream.readable().await?;
        match stream.try_read(room) {
            Ok(length) => {
                bytes.extend(room.iter().take(length));
                return Ok(length > 0);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes all of it.
pub(super) async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Says that nothing more will be written, and waits for the other side to close.
pub(super) async fn close(mut stream: TcpStream) -> io::Result<()> {
    poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await?;
    let mut unwanted = Vec::new();
    let mut thrown_away = 0;
    while thrown_away < MOST_THROWN_AWAY && read(&stream, &mut unwanted, STEP).await? {
        thrown_away += unwanted.len();
        unwanted.clear();
    }
    Ok(())
}
