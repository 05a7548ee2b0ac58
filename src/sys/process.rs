//! Our own process: its id, its place among others, its end.

use super::check;
use crate::core::{Pid, Signal};
use nix::libc;
use std::io;
use std::time::Duration;

/// Our process id; 1 when we are the init of a PID namespace.
#[must_use]
pub fn own_pid() -> Pid {
    nix::unistd::getpid().as_raw()
}

/// Makes orphans of our descendants our children, as they are of PID 1 anyway.
///
/// # Errors
/// Some sandboxes forbid it.
pub fn become_subreaper() -> io::Result<()> {
    nix::sys::prctl::set_child_subreaper(true).map_err(io::Error::from)
}

/// Has the kernel send us `signal` when our parent ends.
///
/// # Errors
/// Those of `prctl(PR_SET_PDEATHSIG)`.
pub fn set_parent_death_signal(signal: Signal) -> io::Result<()> {
    // nix takes its own `Signal` here, which has no real-time signals.
    // SAFETY: a plain system call on our own process; no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal.number()) }).map(drop)
}

/// So many descriptors this process may have open at most.
#[must_use]
pub fn most_descriptors() -> usize {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills a struct of ours. It cannot fail for this resource; if it did, that is none.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) };
    usize::try_from(limits.rlim_cur).unwrap_or(usize::MAX)
}

/// Lets go of the working directory and of every descriptor but the three streams: the server has
/// its own copies, and ours would keep a file system busy, or a pipe open that the server has closed.
///
/// What we opened ourselves is told from what was given by close-on-exec: that was not set on what
/// came through our own exec, and is set on all of ours. Without `/proc` the descriptors stay open, as
/// in every other init.
pub fn let_go_of_what_was_given() {
    let numbers = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let given: Vec<libc::c_int> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > libc::STDERR_FILENO)
        // SAFETY: a plain system call that takes no pointer.
        .filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } & libc::FD_CLOEXEC == 0)
        .collect();
    // SAFETY: plain system calls; no object of ours owns one of these descriptors.
    unsafe {
        for fd in given {
            libc::close(fd);
        }
        libc::chdir(c"/".as_ptr());
    }
}

/// Gives back to the kernel what was freed on the heap, where the C library can do so.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the allocator's own function: it touches free memory only, and we are its only thread.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Takes the places of the three streams where those are closed: what we open from here on would become
/// one of them, and get what is written to standard error. The server finds them closed as they were.
pub fn take_the_places_of_closed_streams() {
    for stream in libc::STDIN_FILENO..=libc::STDERR_FILENO {
        // SAFETY: plain system calls; the path is a C string. A new descriptor has the lowest free
        // number, which is this one; nobody owns it.
        unsafe {
            if libc::fcntl(stream, libc::F_GETFD) < 0 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            }
        }
    }
}

/// The processor time this thread has used.
#[must_use]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct lives through the call, which fills it or leaves it as it is.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Ends this process at once: no destructors, no exit handlers, nothing that could block.
pub fn exit(code: u8) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(i32::from(code)) }
}
