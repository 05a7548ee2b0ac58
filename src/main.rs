//! The PID-1 binary.
//!
//! `main` is C's, not std's: std's start would cost more than everything else that happens before
//! the server runs, and would change how SIGPIPE is disposed of before we have seen it.

#![no_main]

#[cfg(no_backtrace)]
use std::ffi::c_void;
use std::ffi::{c_char, c_int};

#[allow(unsafe_code, reason = "the C runtime calls `main` by this name")]
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    // SAFETY: these are the arguments that the C runtime gave us.
    let args = unsafe { lameduck::sys::args::collect(count, words) };
    lameduck::sys::process::exit(lameduck::run_as_init(&args))
}

/// Std's way to the frames of a backtrace. There is none to print: panics have a hook of our own, and
/// what ships is stripped of names. Std would keep its reader of DWARF for it, 200 KB; one that ends
/// at once lets the optimizer see that it is never used. Only `.ci/build` asks for this.
#[cfg(no_backtrace)]
#[allow(unsafe_code, reason = "std calls it by this name; it touches nothing")]
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_each: *const c_void, _context: *mut c_void) -> c_int {
    const END_OF_STACK: c_int = 5;
    END_OF_STACK
}
