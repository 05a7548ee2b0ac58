//! The figures as a table that is read on a terminal and in a README alike.

use std::iter;

/// The init that the others are held against: static as lameduck, and the one that Docker brings along.
pub(crate) const YARDSTICK: &str = "tini-static";

/// One thing that was measured.
pub(crate) struct Row {
    pub(crate) key: &'static str,
    label: String,
    /// Behind the decimal point.
    digits: usize,
    /// By init; none where it cannot be measured.
    pub(crate) values: Vec<Option<f64>>,
}

pub(crate) fn write(names: &[&str], rows: &[Row]) -> String {
    let yardstick = names.iter().position(|name| *name == YARDSTICK);
    let head = iter::once("").chain(names.iter().copied()).map(str::to_owned).collect();
    let mut lines: Vec<Vec<String>> = iter::once(head).chain(rows.iter().map(|row| row.cells(yardstick))).collect();
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..=names.len()).map(|column| width(column).unwrap_or_default()).collect();
    // Under the head; the colons have the numbers stand to the right.
    let rule = widths.iter().enumerate().map(|(column, width)| match column {
        0 => "-".repeat(*width),
        _ => format!("{}:", "-".repeat(width.saturating_sub(1))),
    });
    lines.insert(1, rule.collect());
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    lines.iter().map(line).collect()
}

// === impl Row ===

impl Row {
    pub(crate) fn new(key: &'static str, label: &str, digits: usize, values: Vec<Option<f64>>) -> Self {
        Self { key, label: label.to_owned(), digits, values }
    }

    /// The label, then the values; of inits with the ratio to the yardstick.
    fn cells(&self, yardstick: Option<usize>) -> Vec<String> {
        let base = yardstick.and_then(|at| self.values.get(at).copied().flatten()).filter(|base| *base > 0.0);
        let cell = |(at, value): (usize, &Option<f64>)| {
            let digits = self.digits;
            match (value, base) {
                (None, _) => "-".to_owned(),
                // The first column is no init.
                (Some(value), Some(base)) if at > 0 && Some(at) != yardstick => {
                    format!("{value:.digits$} ({:.2})", value / base)
                }
                (Some(value), _) => format!("{value:.digits$}"),
            }
        };
        iter::once(self.label.clone()).chain(self.values.iter().enumerate().map(cell)).collect()
    }
}
