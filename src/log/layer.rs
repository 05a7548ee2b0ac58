//! The layer that turns `tracing` events into lines.

use super::line::Line;
use crate::cli::LogFormat;
use crate::run::clock;
use std::fmt::Debug;
use std::time::Duration;
use tracing::field::{Field as Name, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Writes each event as one line.
pub(super) struct Lines {
    format: LogFormat,
    level: LevelFilter,
}

/// Collects the fields of one event.
struct Collect<'a>(&'a mut Line);

// === impl Lines ===

impl Lines {
    pub(super) fn new(format: LogFormat, level: LevelFilter) -> Self {
        Self { format, level }
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("lameduck")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::new(*event.metadata().level());
        event.record(&mut Collect(&mut line));
        let text = match self.format {
            LogFormat::Text => line.text(),
            LogFormat::Json => line.json(clock::wall()),
        };
        super::write(text.as_bytes());
    }
}

// === impl Collect ===

impl Visit for Collect<'_> {
    fn record_debug(&mut self, name: &Name, value: &dyn Debug) {
        self.0.add(name.name(), format!("{value:?}").into());
    }

    fn record_str(&mut self, name: &Name, value: &str) {
        self.0.add(name.name(), value.into());
    }

    fn record_i64(&mut self, name: &Name, value: i64) {
        self.0.add(name.name(), value.into());
    }

    fn record_u64(&mut self, name: &Name, value: u64) {
        self.0.add(name.name(), i64::try_from(value).unwrap_or(i64::MAX).into());
    }

    fn record_bool(&mut self, name: &Name, value: bool) {
        self.0.add(name.name(), value.into());
    }

    /// Every one is a time in seconds, and none is negative.
    fn record_f64(&mut self, name: &Name, value: f64) {
        self.0.add(name.name(), Duration::try_from_secs_f64(value).unwrap_or_default().into());
    }
}
