//! The server under the inits: as little of a program as there can be.
//!
//! What it costs itself is in every figure and is subtracted again, with its noise. A program with a C
//! library or with Rust's std starts in some hundred microseconds, as many as the inits that are to be
//! told apart, and so would this benchmark's own binary in another role. This one has neither: it is
//! 2 KB in two pages, and its first instructions read the clock. [`super::world`] compiles it, by
//! itself: of the benchmark's own crate it is no part.
//!
//! It works as its first argument says, and tells on stdout, in records of two moments of the
//! monotonic clock in nanoseconds: its first instructions, and now.
//!
//! - `pass`: a record, and the exit, with status 7;
//! - `wait`: a record, then one for each SIGUSR1;
//! - `leave N`: a record; with SIGUSR1, N processes that lose their parent and end, one after the
//!   other; a record; and no end.

#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the benchmark's server speaks to the kernel itself: it needs the system calls of this architecture");

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
mod call {
    pub(crate) const WRITE: usize = 1;
    pub(crate) const SIGPROCMASK: usize = 14;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const SIGTIMEDWAIT: usize = 128;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const EXIT_GROUP: usize = 231;
}
#[cfg(target_arch = "aarch64")]
mod call {
    pub(crate) const WRITE: usize = 64;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const CLOCK_GETTIME: usize = 113;
    pub(crate) const SIGPROCMASK: usize = 135;
    pub(crate) const SIGTIMEDWAIT: usize = 137;
    pub(crate) const CLONE: usize = 220;
    pub(crate) const WAIT4: usize = 260;
}

const STATUS: usize = 7;
const MONOTONIC: usize = 1;
const SIGCHLD: usize = 17;
/// A set of signals, SIGUSR1 alone, in memory.
static USR1: u64 = 1 << (10 - 1);

// The kernel starts a program with its arguments on the stack, and with no return address.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {begin}", "ud2", begin = sym begin);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {begin}", "brk #0", begin = sym begin);

/// # Safety
/// `stack` is what the kernel made: the number of arguments, and pointers to them.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    let first = now();
    // SAFETY: behind the last argument stands a null. The benchmark gives a first one, and the number
    // behind `leave`.
    let (work, number) = unsafe { (*stack.add(2) as *const u8, *stack.add(3) as *const u8) };
    // SAFETY: an argument has a first byte, if only the one that ends it.
    match unsafe { *work } {
        b'p' => {
            tell(first);
            exit(STATUS)
        }
        b'w' => {
            block();
            tell(first);
            loop {
                await_signal();
                tell(first);
            }
        }
        b'l' => {
            // SAFETY: it stands there.
            let processes = unsafe { read(number) };
            block();
            tell(first);
            await_signal();
            (0..processes).for_each(|_| leave_one());
            tell(first);
            loop {
                await_signal();
            }
        }
        _ => exit(2),
    }
}

/// A number in digits.
///
/// # Safety
/// `digits` points to an argument.
unsafe fn read(mut digits: *const u8) -> u32 {
    let mut number = 0;
    // SAFETY: it goes on to the null at the end and no farther.
    unsafe {
        while (*digits).is_ascii_digit() {
            number = number * 10 + u32::from(*digits - b'0');
            digits = digits.add(1);
        }
    }
    number
}

/// Has a child that has a child, and waits for the first.
fn leave_one() {
    let child = fork();
    if child == 0 {
        fork();
        exit(0);
    }
    system(call::WAIT4, [child, 0, 0, 0]);
}

fn fork() -> usize {
    system(call::CLONE, [SIGCHLD, 0, 0, 0])
}

fn exit(status: usize) -> ! {
    loop {
        system(call::EXIT_GROUP, [status, 0, 0, 0]);
    }
}

fn block() {
    system(call::SIGPROCMASK, [0, &raw const USR1 as usize, 0, size_of_val(&USR1)]);
}

fn await_signal() {
    system(call::SIGTIMEDWAIT, [&raw const USR1 as usize, 0, 0, size_of_val(&USR1)]);
}

fn tell(first: u64) {
    let record = [first, now()];
    system(call::WRITE, [1, record.as_ptr() as usize, size_of_val(&record), 0]);
}

fn now() -> u64 {
    let mut time = [0_u64; 2];
    system(call::CLOCK_GETTIME, [MONOTONIC, time.as_mut_ptr() as usize, 0, 0]);
    time[0] * 1_000_000_000 + time[1]
}

#[cfg(target_arch = "x86_64")]
fn system(call: usize, with: [usize; 4]) -> usize {
    let result;
    // SAFETY: every call in here is given memory that lives through it. The fifth register is zero, as
    // clone wants it.
    unsafe {
        asm!("syscall", inlateout("rax") call => result, in("rdi") with[0], in("rsi") with[1], in("rdx") with[2],
            in("r10") with[3], in("r8") 0, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn system(call: usize, with: [usize; 4]) -> usize {
    let result;
    // SAFETY: as above.
    unsafe {
        asm!("svc 0", in("x8") call, inlateout("x0") with[0] => result, in("x1") with[1], in("x2") with[2],
            in("x3") with[3], in("x4") 0, options(nostack));
    }
    result
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(99)
}
