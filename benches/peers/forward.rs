//! A signal's way through the init to the server.
//!
//! All on one core: on two, most of the time is that of waking the other one, and depends on how deep
//! it slept. `bare` gets its signals from the kernel.

use super::table::Row;
use super::world::{OneCore, Result, World, micros, now, quantile};

/// Signals in a turn.
const TURN: usize = 25;

/// Turns that warm the caches and are not counted.
const WARMING: usize = 2;

pub(crate) fn measure(world: &World<'_>, signals: usize) -> Result<Vec<Row>> {
    let _one = OneCore::enter()?;
    let mut all = world.start_all(&["wait"])?;
    let mut ways: Vec<Vec<f64>> = all.iter().map(|_| Vec::with_capacity(signals)).collect();
    for round in 0..WARMING + signals / TURN {
        for (at, _) in world.turns(round) {
            let (Some(running), Some(ways)) = (all.get_mut(at), ways.get_mut(at)) else { continue };
            for _ in 0..TURN {
                let sent = now()?;
                running.signal()?;
                let arrived = running.record()?.now;
                if round >= WARMING {
                    ways.push(micros(arrived.saturating_sub(sent)));
                }
            }
        }
    }
    let at = |hundredths| ways.iter().map(|ways| quantile(ways, hundredths)).collect();
    Ok(vec![
        Row::new("signal_p50_us", "a signal to the server, one core, p50, µs", 1, at(50)),
        Row::new("signal_p99_us", "the same, p99, µs", 1, at(99)),
    ])
}
