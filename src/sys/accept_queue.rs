//! How many connections wait to be accepted on a listening socket of ours.

use super::check;
use nix::libc;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// `tcp_info` as far as `tcpi_unacked`, in words of 32 bits: the kernel writes no more than is asked for.
const WORDS: usize = 7;

/// How many there are. In `tcpi_unacked`, which a listening socket has no other use for.
///
/// # Errors
/// Those of `getsockopt`: it is no TCP socket, or a sandbox does not know it.
pub fn waiting(listener: &impl AsFd) -> io::Result<u32> {
    let mut info = [0_u32; WORDS];
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).unwrap_or_default();
    // SAFETY: the descriptor is open; the words and their length in bytes live through the call.
    check(unsafe {
        libc::getsockopt(
            listener.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(info.last().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn those_that_were_accepted_wait_no_more() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert_eq!(waiting(&listener).unwrap(), 0);
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let settled = || waiting(&listener).unwrap();
        while settled() < 3 {
            std::thread::yield_now();
        }
        let accepted = listener.accept().unwrap();
        assert_eq!(settled(), 2);
        drop((clients, accepted));
        assert!(waiting(&std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
