//! The codec against live sockets, another's decoder and broken bytes; the dump against a kernel that
//! misbehaves; the watch from end to end; what a sample costs.

mod fuzz;
mod live;
mod misbehaving;

use super::sock_diag::{Message, Socket, messages};

/// The sockets of a datagram, whatever it answers.
fn sockets(datagram: &[u8], sequence: u32) -> Vec<Socket> {
    let sockets = messages(datagram, sequence).filter_map(|message| match message {
        Message::Socket(socket) => Some(socket),
        _ => None,
    });
    sockets.collect()
}
