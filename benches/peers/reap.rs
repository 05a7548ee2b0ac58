//! Orphans: processes whose parent is gone, which process 1 has to reap.

use super::table::Row;
use super::world::{Result, Running, World, micros, now, quantile};
use std::thread;
use std::time::Duration;

/// After the last orphan has ended.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn measure(world: &World<'_>, rounds: usize, orphans: u32) -> Result<Vec<Row>> {
    let mut costs: Vec<Vec<f64>> = world.inits.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        // The server alone reaps nothing.
        for (at, init) in world.turns(round).filter(|(_, init)| !init.is_bare()) {
            let mut running = world.start(init, &["leave", &orphans.to_string()])?;
            running.record()?;
            let before = running.busy()?;
            running.signal()?;
            running.record()?;
            until_reaped(&running)?;
            let took = micros(running.busy()?.saturating_sub(before)) / f64::from(orphans);
            if let Some(costs) = costs.get_mut(at) {
                costs.push(took);
            }
        }
    }
    let costs = costs.iter().map(|costs| quantile(costs, 50)).collect();
    Ok(vec![Row::new("orphan_us", "processor time for an orphan, µs", 1, costs)])
}

/// Until the server is its only child.
fn until_reaped(running: &Running<'_>) -> Result<()> {
    let began = now()?;
    while running.children()? > 1 {
        if now()?.saturating_sub(began) > LIMIT {
            return Err(running.wrong(&format!("leaves orphans unreaped for {LIMIT:?}")));
        }
        // It is busy with them, and a look takes the kernel's time as well.
        #[allow(clippy::disallowed_methods)]
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
