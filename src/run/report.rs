//! The report file, and the facts that go into it.

use super::files::{self, Failure};
use super::procfs;
use crate::cli::{Place, Settings};
use crate::core::report::HookRun;
use crate::core::{Delivery, Machine, Note, Phase, Pid, Recorder, Tick};
use crate::json::Value;
use crate::log;
use std::fs::File;

/// A report in the making.
pub(super) struct Report {
    place: Place,
    /// A pipe or a device stays open: whoever reads a pipe would take its closing for the end.
    kept: Option<File>,
    recorder: Recorder,
}

// === impl Report ===

impl Report {
    /// Empties the file, so that nobody takes a former run's report for this one's.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub(super) fn open(place: Place, settings: &Settings) -> Result<Self, String> {
        let opened = files::open_in_place(&place.path).and_then(|mut file| {
            files::write_all(&mut file, "")?;
            Ok(Some(file).filter(|file| !file.metadata().is_ok_and(|meta| meta.is_file())))
        });
        let kept = opened.map_err(|error| Failure { place: &place, error }.to_string())?;
        let command = settings.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(Self { place, kept, recorder: Recorder::new(command, settings.extras.shown.clone()) })
    }

    pub(super) fn started(&mut self, pid: Pid, name: &str, now: Tick) {
        self.recorder.started(pid, name, now);
    }

    pub(super) fn note(&mut self, note: &Note, machine: &Machine, now: Tick) {
        if let Note::Entered(Phase::LameDuck | Phase::Draining) = note {
            self.stopped(machine);
        }
        self.recorder.note(note, now);
    }

    /// Both may be gone or called otherwise by the time the report is written.
    fn stopped(&mut self, machine: &Machine) {
        let name = |pid: Option<Pid>| Some(procfs::stat(pid.filter(|pid| *pid != 0)?)?.comm);
        let sender = machine.state(Tick::ZERO).stop.and_then(|(_, sender)| sender.ids().0);
        self.recorder.stopped(name(machine.main()).as_deref(), name(sender).as_deref());
    }

    pub(super) fn delivered(&mut self, delivery: Delivery) {
        self.recorder.delivered(delivery);
    }

    pub(super) fn killed(&mut self, killed: &[(Pid, String)]) {
        self.recorder.killed(killed);
    }

    pub(super) fn traffic(&mut self, traffic: Value) {
        self.recorder.traffic(traffic);
    }

    pub(super) fn hook(&mut self, run: HookRun) {
        self.recorder.hook(run);
    }

    pub(super) fn warning(&mut self, text: String) {
        self.recorder.warning(text);
    }

    /// Writes what is known now.
    ///
    /// # Errors
    /// Why it could not be written.
    pub(super) fn write(&mut self, machine: &Machine, now: Tick) -> Result<(), String> {
        let line = self.recorder.line(&machine.state(now), Some(&machine.ended(now)), now, log::time_now());
        let written = match &mut self.kept {
            Some(file) => files::write_all(file, &line),
            None => files::write_in_place(&self.place.path, &line),
        };
        written.map_err(|error| Failure { place: &self.place, error }.to_string())
    }
}
