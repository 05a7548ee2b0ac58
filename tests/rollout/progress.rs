//! How far it is: a line for each cell that is done, on standard error; the tables have standard output.

use super::JOBS;
use super::cell::Cell;
use super::docker::Result;
use super::table::Tried;
use std::time::{Duration, Instant};

/// The state of a run.
pub(crate) struct Progress {
    began: Instant,
    done: usize,
    cells: usize,
    /// By [`Cell::takes`], of all cells together and of those that are done.
    planned: Duration,
    passed: Duration,
}

// === impl Progress ===

impl Progress {
    pub(crate) fn new(cells: &[Cell]) -> Self {
        let planned = cells.iter().map(Cell::takes).sum();
        let longest = cells.iter().map(Cell::takes).max().unwrap_or_default();
        let jobs = u32::try_from(JOBS).unwrap_or(1);
        let replacements: usize = cells.iter().map(|cell| cell.replacements).sum();
        eprintln!(
            "cells: {}, replacements: {replacements}; takes {} or so",
            cells.len(),
            minutes(longest.max(planned / jobs))
        );
        Self { began: Instant::now(), done: 0, cells: cells.len(), planned, passed: Duration::ZERO }
    }

    /// A cell has come to its end.
    pub(crate) fn done(&mut self, cell: &Cell, tried: &Result<Tried>) {
        self.done += 1;
        self.passed += cell.takes();
        let what = match tried {
            Ok(tried) => format!("{} of {} lost", tried.number("lost"), tried.number("sent")),
            // All of it comes at the end.
            Err(why) => why.lines().next().unwrap_or_default().to_owned(),
        };
        let left = self.planned.saturating_sub(self.passed);
        let pace = self.began.elapsed().as_secs_f64() / self.passed.as_secs_f64().max(1.0);
        let left = if left.is_zero() { "done".to_owned() } else { format!("{} left", minutes(left.mul_f64(pace))) };
        eprintln!("{}/{}, {left}: {}: {what}", self.done, self.cells, cell.name());
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} minutes", seconds.div_ceil(60)) }
}
