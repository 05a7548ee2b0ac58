//! The results as tables, ready for a README.

use super::cell::{Balancer, Cell, Expect, Part};
use serde_json::Value;
use std::fmt::Write as _;

/// What became of a cell.
pub(crate) struct Tried {
    pub(crate) cell: Cell,
    /// The probe's report.
    pub(crate) report: Value,
    /// How the stopped backends ended.
    pub(crate) ends: Vec<Value>,
}

/// Two tables for each part: each cell by itself, and what was lost by init and balancer.
pub(crate) fn write(tried: &[Tried], command: &str) -> String {
    let mut text = String::new();
    for part in Part::ALL {
        let own: Vec<&Tried> = tried.iter().filter(|tried| tried.cell.part == part).collect();
        if own.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}: {}\n\n{HEAD}", part.name(), part.title());
        for tried in &own {
            let _ = writeln!(text, "{}", tried.row());
        }
        let _ = writeln!(text, "\nLost for each backend that was replaced (`{command}`):\n");
        text += &crossed(&own);
    }
    text
}

const HEAD: &str = "\
| balancer | server | init | delay, s | stop timeout, s | a second | replaced | sent | lost | lost as | stop, s | exit status |
|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Inits down, balancers across.
fn crossed(tried: &[&Tried]) -> String {
    let balancers: Vec<Balancer> = Balancer::ALL
        .into_iter()
        .filter(|balancer| tried.iter().any(|tried| tried.cell.balancer == *balancer))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for tried in tried {
        if !names.contains(&tried.init()) {
            names.push(tried.init());
        }
    }
    let heads: Vec<&str> = balancers.iter().map(|balancer| balancer.name()).collect();
    let mut text =
        format!("| | {} | stop, s | exit status |\n|---|{}---|---|\n", heads.join(" | "), "---|".repeat(heads.len()));
    for name in names {
        let own: Vec<&&Tried> = tried.iter().filter(|tried| tried.init() == name).collect();
        let lost = balancers.iter().map(|balancer| {
            let one = own.iter().find(|tried| tried.cell.balancer == *balancer);
            one.map_or_else(|| "-".to_owned(), |tried| tried.lost_each())
        });
        let lost: Vec<String> = lost.collect();
        let ends: Vec<&Value> = own.iter().flat_map(|tried| &tried.ends).collect();
        let _ = writeln!(text, "| {name} | {} | {} | {} |", lost.join(" | "), seconds(&ends), codes(&ends));
    }
    text
}

/// How long the stops took: the one in the middle.
fn seconds(ends: &[&Value]) -> String {
    let mut seconds: Vec<f64> = ends.iter().filter_map(|end| end["seconds"].as_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}"))
}

/// The different exit statuses.
fn codes(ends: &[&Value]) -> String {
    let mut codes: Vec<i64> = ends.iter().filter_map(|end| end["code"].as_i64()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

// === impl Tried ===

impl Tried {
    pub(crate) fn number(&self, key: &str) -> u64 {
        self.report[key].as_u64().unwrap_or_default()
    }

    /// What stops it, and of whom.
    fn init(&self) -> String {
        let words = [self.cell.server.name(), self.cell.stopper.name(), self.cell.note];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    fn lost_each(&self) -> String {
        match self.number("lost") {
            0 => "**0**".to_owned(),
            lost => format!("{:.1}", lost as f64 / self.ends.len().max(1) as f64),
        }
    }

    fn row(&self) -> String {
        let cell = &self.cell;
        let classes = self.report["classes"].as_object().into_iter().flatten();
        let classes: Vec<String> = classes
            .filter(|(class, count)| *class != "ok" && count.as_u64() != Some(0))
            .map(|(class, count)| format!("{class} {count}"))
            .collect();
        let ends: Vec<&Value> = self.ends.iter().collect();
        let delay = if cell.has_a_delay() { cell.delay.as_secs_f64().to_string() } else { "-".to_owned() };
        format!(
            "| {} | {} | {} | {delay} | {} | {} | {} | {} | {} | {} | {} | {} |",
            cell.balancer.name(),
            cell.server.name(),
            cell.stopper.name(),
            cell.grace.as_secs(),
            cell.rate,
            self.ends.len(),
            self.number("sent"),
            self.number("lost"),
            if classes.is_empty() { "-".to_owned() } else { classes.join(", ") },
            seconds(&ends),
            codes(&ends),
        )
    }

    /// What is not as it has to be.
    pub(crate) fn wrong(&self) -> Option<String> {
        let lost = self.number("lost");
        if self.report["result"] == "no_measure" {
            return Some(format!("no measure: {}", self.report["why_no_measure"]));
        }
        match self.cell.expect {
            Expect::Nothing if lost > 0 => {
                let losses = self.report["losses"].as_array().into_iter().flatten().take(3);
                Some(format!("{lost} lost, the first of them: {}", losses.map(Value::to_string).collect::<String>()))
            }
            Expect::Something if lost == 0 => Some("nothing was lost, so this proves nothing".to_owned()),
            _ => None,
        }
    }
}
