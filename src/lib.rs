//! `lameduck`, the init of a container that stops its server in the right order.
//!
//! [`core`] decides, [`run`] performs and waits, [`sys`] holds every call into the kernel, [`cli`]
//! reads what was asked for, [`log`] tells what happened.

#[cfg(not(target_os = "linux"))]
compile_error!("lameduck is an init for Linux containers: it builds on Linux only");

pub mod cli;
pub mod core;
