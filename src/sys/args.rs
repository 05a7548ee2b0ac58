//! The command line as `main` gets it, and the environment.
//!
//! `std::env::args_os` would do on glibc, which hands the arguments to std behind `main`'s back. On
//! musl it finds nothing when, as here, std's own start does not run.

use nix::libc::{c_char, c_int};
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Copies the arguments that C's `main` was given.
///
/// # Safety
/// `words_at` points to at least `count` pointers to C strings, as the C runtime gives them to `main`.
#[must_use]
pub unsafe fn collect(count: c_int, words_at: *const *const c_char) -> Vec<OsString> {
    let mut words = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: by this function's contract `at` is within the array.
        let word = unsafe { *words_at.add(at) };
        if word.is_null() {
            break;
        }
        // SAFETY: by this function's contract it is a C string, and nobody changes it while we run.
        let word = unsafe { CStr::from_ptr(word) };
        words.push(OsStr::from_bytes(word.to_bytes()).to_owned());
    }
    words
}

/// The words of our environment, as they are: doubled names, words without `=` and all.
///
/// For the one thread of a process that never changes its environment.
pub fn environ() -> impl Iterator<Item = &'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: reads a pointer that the C library set up before `main`.
    let mut at = unsafe { environ };
    std::iter::from_fn(move || {
        // SAFETY: `environ` is null or an array of C strings that ends with a null, and both the
        // array and the strings stay as they are: nobody calls setenv.
        unsafe {
            if at.is_null() || (*at).is_null() {
                return None;
            }
            let word = CStr::from_ptr(*at);
            at = at.add(1);
            Some(word)
        }
    })
}
