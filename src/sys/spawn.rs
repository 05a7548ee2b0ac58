//! Starting the server with exactly the world that we were given.
//!
//! There are two ways. `posix_spawn` is the quick one: it shares our memory until the exec, so that
//! nothing is copied. It cannot hand the child the terminal, tell it its own pid in `LISTEN_PID`, or
//! leave CHLD ignored; for those there is a fork, under `CLONE_VFORK`, so that we too go on only
//! when the exec is done or has failed.

use super::last_error;
use super::signals::Mask;
use crate::core::Pid;
use nix::libc;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// What the child is to be.
pub struct Child<'a> {
    /// Its arguments, the first its own name.
    pub argv: Vec<CString>,
    /// Its environment; `None` = ours as it is.
    pub environ: Option<Vec<CString>>,
    /// Its signal mask.
    pub mask: &'a Mask,
    /// Whether it is handed the terminal on standard input.
    pub foreground: bool,
    /// Whether `LISTEN_PID` is to name it.
    pub listen_pid: bool,
    /// Whether it ignores CHLD, as we did.
    pub ignores_chld: bool,
    /// What becomes its standard input and output; `None` = ours. Only where none of the three before
    /// is asked for: a hook needs none of them.
    pub streams: Option<[BorrowedFd<'a>; 2]>,
}

/// Pointers into C strings, ended by a null, as exec takes them.
struct Pointers(Vec<*mut libc::c_char>);

/// Runs a program as a child that leads a process group of its own.
///
/// # Errors
/// That of the exec, or of making a process.
pub fn spawn(path: &Path, child: &Child<'_>) -> io::Result<Pid> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let argv = Pointers::to(&child.argv);
    match &child.environ {
        Some(words) if child.listen_pid => fork(&path, &argv, Some(words), child),
        Some(words) if child.is_simple() => posix_spawn(&path, &argv, Pointers::to(words).as_ptr(), child),
        None if child.is_simple() => posix_spawn(&path, &argv, our_environ(), child),
        words => fork(&path, &argv, words.as_deref(), child),
    }
}

/// Whether we may run the file at `path`, going by its mode alone.
///
/// # Errors
/// Why not: ENOENT, ENOTDIR, EACCES, ELOOP…
pub fn may_execute(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string that lives through the call.
    super::check(unsafe { libc::access(path.as_ptr(), libc::X_OK) }).map(drop)
}

/// The words of our environment, as they are: doubled names, words without `=` and all.
#[must_use]
pub fn environ() -> Vec<CString> {
    let mut words = Vec::new();
    let mut at = our_environ();
    // SAFETY: `environ` is an array of C strings that ends with a null, and nobody changes it: this
    // process has one thread and never calls setenv.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            words.push(CStr::from_ptr(*at).to_owned());
            at = at.add(1);
        }
    }
    words
}

fn our_environ() -> *const *mut libc::c_char {
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    // SAFETY: reads a pointer that the C library set up before `main`.
    unsafe { environ }
}

fn posix_spawn(path: &CStr, argv: &Pointers, envp: *const *mut libc::c_char, child: &Child<'_>) -> io::Result<Pid> {
    let mut pid = 0;
    let mut attributes = MaybeUninit::<libc::posix_spawnattr_t>::zeroed();
    let attributes = attributes.as_mut_ptr();
    let mut actions = MaybeUninit::<libc::posix_spawn_file_actions_t>::zeroed();
    let actions = actions.as_mut_ptr();
    let clean = libc_signals();
    let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETPGROUP | libc::POSIX_SPAWN_SETSIGDEF;
    #[allow(clippy::cast_possible_truncation, reason = "the flags are small")]
    // SAFETY: the attributes and actions are initialised first and live through all the calls; setting
    // the attributes cannot fail with these values; the strings, arrays and descriptors live in the
    // caller. The attributes need no destroy on Linux, where they own nothing.
    let error = unsafe {
        libc::posix_spawnattr_init(attributes);
        libc::posix_spawnattr_setflags(attributes, flags as libc::c_short);
        libc::posix_spawnattr_setsigmask(attributes, &raw const child.mask.0);
        libc::posix_spawnattr_setsigdefault(attributes, &raw const clean);
        libc::posix_spawnattr_setpgroup(attributes, 0);
        libc::posix_spawn_file_actions_init(actions);
        let mut error = 0;
        for (from, to) in child.streams.iter().flatten().zip([libc::STDIN_FILENO, libc::STDOUT_FILENO]) {
            error |= libc::posix_spawn_file_actions_adddup2(actions, from.as_raw_fd(), to);
        }
        if error == 0 {
            error = libc::posix_spawn(&raw mut pid, path.as_ptr(), actions, attributes, argv.as_ptr(), envp);
        }
        libc::posix_spawn_file_actions_destroy(actions);
        error
    };
    if error == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Signals 32 and 33 as a set. glibc's `posix_spawn` leaves them ignored in the child unless they
/// are asked to be default, and its `sigaddset` refuses to name them.
fn libc_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: a signal set begins with the kernel's 64 bits on every Linux; the rest stays zero,
    // which is empty.
    unsafe {
        set.as_mut_ptr().cast::<u64>().write_unaligned(0b11 << 31);
        set.assume_init()
    }
}

/// The slow way. The child's error comes back through a page that both share: a pipe would need
/// descriptors, and there may be none left.
fn fork(path: &CStr, argv: &Pointers, environ: Option<&[CString]>, child: &Child<'_>) -> io::Result<Pid> {
    let page = SharedPage::new()?;
    let mut environ = environ.map_or_else(self::environ, <[CString]>::to_vec);
    // The C library must not be in the way of the child: it is made by the bare system call.
    let flags = libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: without CLONE_VM this is a fork: the child goes on in a copy of our memory, in which
    // this one thread is all there is. (s390x takes the two first arguments the other way round.)
    let pid = unsafe {
        if cfg!(target_arch = "s390x") {
            libc::syscall(libc::SYS_clone, 0, flags, 0, 0, 0)
        } else {
            libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0)
        }
    };
    if pid == 0 {
        let error = become_the_server(path, argv, &mut environ, child);
        page.write(error.raw_os_error().unwrap_or(libc::EINVAL));
        super::process::exit(127);
    }
    let pid = Pid::try_from(pid).map_err(|_| last_error())?;
    if pid < 0 {
        return Err(last_error());
    }
    match page.read() {
        0 => Ok(pid),
        error => {
            // It was never the server; nobody may take its end for the server's.
            // SAFETY: waits for that one child, which has left already; null takes no status.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// In the child: sets the world up, and runs the program. Comes back only when that failed.
fn become_the_server(path: &CStr, argv: &Pointers, environ: &mut [CString], child: &Child<'_>) -> io::Error {
    // SAFETY: plain system calls on this new process. All signals are still blocked, TTOU too, so
    // that taking the terminal does not stop it.
    unsafe {
        libc::setpgid(0, 0);
        if child.foreground {
            libc::tcsetpgrp(libc::STDIN_FILENO, libc::getpid());
        }
        if child.ignores_chld {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        }
    }
    if child.listen_pid
        && let Some(word) = environ.iter_mut().find(|word| word.as_bytes().starts_with(b"LISTEN_PID="))
        && let Ok(named) = CString::new(format!("LISTEN_PID={}", super::process::own_pid()))
    {
        *word = named;
    }
    let envp = Pointers::to(environ);
    // SAFETY: the mask is an initialised set; path, argv and envp are C strings and arrays that live
    // until the exec, which replaces everything.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const child.mask.0, ptr::null_mut());
        libc::execve(path.as_ptr(), argv.as_ptr().cast(), envp.as_ptr().cast());
    }
    last_error()
}

/// One number that a child made by fork can leave for its parent.
struct SharedPage(*mut i32);

// === impl Child ===

impl Child<'_> {
    fn is_simple(&self) -> bool {
        !self.foreground && !self.listen_pid && !self.ignores_chld
    }
}

// === impl Pointers ===

impl Pointers {
    fn to(words: &[CString]) -> Self {
        Self(words.iter().map(|word| word.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect())
    }

    fn as_ptr(&self) -> *const *mut libc::c_char {
        self.0.as_ptr()
    }
}

// === impl SharedPage ===

impl SharedPage {
    fn new() -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: asks for fresh memory, at least as long as the number it is for.
        let page = unsafe { libc::mmap(ptr::null_mut(), size_of::<i32>(), protection, flags, -1, 0) };
        if page == libc::MAP_FAILED { Err(last_error()) } else { Ok(Self(page.cast())) }
    }

    fn write(&self, number: i32) {
        // SAFETY: the page is mapped as long as `self` lives, and is aligned.
        unsafe { self.0.write_volatile(number) };
    }

    fn read(&self) -> i32 {
        // SAFETY: as above; fresh memory is zero.
        unsafe { self.0.read_volatile() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped; nothing points there any more.
        unsafe { libc::munmap(self.0.cast(), size_of::<i32>()) };
    }
}
