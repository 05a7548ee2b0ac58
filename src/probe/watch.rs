//! What is asked beside the load: the readiness of the targets, and the phases of lameducks that stop.
//!
//! Only changes are kept, so that a long run takes no more room than a short one.

use super::client::Client;
use super::target::Target;
use crate::core::Phase;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, MissedTickBehavior};

/// Between two questions. Health checks of balancers are slower, and a short drain is to be seen.
const EVERY: Duration = Duration::from_millis(100);

/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(1);

/// Something that changed. Which of the URLs it was is its number in the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// The status of a readiness page; none when there was no answer.
    Readiness(usize, Instant, Option<u16>),
    /// A lameduck's phase, and when it began.
    Phase(usize, Instant, Option<Phase>),
}

/// Asks a readiness page for as long as the run lasts.
pub(super) async fn readiness(client: Arc<Client>, target: Target, number: usize, tell: UnboundedSender<Change>) {
    let mut last = None;
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        let asked = Instant::now();
        let status = client.look(&target, PATIENCE).await.map(|answer| answer.status);
        if last != Some(status) {
            last = Some(status);
            if tell.send(Change::Readiness(number, asked, status)).is_err() {
                return;
            }
        }
    }
}

/// Asks a lameduck for its phase for as long as the run lasts.
pub(super) async fn phases(client: Arc<Client>, target: Target, number: usize, tell: UnboundedSender<Change>) {
    let mut last = None;
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        let asked = Instant::now();
        let answer = client.look(&target, PATIENCE).await;
        let read = answer.and_then(|answer| read(&answer.body));
        let phase = read.map(|(phase, _)| phase);
        if last != Some(phase) {
            last = Some(phase);
            let began = read.and_then(|(_, since)| asked.checked_sub(since)).unwrap_or(asked);
            if tell.send(Change::Phase(number, began, phase)).is_err() {
                return;
            }
        }
    }
}

/// The phase of a `/status`, and how long it has lasted.
fn read(body: &[u8]) -> Option<(Phase, Duration)> {
    let status: serde_json::Value = serde_json::from_slice(body).ok()?;
    let name = status.get("phase")?.as_str()?;
    let phase = Phase::ALL.into_iter().find(|phase| phase.name() == name)?;
    let since = status.get("phase_elapsed_s").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    Some((phase, Duration::try_from_secs_f64(since).ok()?))
}

fn ticks() -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_is_read_from_a_status_and_nothing_from_anything_else() {
        let status = br#"{"schema":1,"phase":"lame-duck","ready":false,"phase_elapsed_s":2.500}"#;
        assert_eq!(read(status), Some((Phase::LameDuck, Duration::from_millis(2_500))));
        assert_eq!(read(br#"{"phase":"gone"}"#), Some((Phase::Gone, Duration::ZERO)));
        for other in [&b""[..], b"ok", b"{}", b"{\"phase\":\"asleep\"}", br#"{"phase":"gone","phase_elapsed_s":-1}"#] {
            assert_eq!(read(other), None);
        }
    }
}
