//! What reports of real stops come to.

use super::*;
use std::fs;

/// Reads these texts as files of reports.
fn read_texts(name: &str, texts: &[&str]) -> (Seen, Vec<String>) {
    let directory = std::env::temp_dir().join(format!("lameduck-seen-{}-{name}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let mut files = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let file = directory.join(format!("{at}.json"));
        fs::write(&file, text).unwrap();
        files.push(file);
    }
    let mut problems = Vec::new();
    let seen = read(&files, &mut problems);
    fs::remove_dir_all(&directory).unwrap();
    let told = problems.iter().map(|problem| format!("{}: {}", problem.line.unwrap_or(0), problem.message)).collect();
    (seen, told)
}

fn report(last: &str, delay: &str, traffic: &str) -> String {
    format!(
        "{{\"schema\":1,\"outcome\":\"exited\",\"signal\":\"SIGTERM\",\"phases\":[{{\"phase\":\"lame-duck\",\"at_s\":0.000,\
         \"seconds\":{delay}}},{{\"phase\":\"draining\",\"at_s\":{delay},\"seconds\":1.500}}],\"traffic\":{{\"source\":\
         \"sock_diag\",\"last_connection_s\":null,\"last_request_s\":{last},\"margin_s\":0.5,\"ended\":\"delay\"{traffic}}}}}"
    )
}

fn judged(lasts: &[f64], delay: f64) -> Judged {
    let texts: Vec<String> = lasts.iter().map(|last| report(&last.to_string(), &delay.to_string(), "")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (seen, problems) = read_texts(&format!("{}-{}", lasts.len(), lasts[0]), &texts);
    assert_eq!(problems, Vec::<String>::new());
    seen.judge().unwrap()
}

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

#[test]
fn the_latest_request_and_half_the_spread_make_the_delay() {
    let judged = judged(&[4.0, 8.2, 5.0, 6.0, 7.0], 15.0);
    assert_eq!((judged.stops, judged.earliest, judged.latest), (5, seconds(4.0), seconds(8.2)));
    assert_eq!((judged.spare, judged.delay, judged.sure), (seconds(2.1), seconds(11.0), Sure::Fairly));
}

#[test]
fn a_few_stops_that_agree_are_still_few() {
    let judged = judged(&[8.0, 8.1], 15.0);
    assert_eq!((judged.spare, judged.delay, judged.sure), (seconds(5.0), seconds(14.0), Sure::Little));
    assert!(judged.how_sure().starts_with("little"), "{}", judged.how_sure());
}

#[test]
fn twenty_stops_are_good_and_the_chance_is_said() {
    let judged = judged(&[3.0; 20], 10.0);
    assert_eq!((judged.delay, judged.sure), (seconds(5.0), Sure::Well));
    assert!(judged.how_sure().contains("once in 21"), "{}", judged.how_sure());
}

#[test]
fn where_requests_still_came_the_end_is_not_known() {
    let judged = judged(&[4.0, 9.4], 10.0);
    assert_eq!((judged.cut, judged.sure, judged.delay), (1, Sure::No, seconds(15.0)));
    assert!(judged.told().contains("still arriving"), "{}", judged.told());
}

/// A report of a stop in a shared network namespace, without a margin.
fn report_of_a_shared_one(last: &str, opens: u32) -> String {
    report(last, "10.0", &format!(",\"namespace_opens\":{opens}")).replace("\"margin_s\":0.5", "\"margin_s\":null")
}

#[test]
fn a_stop_without_a_margin_is_no_proof_of_a_small_delay() {
    let judged = |last| {
        let (seen, _) =
            read_texts(&format!("shared-{last}"), &[&report_of_a_shared_one(last, 6), &report("7.0", "10.0", "")]);
        (seen.stops[0].last.clone(), seen.judge().unwrap())
    };
    for last in ["0.25", "null"] {
        let (stop, judged) = judged(last);
        assert!(stop.unwrap_err().contains("unseen"), "{last}");
        assert_eq!((judged.stops, judged.earliest), (1, seconds(7.0)), "{last}");
    }
    // Requests that still came when it ended are proof enough that it was too small.
    let (_, judged) = judged("9.5");
    assert_eq!((judged.stops, judged.cut), (2, 1));
    // And where nothing came that might have been one, nothing is left to doubt.
    let (seen, _) = read_texts("shared-quiet", &[&report_of_a_shared_one("null", 0)]);
    assert_eq!(seen.stops[0].last, Err("no traffic was seen".to_owned()));
}

#[test]
fn a_quiet_end_is_no_cut() {
    let text = report("9.5", "10.0", "").replace("\"ended\":\"delay\"", "\"ended\":\"quiet\"");
    let (seen, _) = read_texts("quiet", &[&text]);
    assert_eq!(seen.judge().map(|judged| judged.cut), Some(0));
}

#[test]
fn what_says_nothing_about_the_delay_says_why() {
    let usual = report("1.0", "10.0", "");
    for (what, to, why) in [
        ("\"exited\"", "\"died-in-delay\"", "ended by itself during the delay"),
        ("\"exited\"", "\"not-started\"", "never started"),
        ("\"SIGTERM\"", "null", "no stop signal"),
        ("\"ended\":\"delay\"", "\"ended\":\"hurried\"", "second stop signal"),
        ("\"last_request_s\":1.0", "\"last_request_s\":null", "no traffic"),
        ("\"traffic\"", "\"trafic\"", "not watched"),
        ("\"lame-duck\"", "\"killing\"", "no delay"),
        ("\"last_request_s\":1.0", "\"last_request_s\":-1.0", "no traffic"),
        ("\"last_request_s\":1.0", "\"last_request_s\":1e300", "no traffic"),
    ] {
        let (seen, problems) = read_texts("nothing", &[&usual.replace(what, to)]);
        assert_eq!(problems, Vec::<String>::new());
        let error = seen.stops[0].last.clone().unwrap_err();
        assert!(error.contains(why), "{to}: {error}");
        assert!(seen.judge().is_none());
    }
}

#[test]
fn where_only_connections_were_seen_they_count_and_it_is_said() {
    let text = report("null", "10.0", "")
        .replace("\"sock_diag\"", "\"proc\"")
        .replace("\"last_connection_s\":null", "\"last_connection_s\":2.5");
    let (seen, _) = read_texts("proc", &[&text]);
    let last = seen.stops[0].last.clone().unwrap();
    assert_eq!((last.at, last.connections_only), (seconds(2.5), true));
}

#[test]
fn a_file_may_hold_a_report_a_line_and_what_is_none_is_told_with_its_line() {
    let line = report("1.0", "10.0", "");
    let (seen, problems) = read_texts("lines", &[&format!("{line}\n{line}\n\n{{\"a\":1}}\n{line}\n")]);
    assert_eq!(seen.stops.len(), 3);
    assert_eq!(problems, ["4: not a report of lameduck: it has no outcome"]);
    let (_, problems) = read_texts("later", &[&line.replace("\"schema\":1", "\"schema\":2"), "{\"a\": [1,\n", ""]);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("schema 2") && problems[1].contains("complete") && problems[2].contains("empty"));
}

#[test]
fn drains_that_were_killed_tell_no_length() {
    let text = report("1.0", "10.0", "").replace("\"exited\"", "\"killed\"");
    let (seen, _) = read_texts("killed", &[&text]);
    assert_eq!((seen.longest_drain(), seen.killed()), (None, 1));
    let (seen, _) = read_texts("drained", &[&report("1.0", "10.0", "")]);
    assert_eq!((seen.longest_drain(), seen.killed()), (Some((seconds(1.5), 1)), 0));
}
