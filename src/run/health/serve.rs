//! Taking connections: not too many at once, and one at a time.

use super::{Asked, connection};
use crate::sys;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, yield_now};

/// The most connections at once. Probes take milliseconds and come by the second.
const MOST: usize = 64;

/// A pause when no descriptor or memory is left for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until that fails for good, and returns how.
pub(super) async fn serve(listener: &TcpListener, asked: &Arc<Asked>) -> io::Error {
    let most = most_at_once(sys::process::most_descriptors());
    // In the order in which they came.
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    let mut complained = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= most {
                    drop_oldest(&mut open);
                }
                open.push_back(tokio::spawn(connection::serve(stream, Arc::clone(asked))));
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(error) if will_pass(&error) => {
                if !complained {
                    asked.complain(&format!("a connection has to wait: {error}"));
                    complained = true;
                }
                drop_oldest(&mut open);
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return error,
        }
        // One connection, then whatever else there is to do.
        yield_now().await;
    }
}

/// The longest open one makes room: a probe is done long before it is that, so that those who hold
/// connections open only push out each other.
fn drop_oldest(open: &mut VecDeque<JoinHandle<()>>) {
    if let Some(oldest) = open.pop_front() {
        oldest.abort();
    }
}

/// At most a quarter of all descriptors: the stop needs some to look at the processes.
fn most_at_once(descriptors: usize) -> usize {
    MOST.min(descriptors / 4).max(1)
}

/// The connection failed before it was taken: errors of the network that accept(2) passes on.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw),
        Some(
            Errno::ECONNABORTED
                | Errno::EINTR
                | Errno::EPROTO
                | Errno::ENOPROTOOPT
                | Errno::ENETDOWN
                | Errno::ENETUNREACH
                | Errno::EHOSTDOWN
                | Errno::EHOSTUNREACH
                | Errno::ENONET
        )
    )
}

fn will_pass(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw),
        Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_is_left_descriptors_enough() {
        for (descriptors, expected) in [(0, 1), (7, 1), (20, 5), (256, 64), (1 << 20, 64)] {
            assert_eq!(most_at_once(descriptors), expected);
        }
    }
}
