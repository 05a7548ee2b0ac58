//! The PID-1 binary.
//!
//! `main` is C's, not std's: std's start would cost more than everything else that happens before
//! the server runs, and would change how SIGPIPE is disposed of before we have seen it.

#![no_main]

use std::ffi::{c_char, c_int};

#[allow(unsafe_code, reason = "the C runtime calls `main` by this name")]
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    // SAFETY: these are the arguments that the C runtime gave us.
    let args = unsafe { lameduck::sys::args::collect(count, words) };
    lameduck::sys::process::exit(lameduck::run_as_init(&args))
}
