//! The longest possible stop as a picture: pure, from settings to lines of text.
//!
//! One row for each event and each span, to scale, in plain ASCII: it has to look right in
//! `docker logs`, in a pager and in a pasted issue.

use crate::core::duration::Written;
use crate::core::policy::{StopOn, StopSignal};
use crate::core::{Budget, Policy};
use std::fmt::Write as _;
use std::time::Duration;

/// Columns of the chart; two to the left of it and a few to the right stay free.
const WIDTH: usize = 75;

/// Distances between the marks of the axis, in seconds.
const STEPS: [u64; 21] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800, 2_592_000,
    7_776_000,
];

/// The most marks the axis has room for, with their labels.
const MOST_MARKS: u64 = 8;

/// A drain without a limit is drawn at least this long.
const UNLIMITED: Duration = Duration::from_secs(30);

/// A chart in the making.
struct Chart {
    rows: Vec<Vec<char>>,
    /// The moment at the right edge.
    end: Duration,
}

/// Draws the stop of a policy, with the platform's limit if one is known.
pub(crate) fn draw(policy: &Policy, grace: Option<Duration>) -> String {
    let budget = Budget::of(policy);
    let drawn = budget.total().unwrap_or_else(|| policy.delay + UNLIMITED.max(policy.delay));
    let mut chart = Chart { rows: Vec::new(), end: drawn.max(grace.unwrap_or_default()) };
    chart.axis();
    chart.mark(Duration::ZERO, &stop_signal(policy.stop_on));
    let mut at = Duration::ZERO;
    let mut told = false;
    for (name, length) in &budget.parts {
        let comes_before = matches!(*name, "on-stop hook" | "delay");
        if !comes_before && !told {
            chart.stop_server(policy, at);
            told = true;
        }
        let Some(length) = *length else {
            let label = "drain: the server finishes what is in flight, however long that takes";
            chart.span(at, chart.end, '-', &[label, "drain without limit"], true);
            break;
        };
        let (fill, what) = match *name {
            "delay" => ('=', "the server serves on"),
            "drain" => ('-', "the server finishes what is in flight"),
            "linger" => ('.', "for what the server leaves behind"),
            "kill" => ('x', "for the killed to be gone"),
            _ => ('~', "at the most"),
        };
        let short = format!("{name} {}", Written(length));
        chart.span(at, at + length, fill, &[&format!("{short}: {what}"), &short], false);
        at += length;
        if *name == "drain" {
            chart.mark(at, "SIGKILL if it still runs");
        }
    }
    if let Some(grace) = grace {
        chart.limit(grace);
    }
    chart.text()
}

fn stop_signal(stop_on: StopOn) -> String {
    match stop_on {
        StopOn::Auto | StopOn::Nothing => "stop signal".to_owned(),
        StopOn::These(signals) => {
            let names: Vec<String> = signals.iter().take(3).map(|signal| signal.to_string()).collect();
            let more = if signals.iter().nth(3).is_some() { "..." } else { "" };
            format!("{}{more}", names.join(" or "))
        }
    }
}

// === impl Chart ===

impl Chart {
    fn stop_server(&mut self, policy: &Policy, at: Duration) {
        let signal = match policy.stop_signal {
            StopSignal::Auto => "the server's graceful signal".to_owned(),
            StopSignal::Same => "the same signal to the server".to_owned(),
            StopSignal::This(signal) => format!("{signal} to the server"),
        };
        self.mark(at, &signal);
        if policy.drain == Some(Duration::ZERO) {
            self.mark(at, "SIGKILL if it still runs");
        }
    }

    /// The column of a moment.
    fn column(&self, at: Duration) -> usize {
        let (at, end) = (at.as_millis(), self.end.as_millis().max(1));
        let last = WIDTH - 1;
        usize::try_from((at * last as u128 + end / 2) / end).map_or(last, |column| column.min(last))
    }

    /// The moments on the axis, and the axis.
    fn axis(&mut self) {
        let end = self.end.as_secs();
        let step = STEPS.into_iter().find(|step| end / step < MOST_MARKS).unwrap_or(end.max(1));
        let (mut labels, mut line) = (Vec::new(), vec!['-'; WIDTH]);
        for mark in 0..=end / step {
            let at = Duration::from_secs(mark * step);
            let column = self.column(at);
            line[column] = '+';
            let label = Written(at).to_string();
            put(&mut labels, column.min(WIDTH - label.len()), &label);
        }
        self.rows.extend([labels, line]);
    }

    /// An event.
    fn mark(&mut self, at: Duration, label: &str) {
        let column = self.column(at);
        self.point(column, 'v', &[label]);
    }

    /// A row with one mark: the first label that fits to its right or to its left stands there.
    fn point(&mut self, column: usize, mark: char, labels: &[&str]) {
        let mut row = Vec::new();
        put(&mut row, column, mark.encode_utf8(&mut [0; 4]));
        for label in labels {
            let right = Some(column + 2).filter(|right| right + label.len() <= WIDTH);
            if let Some(at) = right.or_else(|| column.checked_sub(label.len() + 1)) {
                put(&mut row, at, label);
                break;
            }
        }
        self.rows.push(row);
    }

    /// A span of time: its label goes inside the bar, or beside it, and the first label that fits
    /// somewhere is taken.
    fn span(&mut self, from: Duration, to: Duration, fill: char, labels: &[&str], open: bool) {
        let (a, b) = (self.column(from), self.column(to));
        let mut row = Vec::new();
        let bar: String = match b - a {
            0 => "|".to_owned(),
            inner => format!("[{}{}", String::from(fill).repeat(inner - 1), if open { '>' } else { ']' }),
        };
        put(&mut row, a, &bar);
        for label in labels {
            let (length, inner) = (label.chars().count(), bar.len() - 1);
            let place = if length + 6 <= inner {
                Some((a + 4, format!(" {label} ")))
            } else if b + 2 + length <= WIDTH {
                Some((b + 2, (*label).to_owned()))
            } else {
                a.checked_sub(length + 1).map(|at| (at, (*label).to_owned()))
            };
            if let Some((at, label)) = place {
                put(&mut row, at, &label);
                break;
            }
        }
        self.rows.push(row);
    }

    /// The platform's limit: a line from top to bottom.
    fn limit(&mut self, grace: Duration) {
        let column = self.column(grace);
        for row in self.rows.iter_mut().skip(2) {
            // Beside a letter the line would look like one.
            let near = |at: usize| row.get(at).is_some_and(|c| *c != ' ');
            if !near(column) && !near(column + 1) && !near(column.wrapping_sub(1)) {
                put(row, column, ":");
            }
        }
        let short = format!("grace {}", Written(grace));
        self.point(column, '^', &[&format!("{short}: the platform kills everything"), &short]);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let line: String = row.iter().collect();
            let _ = writeln!(text, "  {}", line.trim_end());
        }
        text
    }
}

/// Writes `text` into a row from `column` on.
fn put(row: &mut Vec<char>, column: usize, text: &str) {
    let end = column + text.chars().count();
    if row.len() < end {
        row.resize(end, ' ');
    }
    for (cell, c) in row.iter_mut().skip(column).zip(text.chars()) {
        *cell = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Signal, SignalSet};
    use proptest::prelude::*;

    fn stop(delay: u64, drain: Option<u64>) -> Policy {
        let seconds = Duration::from_secs;
        Policy { delay: seconds(delay), drain: drain.map(seconds), ..Policy::default() }
    }

    #[track_caller]
    fn looks(policy: &Policy, grace: Option<u64>, expected: &str) {
        let drawn = draw(policy, grace.map(Duration::from_secs));
        let expected = expected.trim_start_matches('\n');
        assert!(drawn == expected, "expected:\n{expected}\ndrawn:\n{drawn}");
    }

    #[test]
    fn the_defaults() {
        looks(
            &stop(0, Some(30)),
            None,
            "
  0s        5s        10s       15s       20s       25s       30s       35s
  +---------+---------+---------+---------+---------+---------+---------+----
  v stop signal
  v the server's graceful signal
  [--- drain 30s: the server finishes what is in flight ------]
                                     SIGKILL if it still runs v
                 linger 5s: for what the server leaves behind [.........]
                                     kill 2s: for the killed to be gone [xxx]
",
        );
    }

    #[test]
    fn a_delay_within_a_grace_period() {
        looks(
            &stop(15, Some(30)),
            Some(60),
            "
  0s          10s          20s         30s         40s          50s        1m
  +-----------+------------+-----------+-----------+------------+-----------+
  v stop signal                                                             :
  [==================] delay 15s: the server serves on                      :
                     v the server's graceful signal                         :
                     [--- drain 30s ----------------------]                 :
                                 SIGKILL if it still runs v                 :
             linger 5s: for what the server leaves behind [.....]           :
                             kill 2s: for the killed to be gone [x]         :
                                    grace 1m: the platform kills everything ^
",
        );
    }

    #[test]
    fn a_stop_that_is_longer_than_the_grace_period() {
        looks(
            &stop(15, Some(30)),
            Some(45),
            "
  0s            10s           20s            30s           40s           50s
  +-------------+-------------+--------------+-------------+-------------+---
  v stop signal                                                   :
  [====================] delay 15s: the server serves on          :
                       v the server's graceful signal             :
                       [--- drain 30s ----------------------------]
                                         SIGKILL if it still runs v
                     linger 5s: for what the server leaves behind [......]
                                      kill 2s: for the killed to be gone [xx]
                         grace 45s: the platform kills everything ^
",
        );
    }

    #[test]
    fn a_drain_without_limit() {
        looks(
            &Policy { stop_signal: StopSignal::This(Signal::QUIT), ..stop(15, None) },
            Some(45),
            "
  0s              10s              20s             30s              40s
  +---------------+----------------+---------------+----------------+--------
  v stop signal                                                             :
  [========================] delay 15s: the server serves on                :
                           v SIGQUIT to the server                          :
                           [--- drain without limit ------------------------>
                                   grace 45s: the platform kills everything ^
",
        );
    }

    #[test]
    fn no_drain_at_all() {
        let stop_on = StopOn::These([Signal::TERM, Signal::INT].into_iter().collect());
        looks(
            &Policy { linger: Some(Duration::ZERO), stop_on, ..stop(0, Some(0)) },
            None,
            "
  0s                                   1s                                  2s
  +------------------------------------+------------------------------------+
  v SIGINT or SIGTERM
  v the server's graceful signal
  v SIGKILL if it still runs
  [xxx kill 2s: for the killed to be gone xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]
",
        );
    }

    #[test]
    fn hooks_stand_where_they_run() {
        let hook = Some(Duration::from_secs(5));
        looks(
            &Policy { on_stop: hook, on_exit: hook, ..stop(15, Some(30)) },
            None,
            "
  0s          10s         20s         30s         40s         50s         1m
  +-----------+-----------+-----------+-----------+-----------+-----------+--
  v stop signal
  [~~~~~] on-stop hook 5s: at the most
        [=================] delay 15s: the server serves on
                          v the server's graceful signal
                          [--- drain 30s ---------------------]
                                     SIGKILL if it still runs v
                 linger 5s: for what the server leaves behind [.....]
                                       on-exit hook 5s: at the most [~~~~~]
                                       kill 2s: for the killed to be gone [x]
",
        );
    }

    proptest! {
        #[test]
        fn whatever_the_numbers_it_fits_and_says_everything(
            delay in 0_u64..=31_536_000_000, drain: Option<u32>, linger: u32, grace in proptest::option::of(0_u64..=31_536_000_000),
            signals: u64,
        ) {
            let millis = |m: u32| Duration::from_millis(m.into());
            let policy = Policy {
                delay: Duration::from_millis(delay),
                drain: drain.map(millis),
                linger: Some(millis(linger)),
                stop_on: StopOn::These(SignalSet::from_bits(signals)),
                ..Policy::default()
            };
            let drawn = draw(&policy, grace.map(Duration::from_millis));
            prop_assert!(drawn.lines().all(|line| line.len() <= 80 && line.is_ascii()), "{}", drawn);
            for (name, length) in Budget::of(&policy).parts {
                if let Some(length) = length.filter(|_| drain.is_some() || name == "delay") {
                    let label = format!("{name} {}", Written(length));
                    prop_assert!(drawn.contains(&label), "{} {}", label, drawn);
                }
            }
            prop_assert!(drain.is_some() || drawn.contains("drain"));
            prop_assert!(grace.is_none() || drawn.contains("grace"));
        }
    }
}
