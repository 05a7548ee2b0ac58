//! The binary as a real PID 1: real processes, signals, terminals and servers.
//!
//! Every test starts `lameduck` as process 1 of a PID and mount namespace of its own, signals it from
//! outside by its host pid, as a container engine does, and waits for conditions, never for times.
//! That takes root; without it each test says that it was skipped.
//!
//! `LAMEDUCK_TEST_SCALE=3` makes every limit three times as long, for a slow machine;
//! `LAMEDUCK_TEST_BIN=target/dist/lameduck` tests that binary instead.

#![allow(clippy::disallowed_methods, reason = "a test measures time, and sleeps between two looks")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "so tests fail")]

#[macro_use]
mod support;

mod badinput;
#[cfg(feature = "ctl")]
mod check;
mod containers;
mod docs;
mod dropin;
mod forward;
mod frozen;
mod health;
mod healthcheck;
mod hooks;
mod idle;
mod log;
mod place;
#[cfg(feature = "ctl")]
mod plan;
#[cfg(feature = "ctl")]
mod probe;
mod readyfiles;
mod reap;
mod report;
mod rules;
mod servers;
mod shells;
mod state;
mod status;
mod stop;
mod streams;
mod tty;
mod watch;
mod wrapper;
