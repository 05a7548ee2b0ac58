//! The port, opened before the server is started: one that is taken is an error while nothing runs
//! yet.

use crate::cli;
use crate::http::Listen;
use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};

/// So many connections may wait to be taken: as many as std asks for.
const BACKLOG: i32 = 128;

/// Opens the port that was asked for.
///
/// # Errors
/// One line that says why it cannot be had.
pub(in crate::run) fn bind(asked: &cli::Health) -> Result<TcpListener, String> {
    first(asked.listen).map_err(|error| format!("{}: cannot listen on {}: {error}", asked.given_as, asked.listen))
}

/// Opens the first address that this machine has.
///
/// # Errors
/// EADDRINUSE when the port is taken, EACCES when it may not be had, EADDRNOTAVAIL when the address is
/// not one of this machine's.
fn first(listen: Listen) -> io::Result<TcpListener> {
    let mut result = Err(Errno::EADDRNOTAVAIL.into());
    for address in listen.to_bind() {
        result = open(address);
        match &result {
            Err(error) if is_without_family(error) => {}
            _ => break,
        }
    }
    result
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    // Closed on exec: the server gets no descriptor of ours.
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // `[::]` is for both families, whatever net.ipv6.bindv6only says.
        socket.set_only_v6(false)?;
    }
    // Connections of a container before us, in TIME_WAIT, keep nobody from starting.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Whether this machine has no addresses of that family.
fn is_without_family(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn everywhere_is_both_families() {
        let listener = first(Listen::Everywhere(0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        if listener.local_addr().unwrap().is_ipv6() && TcpListener::bind("[::1]:0").is_ok() {
            assert!(TcpStream::connect(("::1", port)).is_ok());
        }
    }

    #[test]
    fn a_port_that_is_taken_is_refused() {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = holder.local_addr().unwrap();
        for listen in [Listen::At(taken), Listen::Everywhere(taken.port())] {
            assert_eq!(first(listen).unwrap_err().kind(), io::ErrorKind::AddrInUse, "{listen}");
        }
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let elsewhere = Listen::At("192.0.2.1:8080".parse().unwrap());
        assert_eq!(first(elsewhere).unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }
}
