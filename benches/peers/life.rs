//! The start and the end: of a server that does nothing, from the exec of its init to the end of both.

use super::table::Row;
use super::world::{Result, World, micros, now, quantile};

/// The server's own status, which every init has to leave with.
const STATUS: i32 = 7;

/// Runs that warm the caches and are not counted.
const WARMING: usize = 4;

/// The parts of one run, in microseconds: until the server's first instructions; from its last to the
/// end of the init; all of it.
type Parts = [f64; 3];

pub(crate) fn measure(world: &World<'_>, rounds: usize) -> Result<Vec<Row>> {
    let mut lives: Vec<Vec<Parts>> = world.inits.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..WARMING + rounds {
        for (at, init) in world.turns(round) {
            let mut running = world.start(init, &["pass"])?;
            let status = running.wait()?;
            let end = now()?;
            if status.code() != Some(STATUS) {
                return Err(running.wrong(&format!("ended with {status}, not with the server's {STATUS}")));
            }
            let record = running.record()?;
            let parts = [(running.began, record.first), (record.now, end), (running.began, end)];
            if let Some(lives) = lives.get_mut(at).filter(|_| round >= WARMING) {
                lives.push(parts.map(|(from, to)| micros(to.saturating_sub(from))));
            }
        }
    }
    let rows = [("start_us", "start, µs"), ("exit_us", "exit, µs"), ("total_us", "start to exit, µs")];
    Ok(rows.iter().enumerate().map(|(part, (key, label))| Row::new(key, label, 0, over_bare(&lives, part))).collect())
}

/// The median of a part: of `bare` as it is, of the others over that of `bare` in the same round.
fn over_bare(lives: &[Vec<Parts>], part: usize) -> Vec<Option<f64>> {
    let parts = |lives: &[Parts]| lives.iter().filter_map(|life| life.get(part).copied()).collect::<Vec<f64>>();
    let bare = lives.first().map(|lives| parts(lives)).unwrap_or_default();
    let over = |lives: &Vec<Parts>| parts(lives).iter().zip(&bare).map(|(own, bare)| own - bare).collect::<Vec<_>>();
    let others = lives.iter().skip(1).map(over);
    [bare.clone()].into_iter().chain(others).map(|values| quantile(&values, 50)).collect()
}
