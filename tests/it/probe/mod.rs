//! `lameduckctl probe` against servers that misbehave on purpose: every class is counted exactly, and
//! the run itself is what was asked for.

mod classes;
mod deploys;
mod run;
mod server;
mod speed;
mod tls;
