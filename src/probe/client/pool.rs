//! The kept connections of one target.

use super::wire::{Trace, Wire};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that are kept. A balancer sees a crowd of clients in them, and a file table has room.
const MOST: usize = 128;

/// An open connection, ready for a request.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Empty<Bytes>>,
    pub(super) trace: Arc<Trace>,
}

/// The connections that wait for their next request.
#[derive(Default)]
pub(super) struct Pool(Mutex<VecDeque<Connection>>);

// === impl Connection ===

impl Connection {
    /// Speaks HTTP on a stream.
    pub(super) async fn new(stream: super::wire::Stream) -> hyper::Result<Self> {
        let (wire, trace) = Wire::new(stream);
        let (sender, driver) = http1::handshake(wire).await?;
        // Its end is seen by whoever waits for an answer, and by the trace.
        tokio::spawn(async move { driver.await.ok() });
        Ok(Self { sender, trace })
    }
}

// === impl Pool ===

impl Pool {
    /// The one that has waited longest: so all of them stay in use, as those of many clients would, and
    /// a server that forgets one is noticed.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let connection = waiting.pop_front()?;
            if !connection.sender.is_closed() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for later, once it is done with its last request, unless the server closes it.
    pub(super) async fn keep(&self, mut connection: Connection) {
        if connection.sender.ready().await.is_ok() {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() < MOST {
                waiting.push_back(connection);
            }
        }
    }
}
