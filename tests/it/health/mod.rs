//! The health port: what is answered there, to whom, and what it costs the rest when it goes wrong.
//!
//! `balancer` is what it is for; `pages` is what one can ask for, `check` the server's own check behind it,
//! `startup` what stands for one, `hostile` those who mean harm, `faults` what the system may refuse.

mod balancer;
mod check;
mod faults;
mod hostile;
mod pages;
mod startup;

use crate::support::{Init, Running, free_port, http, until};

/// A lameduck with a health port on loopback, whose server is to be added. It need not listen, unless
/// the flags say so.
fn listening(flags: &[&str]) -> (Init, u16) {
    let port = free_port();
    (
        Init::new()
            .env("LAMEDUCK_HEALTH_CHECK", "none")
            .flags(["--health-listen", &format!("127.0.0.1:{port}")])
            .flags(flags),
        port,
    )
}

/// Waits until `/readyz` answers so.
fn until_ready(run: &mut Running, port: u16, code: u16) {
    until(&format!("/readyz answers {code}"), || {
        assert!(!run.ended(), "the init has ended\n{}", run.stderr());
        http::get(port, "/readyz").is_ok_and(|answer| answer.code == code)
    });
}
