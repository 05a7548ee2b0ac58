//! What an init takes while nothing happens: memory, and wake-ups.

use super::table::Row;
use super::world::{Result, Running, World};
use std::thread;
use std::time::Duration;

/// By then each has done what it does after the start.
const SETTLES: Duration = Duration::from_secs(1);

pub(crate) fn measure(world: &World<'_>, seconds: u32) -> Result<Vec<Row>> {
    let all = world.start_all(&["wait"])?;
    // Nothing to wait for but that time passes.
    #[allow(clippy::disallowed_methods)]
    let idle = thread::sleep;
    idle(SETTLES);
    let before: Vec<u32> = all.iter().map(Running::switches).collect::<Result<_>>()?;
    idle(Duration::from_secs(seconds.into()));
    let (mut dirty, mut resident, mut switches) = (Vec::new(), Vec::new(), Vec::new());
    for (running, before) in all.iter().zip(before) {
        switches.push(Some(f64::from(running.switches()? - before)));
        let [rss, private_dirty] = running.numbers("smaps_rollup", ["Rss", "Private_Dirty"])?;
        dirty.push(Some(f64::from(private_dirty)));
        resident.push(Some(f64::from(rss)));
    }
    Ok(vec![
        Row::new("private_dirty_kb", "memory of its own (Private_Dirty), KB", 0, dirty),
        Row::new("rss_kb", "resident (RSS), KB", 0, resident),
        Row::new("idle_switches", &format!("wake-ups in {seconds} s of idling"), 0, switches),
    ])
}
