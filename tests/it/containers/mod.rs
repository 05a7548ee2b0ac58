//! Real servers in real containers, stopped by `docker stop` under load.
//!
//! What is claimed for a container is shown in one: its own PID namespace, the engine's signals, its
//! seccomp profile, its capabilities. The network is the host's loopback, so that "refused" is the
//! server's word and not that of a proxy in between.
//!
//! `image` makes the root file system out of installed packages, `config` what goes to `/etc`; `container` runs and stops one;
//! `load` asks and keeps book; `log` reads what lameduck said.

#![allow(clippy::disallowed_methods, reason = "the rules about time are those of PID 1, not of its tests")]

mod config;
mod container;
mod frozen;
mod health;
mod image;
mod load;
mod log;
mod stand_in;
mod stops;
