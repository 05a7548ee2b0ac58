//! Single values, as text: each reader says what is wrong and what to write instead.

use super::{LogFormat, LogLevel};
use crate::core::policy::{StopOn, StopSignal};
use crate::core::{Signal, SignalSet, Unready, duration};
use std::path::PathBuf;
use std::time::Duration;

/// A value, or what is wrong with the text.
type Read<T> = Result<T, String>;

pub(super) fn time(text: &str) -> Read<Duration> {
    duration::parse(text).map_err(|why| why.to_string())
}

/// `None` = without a limit.
pub(super) fn drain(text: &str) -> Read<Option<Duration>> {
    if text.trim() == "none" {
        return Ok(None);
    }
    time(text).map(Some).map_err(|why| format!("{why}; \"none\" for no limit"))
}

pub(super) fn signal(text: &str) -> Read<Signal> {
    Signal::parse(text).map_err(|_| {
        if matches!(text.trim(), "32" | "33") {
            "signals 32 and 33 belong to the C library and cannot be used".to_owned()
        } else {
            "not a signal: write a name or a number, as in TERM, SIGQUIT, 10, RTMIN+3".to_owned()
        }
    })
}

/// A signal that can be received and held back.
fn receivable(text: &str) -> Read<Signal> {
    let signal = signal(text)?;
    if !signal.can_be_held() {
        return Err(format!("{signal} never reaches any process: it cannot be held back"));
    }
    if signal == Signal::CHLD {
        return Err(format!("{signal} only tells that a child has ended, and is never passed on"));
    }
    Ok(signal)
}

pub(super) fn stop_signal(text: &str) -> Read<StopSignal> {
    match text.trim() {
        "auto" => Ok(StopSignal::Auto),
        "same" => Ok(StopSignal::Same),
        _ => match signal(text) {
            Ok(ends) if !matches!(ends, Signal::STOP | Signal::CONT | Signal::CHLD) => Ok(StopSignal::This(ends)),
            Ok(other) => Err(format!("{other} ends no server: write one that does, as in TERM or QUIT, or auto")),
            Err(why) => Err(format!("{why}; or auto, same")),
        },
    }
}

/// One item of `--stop-on`; `None` = `auto`.
pub(super) fn stop_on(text: &str) -> Read<Option<Signal>> {
    if text.trim() == "auto" { Ok(None) } else { receivable(text).map(Some) }
}

/// All items of `--stop-on` together.
pub(super) fn stop_on_all(items: &[Option<Signal>]) -> Read<StopOn> {
    match items {
        [] | [None] => Ok(StopOn::Auto),
        _ => match items.iter().copied().collect::<Option<SignalSet>>() {
            Some(signals) => Ok(StopOn::These(signals)),
            None => Err("auto stands alone: write either auto or a list of signals".to_owned()),
        },
    }
}

pub(super) fn hurry(text: &str) -> Read<bool> {
    word(text, &[("hurry", true), ("ignore", false)])
}

/// `FROM:TO`; `None` = dropped.
pub(super) fn rewrite(text: &str) -> Read<(Signal, Option<Signal>)> {
    let (from, to) = text.split_once(':').ok_or("write FROM:TO, as in HUP:TERM, or USR1:0 to drop USR1")?;
    let to = if to.trim() == "0" { None } else { Some(signal(to)?) };
    Ok((receivable(from)?, to))
}

/// `A=B`, or `A` for `A=0`.
pub(super) fn map_exit(text: &str) -> Read<(u8, u8)> {
    let (from, to) = text.split_once('=').unwrap_or((text, "0"));
    Ok((status(from)?, status(to)?))
}

/// The path of a page of our own choosing.
pub(super) fn path(text: &str) -> Read<String> {
    let text = text.trim();
    if !text.starts_with('/') || text.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#'))
    {
        return Err("not a path: write one that begins with /, as in /healthz".to_owned());
    }
    if matches!(text, "/livez" | "/status") {
        return Err("this path says something else: take another, as in /healthz".to_owned());
    }
    Ok(text.to_owned())
}

fn status(text: &str) -> Read<u8> {
    let text = text.trim();
    // `parse` alone would take `+7`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| "not exit statuses: write A=B, or A for A=0, with numbers from 0 to 255".to_owned())
}

pub(super) fn log_format(text: &str) -> Read<LogFormat> {
    word(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)])
}

pub(super) fn log_level(text: &str) -> Read<LogLevel> {
    word(text, &LogLevel::NAMES)
}

pub(super) fn unready(text: &str) -> Read<Unready> {
    word(text, &[("start", Unready::Start), ("end", Unready::End), ("never", Unready::Never)])
}

/// The name of a file to be written.
pub(super) fn file(text: &str) -> Read<PathBuf> {
    let path = PathBuf::from(text);
    if path.file_name().is_none() || text.ends_with('/') {
        return Err("not a file: write its name, as in /run/lameduck/ready".to_owned());
    }
    Ok(path)
}

/// A command, split into words as a shell would. No shell is run, so nothing is filled in.
pub(super) fn command(text: &str) -> Read<Vec<String>> {
    let words = shell_words::split(text).map_err(|_| "a quote is not closed".to_owned())?;
    match words.first() {
        None => Err("no command in it".to_owned()),
        Some(program) if program.is_empty() => Err("the name of the program is empty".to_owned()),
        Some(_) => Ok(words),
    }
}

/// The time limit of a hook.
pub(super) fn hook_timeout(text: &str) -> Read<Duration> {
    match time(text)? {
        Duration::ZERO => Err("a hook needs time: leave the hook out to run none".to_owned()),
        limit => Ok(limit),
    }
}

/// A switch in the environment.
pub(super) fn yes_or_no(text: &str) -> Read<bool> {
    let on = |words: [&str; 4]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    if on(["1", "true", "yes", "on"]) {
        Ok(true)
    } else if on(["0", "false", "no", "off"]) {
        Ok(false)
    } else {
        Err("neither yes nor no: write 1 or 0 (also true, yes, on; false, no, off)".to_owned())
    }
}

/// A switch that may be repeated, in the environment.
pub(super) fn count(text: &str) -> Read<u8> {
    match text.trim().parse() {
        Ok(count) => Ok(count),
        Err(_) => yes_or_no(text).map(u8::from).map_err(|_| "write 0, 1 (debug) or 2 (trace)".to_owned()),
    }
}

/// One of a few words, in whatever case.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Read<T> {
    let found = words.iter().find(|(word, _)| text.trim().eq_ignore_ascii_case(word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("unknown: write one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_may_be_without_limit() {
        assert_eq!(drain("none"), Ok(None));
        assert_eq!(drain("0"), Ok(Some(Duration::ZERO)));
        assert!(drain("never").unwrap_err().contains("\"none\""));
    }

    #[test]
    fn signals_that_cannot_be_held_are_refused_where_they_would_have_to_be() {
        for text in ["KILL", "STOP", "9", "19", "32", "33", "CHLD"] {
            assert!(stop_on(text).is_err(), "{text}");
            assert!(rewrite(&format!("{text}:TERM")).is_err(), "{text}");
        }
        assert_eq!(rewrite("HUP:KILL"), Ok((Signal::HUP, Some(Signal::KILL))));
        assert!(signal("32").unwrap_err().contains("C library"));
    }

    #[test]
    fn a_server_is_stopped_only_with_what_can_end_it() {
        assert_eq!(stop_signal("auto"), Ok(StopSignal::Auto));
        assert_eq!(stop_signal("same"), Ok(StopSignal::Same));
        assert_eq!(stop_signal("sigquit"), Ok(StopSignal::This(Signal::QUIT)));
        assert_eq!(stop_signal("KILL"), Ok(StopSignal::This(Signal::KILL)));
        for text in ["STOP", "CONT", "CHLD", "0", "", "none"] {
            assert!(stop_signal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn auto_stands_alone() {
        assert_eq!(stop_on_all(&[]), Ok(StopOn::Auto));
        assert_eq!(stop_on_all(&[None]), Ok(StopOn::Auto));
        let these = [Signal::TERM, Signal::QUIT];
        assert_eq!(stop_on_all(&these.map(Some)), Ok(StopOn::These(these.into_iter().collect())));
        assert!(stop_on_all(&[None, Some(Signal::TERM)]).is_err());
    }

    #[test]
    fn rewrites_are_pairs_and_nought_drops() {
        assert_eq!(rewrite("HUP:TERM"), Ok((Signal::HUP, Some(Signal::TERM))));
        assert_eq!(rewrite("15:3"), Ok((Signal::TERM, Some(Signal::QUIT))));
        assert_eq!(rewrite("USR1:0"), Ok((Signal::USR1, None)));
        assert_eq!(rewrite("RTMIN+3:TERM").map(|(from, _)| from.number()), Ok(37));
        for text in ["", ":", "HUP", "HUP:", ":TERM", "HUP:TERM:QUIT", "0:TERM", "HUP=TERM", "HUP:-1"] {
            assert!(rewrite(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_one_that_can_be_asked_for() {
        for text in ["/", "/healthz", "/a/b.c%20d", "/readyz"] {
            assert_eq!(path(text).as_deref(), Ok(text));
        }
        for text in ["", "healthz", "/a b", "/a?b", "/a#b", "/a\nb", "/livez", "/status"] {
            assert!(path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn exit_statuses_are_bytes() {
        assert_eq!(map_exit("143"), Ok((143, 0)));
        assert_eq!(map_exit("143=7"), Ok((143, 7)));
        assert_eq!(map_exit(" 0 = 255 "), Ok((0, 255)));
        for text in ["", "=", "143=", "=0", "256", "1=256", "-1", "+1", "1:0", "1=2=3", "0x10"] {
            assert!(map_exit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn switches_are_read_as_people_write_them() {
        for text in ["1", "true", "YES", "On", " 1 "] {
            assert_eq!(yes_or_no(text), Ok(true), "{text}");
        }
        for text in ["0", "False", "no", "OFF"] {
            assert_eq!(yes_or_no(text), Ok(false), "{text}");
        }
        for text in ["2", "y", "enabled", "-1"] {
            assert!(yes_or_no(text).is_err(), "{text}");
        }
        assert_eq!(["0", "1", "2", "yes", "off"].map(count), [Ok(0), Ok(1), Ok(2), Ok(1), Ok(0)]);
        assert!(count("loud").is_err() && count("256").is_err());
    }
}
