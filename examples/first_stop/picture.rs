//! A stop as a picture: one row for each quarter of a second, one mark for each request sent in it.

use crate::Stop;
use std::time::{Duration, Instant};

/// How much time a row stands for.
const ROW: Duration = Duration::from_millis(250);

/// Prints the stop, from about `first` on to the end.
pub(crate) fn print(stop: &Stop, first: Instant) {
    println!("    seconds   each o is a request that was answered, each X one that was lost");
    let mut events = events(stop);
    // A row begins with the signal.
    let nanos = (stop.began - first).as_nanos() % ROW.as_nanos();
    let mut row = first + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let end_of_all = events.iter().map(|(when, _)| *when).max().unwrap_or(first);
    while row < end_of_all {
        let end = row + ROW;
        let (now, later): (Vec<_>, Vec<_>) = events.into_iter().partition(|(when, _)| *when < end);
        let (ahead, within): (Vec<_>, Vec<_>) = now.into_iter().partition(|(when, _)| *when <= row);
        tell(stop.began, &ahead);
        println!("{}", format!("    {}   {}", seconds(stop.began, row), marks(stop, row, end)).trim_end());
        tell(stop.began, &within);
        events = later;
        row = end;
    }
    tell(stop.began, &events);
    println!("\n    lameduck's own log of it:");
    for (_, line) in &stop.log {
        println!("      {line}");
    }
    println!();
    crate::flush();
}

/// What happened, in order.
fn events(stop: &Stop) -> Vec<(Instant, String)> {
    let mut events = vec![(stop.began, "the platform sends SIGTERM to lameduck".to_owned())];
    if let Some(last) = stop.requests.iter().map(|request| request.sent).max() {
        events.push((last + Duration::from_millis(1), "the balancer has noticed: no more requests".to_owned()));
    }
    if let Some((when, _)) = stop.log.iter().find(|(_, line)| line.starts_with("lameduck: draining: ")) {
        events.push((*when, "lameduck sends the server its graceful signal; it drains".to_owned()));
    }
    let last_answer = stop.requests.iter().filter_map(|request| request.answered).max();
    if let Some(when) = last_answer.filter(|when| *when > stop.began) {
        events.push((when, "the last answer is out".to_owned()));
    }
    events.push((stop.gone, format!("the server has gone, and lameduck with it: {}", stop.status)));
    events.sort_by_key(|(when, _)| *when);
    events
}

fn tell(began: Instant, events: &[(Instant, String)]) {
    for (when, what) in events {
        println!("    {} --- {what}", seconds(began, *when));
    }
}

/// The requests that were sent in this time, in their order.
fn marks(stop: &Stop, from: Instant, to: Instant) -> String {
    let mut sent: Vec<_> = stop.requests.iter().filter(|r| r.sent >= from && r.sent < to).collect();
    sent.sort_by_key(|request| request.sent);
    let marks: Vec<&str> = sent.iter().map(|r| if r.answered.is_some() { "o" } else { "X" }).collect();
    marks.join(" ")
}

/// Seconds since the signal, signed.
fn seconds(began: Instant, when: Instant) -> String {
    let (sign, time) = if when < began { ('-', began - when) } else { ('+', when - began) };
    format!("{sign}{:.2} s", time.as_secs_f64())
}
