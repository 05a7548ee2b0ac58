//! The log: lines on standard error, as text or JSON.
//!
//! The rest of lameduck logs through `tracing`. The subscriber behind it is set up only before the
//! first line: a container that is never stopped should not pay for it. Its layer is our own,
//! because the one that comes with tracing-subscriber waits for a slow reader and panics when there
//! is none.

mod layer;
mod line;
mod writer;

use crate::cli::{LogFormat, LogLevel};
use layer::Lines;
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use writer::Writer;

/// Standard error, for all who write to it.
static WRITER: Mutex<Writer> = Mutex::new(Writer::new());

/// Sets the log up.
pub fn set_up(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Fails only where a program that embeds lameduck logs by itself already; then that is the log.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Lines::new(format, level)));
}

/// The present as log lines write it: `2026-01-31T23:59:59.123Z`.
pub(crate) fn time_now() -> String {
    line::time(crate::run::clock::wall())
}

/// Writes `text` to standard error, as it is: for the pages that end lameduck before it ran
/// anything. Never waits.
pub fn raw(text: &str) {
    write(text.as_bytes());
}

/// Has a panic tell of itself without waiting. Std's own hook writes as if there always were a
/// reader.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| write(format!("lameduck: error: {panic}\n").as_bytes())));
}

fn write(bytes: &[u8]) {
    // A panic while a line was being written leaves at worst half a line behind.
    let mut writer = WRITER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    writer.write(bytes);
}
