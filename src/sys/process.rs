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
/// Without `/proc` the descriptors stay open, as in every other init.
pub fn let_go_of_what_was_given() {
    let numbers = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let given: Vec<libc::c_int> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > libc::STDERR_FILENO)
        .filter(|fd| is_passed_on(*fd))
        .collect();
    // SAFETY: plain system calls; no object of ours owns one of these descriptors.
    unsafe {
        for fd in given {
            libc::close(fd);
        }
        libc::chdir(c"/".as_ptr());
    }
}

/// Whether a descriptor goes through an exec. What we opened ourselves is told from what was given by that:
/// close-on-exec was not set on what came through our own exec, and is set on all of ours.
#[must_use]
pub fn is_passed_on(fd: libc::c_int) -> bool {
    // SAFETY: a plain system call that takes no pointer. One that is not open fails with all bits set.
    unsafe { libc::fcntl(fd, libc::F_GETFD) & libc::FD_CLOEXEC == 0 }
}

/// So much of the stack below us may have been used, in bytes: reading a command line takes about 16 KB.
/// The kernel keeps the 256 pages below a stack free of anything else (`stack_guard_gap`), four times this.
const STACK_USED: usize = 256 * 1024;

/// A page. Where pages are larger the kernel refuses, and nothing is given back.
const PAGE: usize = 4096;

/// Gives back to the kernel what was freed on the heap, where the C library can do so, and what is unused
/// of the stack: both stay in memory otherwise, for as long as the server runs.
pub fn give_back_memory() {
    give_back_stack();
    #[cfg(target_env = "gnu")]
    // SAFETY: the allocator's own function: it touches free memory only, and we are its only thread.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// What lies deeper on the stack than we do is left over from calls that have returned.
#[inline(never)]
fn give_back_stack() {
    let here = 0_u8;
    // What is left is for this frame, that of the call, and what may be used below a stack pointer.
    let end = (&raw const here).addr().saturating_sub(1024) & !(PAGE - 1);
    let start = end.saturating_sub(STACK_USED);
    // SAFETY: nobody holds anything there: no frame is alive below this one but that of the call, which
    // is above `end`; and nothing but this stack is there, so far down as it is mapped at all. The rest
    // is ENOMEM, which stops nothing.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), end - start, libc::MADV_DONTNEED) };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of the memory around an address is really there, in kilobytes.
    fn resident_around(address: usize) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines();
        let around = |line: &str| {
            let (start, end) = line.split_once(' ')?.0.split_once('-')?;
            let edge = |text| usize::from_str_radix(text, 16).ok();
            Some((edge(start)?..edge(end)?).contains(&address))
        };
        lines.find(|line| around(line) == Some(true)).unwrap();
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim_end_matches("kB").trim().parse().unwrap()
    }

    #[inline(never)]
    #[allow(clippy::large_stack_arrays, reason = "it is about a stack that was used")]
    fn use_stack() -> u8 {
        let used = std::hint::black_box([1_u8; 200 * 1024]);
        used.iter().fold(0, |sum, byte| sum ^ byte)
    }

    #[test]
    fn the_stack_that_was_used_is_given_back_and_what_is_in_use_stays() {
        let kept = std::hint::black_box([7_u8; 4096]);
        let here = (&raw const kept).addr();
        assert_eq!(use_stack(), 0);
        let before = resident_around(here);
        give_back_memory();
        let after = resident_around(here);
        assert!(before >= after + 100, "{before} KB, then {after}");
        assert_eq!((kept, use_stack()), ([7; 4096], 0));
    }
}
