//! Starting the server with exactly the world that we were given.
//!
//! The child is made as `vfork` makes one: it shares our memory, so that nothing is copied, and we
//! go on only when its exec is done or has failed. `posix_spawn` does the same but cannot hand the
//! child the terminal, tell it its own pid in `LISTEN_PID`, or leave CHLD ignored; and in glibc it
//! asks for the disposition of every signal there is.

use super::last_error;
use super::signals::Mask;
use crate::core::{Pid, Place};
use nix::errno::Errno;
use nix::libc::{self, c_char, c_int, c_void};
use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

/// The world that the child is to find.
pub struct World<'a> {
    /// Its environment.
    pub environ: &'a [&'a CStr],
    /// Its signal mask.
    pub mask: &'a Mask,
    /// Whether it gets the foreground of the terminal on standard input, if we have that.
    pub foreground: bool,
    /// The word of the environment that is to be `LISTEN_PID` with the child's own pid.
    pub listen_pid: Option<usize>,
    /// Where among process groups and sessions it begins.
    pub place: Place,
    /// Which signals it ignores.
    pub ignores: Ignores,
    /// What becomes its standard input and output; `None` = ours.
    pub streams: Option<[BorrowedFd<'a>; 2]>,
}

/// The signals that a child ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignores {
    /// Those that we ignore.
    WhatWeDo,
    /// Those, and CHLD, which we did ignore.
    ChldToo,
    /// None.
    Nothing,
}

/// Why there is no child.
#[derive(Debug)]
pub enum Error {
    /// No process could be made.
    NoProcess(io::Error),
    /// No file could be run: the error of each that was tried, in order.
    NoProgram(Vec<Errno>),
}

/// Everything the child needs, laid out before it is made: it shares our memory, and is to change
/// nothing there but this.
struct Plan<'a> {
    files: &'a [CString],
    world: &'a World<'a>,
    /// Ended by a null, as exec takes them. The first place is free, for the shell of a script that
    /// names no interpreter.
    argv: Vec<*const c_char>,
    /// Ended by a null.
    envp: Vec<*const c_char>,
    /// Room for the word that names the child.
    listen_pid: [u8; 24],
    /// The group that had the foreground of the terminal before the child took it.
    had_foreground: Option<Pid>,
    /// What came of the files that could not be run. There is room for all of them.
    errors: Vec<Errno>,
    /// Whether the child has given up.
    failed: bool,
}

/// Runs a script that names no interpreter, as `execvp` and every shell do.
const SHELL: &CStr = c"/bin/sh";

/// The child's stack until the exec, in units of 16 bytes. It makes a dozen system calls there, and
/// formats one number.
const STACK: usize = 8192 / size_of::<u128>();

/// Runs a program as a child. One that leads a process group of its own gets the foreground of the
/// terminal on standard input if it is to and we have it; one in a session of its own gets the terminal
/// if we have given it up.
///
/// `files` are those to try: the first that can be run is. One that is not there or may not be run
/// gives way to the next; any other error ends the search. `argv` are its arguments, the first its own
/// name; it is never empty.
///
/// All signals are to be blocked, and there is to be no other thread.
///
/// # Errors
/// That of making a process, or those of the files.
pub fn spawn(files: &[CString], argv: &[CString], world: &World<'_>) -> Result<Pid, Error> {
    let mut plan = Plan::of(files, argv, world);
    let mut stack = [MaybeUninit::<u128>::uninit(); STACK];
    let top = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the call comes back only when the child has left our memory. Until then it has a stack
    // of its own, which grows down from `top`, and the plan to itself; no handler and no thread of
    // ours runs meanwhile.
    let pid = unsafe { libc::clone(become_the_server, top.cast(), flags, (&raw mut plan).cast()) };
    if pid < 0 {
        return Err(Error::NoProcess(last_error()));
    }
    if plan.failed {
        // It was never the server; nobody may take its end for the server's.
        // SAFETY: waits for that one child, which has left already; null takes no status.
        unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) };
        return Err(Error::NoProgram(plan.errors));
    }
    Ok(pid)
}

/// Whether we may run the file at `path`, going by its mode alone.
#[must_use]
pub fn may_execute(path: &CStr) -> bool {
    // SAFETY: the path is a C string that lives through the call.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// What the child does.
extern "C" fn become_the_server(plan: *mut c_void) -> c_int {
    // SAFETY: it is the plan of `spawn`, which waits for us.
    let plan = unsafe { &mut *plan.cast::<Plan<'_>>() };
    plan.set_the_world_up();
    plan.run();
    plan.give_the_foreground_back();
    plan.failed = true;
    super::process::exit(127)
}

// === impl Plan ===

impl<'a> Plan<'a> {
    fn of(files: &'a [CString], argv: &'a [CString], world: &'a World<'a>) -> Self {
        let ended = [ptr::null()];
        Self {
            files,
            world,
            argv: ended.into_iter().chain(argv.iter().map(|word| word.as_ptr())).chain(ended).collect(),
            envp: world.environ.iter().map(|word| word.as_ptr()).chain(ended).collect(),
            listen_pid: [0; 24],
            had_foreground: None,
            errors: Vec::with_capacity(files.len()),
            failed: false,
        }
    }

    /// Makes the child's world out of ours. All signals are still blocked, TTOU too, so that taking
    /// the terminal does not stop it.
    fn set_the_world_up(&mut self) {
        if let Some(at) = self.world.listen_pid {
            // The room is enough for every pid, and the rest of it stays zero.
            let _ = write!(&mut self.listen_pid[..], "LISTEN_PID={}", super::process::own_pid());
            if let Some(word) = self.envp.get_mut(at) {
                *word = self.listen_pid.as_ptr().cast();
            }
        }
        // A disposition as the kernel takes it: all zero is the default.
        let default = [0_u64; 4];
        // SAFETY: plain system calls on this new process, which shares neither dispositions, mask nor
        // descriptors with us; the kernel's struct is at most as long as `default`, the mask is an
        // initialised set.
        unsafe {
            match self.world.place {
                Place::OwnGroup => {
                    let ours = libc::getpgrp();
                    let has_foreground = self.world.foreground && libc::tcgetpgrp(libc::STDIN_FILENO) == ours;
                    libc::setpgid(0, 0);
                    if has_foreground {
                        libc::tcsetpgrp(libc::STDIN_FILENO, libc::getpgrp());
                        self.had_foreground = Some(ours);
                    }
                }
                Place::OwnSession => {
                    libc::setsid();
                    // Fails when that is no terminal, or one of another session.
                    libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0);
                }
                Place::OurGroup => {}
            }
            // glibc's `posix_spawn` leaves 32 and 33 ignored in what it runs, so in us if our parent
            // uses it; and `sigaction` refuses to name them. KILL and STOP have no disposition.
            let clean = if self.world.ignores == Ignores::Nothing { 1..=64 } else { 32..=33 };
            for signal in clean {
                let before = ptr::null::<u64>();
                libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), before, size_of::<u64>());
            }
            for (from, to) in self.world.streams.iter().flatten().zip([libc::STDIN_FILENO, libc::STDOUT_FILENO]) {
                libc::dup2(from.as_raw_fd(), to);
            }
            if self.world.ignores == Ignores::ChldToo {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.world.mask.0, ptr::null_mut());
        }
    }

    /// Nothing is run after all.
    fn give_the_foreground_back(&self) {
        if let Some(group) = self.had_foreground {
            // SAFETY: a plain system call; it is the foreground's own to give away.
            unsafe { libc::tcsetpgrp(libc::STDIN_FILENO, group) };
        }
    }

    /// Runs the first file that can be run, as `execvp` does. Comes back only when there is none.
    fn run(&mut self) {
        let envp = self.envp.as_ptr();
        for file in self.files {
            let words = self.argv.as_mut_ptr();
            // SAFETY: the file and all that argv and envp point to are C strings, both end with a
            // null, and argv begins after its free place, which is always there.
            unsafe { libc::execve(file.as_ptr(), words.add(1), envp) };
            let error = Errno::last();
            if error == Errno::ENOEXEC {
                // SAFETY: as above; after the free place comes at least the null. When the shell
                // cannot be run either, it is the file that is told of.
                unsafe {
                    words.write(SHELL.as_ptr());
                    words.add(1).write(file.as_ptr());
                    libc::execve(SHELL.as_ptr(), words, envp);
                }
            }
            self.errors.push(error);
            // The last three come from a file system whose other end is not there.
            let not_here = matches!(
                error,
                Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES | Errno::ESTALE | Errno::ENODEV | Errno::ETIMEDOUT
            );
            if !not_here {
                break;
            }
        }
    }
}
