//! The live loop: the quiet one with a runtime beside it, for whoever asks over the network.
//!
//! Only with `--health-listen`. Signals and deadlines drive the same shell as in [`super::quiet`], and
//! come first: between any two steps of a connection the kernel is asked for signals. Should the
//! runtime not come up, or anything in here fail, the quiet loop takes over, and the stop does not
//! notice.

use super::health::Health;
use super::{Shell, quiet};
use crate::sys;
use crate::sys::signalfd::SignalFd;
use crate::sys::signals::Arrival;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::runtime::Builder;

/// After so many steps of connections the kernel is asked what else has happened.
const STEPS_BETWEEN_LOOKS: u32 = 1;

/// So many events are fetched from the kernel at once. The buffer for them is memory of PID 1.
const EVENTS_AT_ONCE: usize = 64;

/// Why nobody is answered any more.
struct Off(String);

/// What there is to react to.
enum Woken<'a> {
    Signals(AsyncFdReadyGuard<'a, SignalFd>),
    Deadline,
}

/// Waits and reacts until there is an exit status, and answers those who ask `health` meanwhile.
pub(super) fn wait_to_the_end(shell: &mut Shell, health: Health) -> u8 {
    // A panic has told of itself.
    let ended = catch_unwind(AssertUnwindSafe(|| run(shell, health)));
    let Off(why) = match ended {
        Ok(Ok(code)) => return code,
        Ok(Err(off)) => off,
        Err(_) => Off("it panicked".to_owned()),
    };
    shell.told = None;
    shell.warn(&format!("health is off, and the rest goes on as ever: {why}"));
    quiet::wait_to_the_end(shell)
}

fn run(shell: &mut Shell, health: Health) -> Result<u8, Off> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io().enable_time().event_interval(STEPS_BETWEEN_LOOKS).max_io_events_per_tick(EVENTS_AT_ONCE);
    let runtime = builder.build().map_err(|error| Off::because("no runtime can be built", &error))?;
    // Reading the command line has taken more than everything that stays for as long as the server runs.
    sys::process::give_back_memory();
    let code = runtime.block_on(wait(shell, health))?;
    // The process is about to leave: there is nothing to tidy up, and nothing may keep it.
    std::mem::forget(runtime);
    Ok(code)
}

async fn wait(shell: &mut Shell, health: Health) -> Result<u8, Off> {
    let signals = SignalFd::open()
        .and_then(SignalFd::watched)
        .map_err(|error| Off::because("signals cannot be waited for beside connections", &error))?;
    let mut server = pin!(health.serve());
    loop {
        if let Some(code) = shell.exit {
            return Ok(code);
        }
        match next(&signals, shell.wait_at_most(), server.as_mut()).await? {
            Woken::Signals(mut guard) => {
                while let signal @ Arrival::Signal(..) = signals.get_ref().next().map_err(|error| lost(&error))? {
                    shell.take(signal);
                    if shell.exit.is_some() {
                        break;
                    }
                }
                // Only now: what comes from here on makes it ready again.
                guard.clear_ready();
            }
            Woken::Deadline => shell.tick(),
        }
    }
}

/// Signals first, then a deadline, then those who ask.
async fn next<'a>(
    signals: &'a AsyncFd<SignalFd>,
    limit: Option<Duration>,
    mut server: Pin<&mut impl Future<Output = io::Error>>,
) -> Result<Woken<'a>, Off> {
    let mut deadline = pin!(limit.map(tokio::time::sleep));
    poll_fn(|context| {
        if let Poll::Ready(ready) = signals.poll_read_ready(context) {
            return Poll::Ready(ready.map(Woken::Signals).map_err(|error| lost(&error)));
        }
        if let Some(deadline) = deadline.as_mut().as_pin_mut()
            && deadline.poll(context).is_ready()
        {
            return Poll::Ready(Ok(Woken::Deadline));
        }
        let ended = server.as_mut().poll(context);
        ended.map(|error| Err(Off::because("its port takes no connections any more", &error)))
    })
    .await
}

fn lost(error: &io::Error) -> Off {
    Off::because("signals cannot be read beside connections", error)
}

// === impl Off ===

impl Off {
    fn because(what: &str, error: &io::Error) -> Self {
        Self(format!("{what}: {error}"))
    }
}
