//! The deploy command: started, listened to, and never hurried.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

/// The longest line that is passed on; the rest of it is dropped.
const LONGEST: u64 = 4_096;

/// How long is waited for what a command that has ended said last.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What the command did.
#[derive(Debug)]
pub(super) enum Event {
    /// It said this.
    Said(Instant, String),
    /// It ended.
    Ended(Instant, io::Result<ExitStatus>),
}

/// Starts the command. What it says comes line by line, so that it does not run into the status line.
///
/// # Errors
/// When it cannot be started.
pub(super) fn start(command: &[OsString]) -> io::Result<UnboundedReceiver<Event>> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (tell, events) = unbounded_channel();
    let out = child.stdout.take().map(|out| listen(out, &tell));
    let err = child.stderr.take().map(|err| listen(err, &tell));
    thread::spawn(move || wait(&mut child, &[out, err], &tell));
    Ok(events)
}

/// The words as a shell would show them.
pub(super) fn written(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// The status as a shell tells it: 128 + n for signal n.
pub(super) fn code(status: ExitStatus) -> Option<i32> {
    status.code().or(status.signal().map(|signal| 128 + signal))
}

fn wait(child: &mut Child, listeners: &[Option<JoinHandle<()>>], tell: &UnboundedSender<Event>) {
    let status = child.wait();
    let ended = Instant::now();
    // Its last words come first. The pipes may be held open by what the command left running, so this
    // has a limit.
    while listeners.iter().flatten().any(|listener| !listener.is_finished()) && ended.elapsed() < LAST_WORDS {
        thread::park_timeout(LAST_WORDS / 20);
    }
    // Nobody listens any more when the result is out.
    let _ = tell.send(Event::Ended(ended, status));
}

fn listen(pipe: impl Read + Send + 'static, tell: &UnboundedSender<Event>) -> JoinHandle<()> {
    let tell = tell.clone();
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        // Read to the end even when nobody listens: the command must not die of a closed pipe.
        while let Ok(1..) = (&mut pipe).take(LONGEST).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line);
            // A progress bar writes over itself: what it last was is the line.
            let text = plain(text.trim_end().rsplit('\r').next().unwrap_or_default());
            if !text.is_empty() {
                let _ = tell.send(Event::Said(Instant::now(), text));
            }
            line.clear();
        }
    })
}

/// The text without colours, cursor movements and the like: it goes into reports, and beside a status line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // ESC [ ... letter (ECMA-48, section 5.4); after anything else one letter is the whole of it.
            '\x1b' if letters.next() == Some('[') => {
                letters.find(|letter| ('\x40'..='\x7e').contains(letter));
            }
            '\t' => plain.push(' '),
            letter if letter.is_control() => {}
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_and_control_characters_of_the_command_stay_out_of_the_reports() {
        for (said, kept) in [
            ("\x1b[1;31mred\x1b[0m text", "red text"),
            ("\x1b[2K\x1b[1Gdone", "done"),
            ("a\tb\x07", "a b"),
            ("\x1b7kept\x1b8", "kept"),
            ("cut \x1b[3", "cut "),
            ("grüße [1m]", "grüße [1m]"),
        ] {
            assert_eq!(plain(said), kept);
        }
    }
}
