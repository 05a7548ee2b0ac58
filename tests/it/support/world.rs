//! The world that an init is started in: namespaces, descriptors, a terminal. The one place of the
//! tests with bare system calls.

use nix::libc;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// What is needed to start a process, all of it made beforehand: the new process is a copy of a
/// program with many threads, in which nothing may be allocated.
pub(super) struct World {
    pub(super) argv: Vec<CString>,
    pub(super) environ: Vec<CString>,
    /// Descriptors 0, 1 and 2 and those after them; `None` = closed.
    pub(super) fds: Vec<Option<OwnedFd>>,
    /// Whether descriptor 0 becomes the controlling terminal.
    pub(super) terminal: bool,
}

/// Above all descriptors that a test asks for.
const OUT_OF_THE_WAY: i32 = 100;

/// Starts process 1 of a new PID namespace, with `/proc` of its own. It has a session of its own, no
/// descriptors but those given, no signal blocked or ignored, and ends with the thread that called.
///
/// # Errors
/// What the kernel refused.
pub(super) fn start(world: &World) -> io::Result<i32> {
    let argv = pointers(&world.argv);
    let environ = pointers(&world.environ);
    let fds: Vec<i32> = world.fds.iter().map(|fd| fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)).collect();
    let (told, tell) = io::pipe()?;
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::SIGCHLD;
    // SAFETY: without CLONE_VM this is a fork. The child only makes system calls and execs.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid == 0 {
        become_it(&argv, &environ, &fds, world.terminal, tell.as_raw_fd());
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(tell);
    let mut failure = Vec::new();
    io::Read::read_to_end(&mut &told, &mut failure)?;
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    match <[u8; 4]>::try_from(failure.as_slice()) {
        Ok(errno) => {
            wait(pid, true);
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))
        }
        Err(_) => Ok(pid),
    }
}

/// The wait status of a process we started, once it has ended.
pub(super) fn wait(pid: i32, block: bool) -> Option<i32> {
    let mut status = 0;
    // SAFETY: waits for one child of ours, and fills a number of ours. (Signals above 31 are unknown
    // to nix, which would lose the status of a process that one has ended.)
    #[allow(unsafe_code)]
    let reaped = unsafe { libc::waitpid(pid, &raw mut status, if block { 0 } else { libc::WNOHANG }) };
    (reaped == pid).then_some(status)
}

/// Sends a signal by number, real-time ones too.
pub(crate) fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes two numbers.
    #[allow(unsafe_code)]
    let result = unsafe { libc::kill(pid, signal) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The thread that calls stands back behind all others from here on.
pub(crate) fn be_nice() {
    // SAFETY: takes numbers; of a thread, 0 is the one that calls.
    #[allow(unsafe_code)]
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// The thread that calls is in this network from here on.
pub(super) fn enter_network(network: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: takes an open descriptor, and changes this thread alone.
    #[allow(unsafe_code)]
    let result = unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the size of a terminal.
pub(super) fn resize(terminal: i32, rows: u16, columns: u16) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the size lives through the call.
    #[allow(unsafe_code)]
    let result = unsafe { libc::ioctl(terminal, libc::TIOCSWINSZ, &raw const size) };
    assert_eq!(result, 0, "the terminal has no size: {}", io::Error::last_os_error());
}

fn pointers(words: &[CString]) -> Vec<*const libc::c_char> {
    words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
}

/// In the child: makes the world, then runs the program.
fn become_it(
    argv: &[*const libc::c_char],
    environ: &[*const libc::c_char],
    fds: &[i32],
    terminal: bool,
    tell: i32,
) -> ! {
    // SAFETY: system calls on this new process alone; all pointers are to C strings, and to arrays of
    // them that end with a null, made before the clone.
    #[allow(unsafe_code)]
    unsafe {
        let last = OUT_OF_THE_WAY * 4;
        let tell = libc::fcntl(tell, libc::F_DUPFD_CLOEXEC, last);
        let done = || -> Option<()> {
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(c"none".as_ptr(), c"/".as_ptr(), ptr::null(), private, ptr::null()))?;
            check(libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, ptr::null()))?;
            check(libc::setsid())?;
            if terminal {
                check(libc::ioctl(fds[0], libc::TIOCSCTTY, 0))?;
            }
            // Out of the way first, or one would be overwritten before its turn has come.
            for (to, from) in (0..).zip(fds) {
                if *from >= 0 {
                    check(libc::dup3(*from, OUT_OF_THE_WAY * 2 + to, 0))?;
                }
            }
            check(libc::syscall(libc::SYS_close_range, 0, OUT_OF_THE_WAY * 2 - 1, 0))?;
            for (to, from) in (0..).zip(fds) {
                if *from >= 0 {
                    check(libc::dup2(OUT_OF_THE_WAY * 2 + to, to))?;
                }
            }
            check(libc::syscall(libc::SYS_close_range, OUT_OF_THE_WAY, last - 1, 0))?;
            check(libc::syscall(libc::SYS_close_range, tell + 1, u32::MAX, 0))?;
            check(libc::chdir(c"/".as_ptr()))?;
            // By the kernel's own call and struct, all zero: the C library knows no 32 and 33.
            let default = [0_u64; 4];
            for signal in (1..=64).filter(|signal| !matches!(*signal, libc::SIGKILL | libc::SIGSTOP)) {
                let old = ptr::null::<u64>();
                check(libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), old, size_of::<u64>()))?;
            }
            let mut none = MaybeUninit::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            check(libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()))?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            check(libc::execve(argv[0], argv.as_ptr(), environ.as_ptr()))
        };
        let _ = done();
        let errno = (*libc::__errno_location()).to_ne_bytes();
        libc::write(tell, errno.as_ptr().cast(), errno.len());
        libc::_exit(99)
    }
}

fn check(result: impl Into<i64>) -> Option<()> {
    (result.into() >= 0).then_some(())
}
