//! The run: how many requests, on which connections, with which words; and what is said of it.

use super::server::{
    Probed, TWENTY, answer, answering, command, on_time, once, probe, probed, request, server, serving,
};
use crate::support::{files, until};
use lameduck::probe::schedule::{Kind, Schedule};
use serde_json::Value;
use std::net::{Ipv6Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

#[test]
fn the_rate_is_kept_and_the_shares_too() {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&paths);
    let server = server(move |mut stream| {
        while let Some(text) = request(&mut stream) {
            seen.lock().unwrap().push(text);
            answer(&mut stream, "200 OK", "", "done");
        }
    });
    let args = ["--rate", "100", "--for", "1s", "--slow-path", "/slow", "--slow", "10%", "--keep-alive", "30%"];
    let mut before = 0;
    let probed = on_time(|| {
        paths.lock().unwrap().clear();
        before = server.connections.load(Ordering::Relaxed);
        once(&[&[server.url().as_str()], &args[..]].concat())
    });
    probed.assert_all("ok", 100);
    let paths = paths.lock().unwrap();
    let count = |part: &str| paths.iter().filter(|text| text.contains(part)).count();
    let schedule = Schedule { rate: 100.0, kept_alive: 0.3, slow: 0.1, targets: 1 };
    let planned = |is: fn(&Kind) -> bool| (0..100).map(|number| schedule.kind(number)).filter(is).count();
    assert_eq!(count("GET /slow HTTP/1.1"), planned(|kind| kind.slow));
    assert_eq!(count("GET / HTTP/1.1"), planned(|kind| !kind.slow));
    assert_eq!(count("connection: close"), planned(|kind| !kind.kept_alive));
    let opened = server.connections.load(Ordering::Relaxed) - before;
    assert!((69..100).contains(&opened), "{opened} connections for 70 requests with one each and 30 on kept ones");
}

#[test]
fn a_slow_answer_delays_no_request() {
    let server = server(|mut stream| {
        request(&mut stream);
        std::thread::sleep(std::time::Duration::from_millis(700));
        answer(&mut stream, "200 OK", "", "done");
    });
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..]].concat());
    probed.assert_all("ok", 20);
    assert!(probed.json["latency_ms"]["p50"].as_f64() >= Some(700.0));
}

#[test]
fn method_headers_and_host_are_sent() {
    let seen = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&seen);
    let server = server(move |mut stream| {
        *heard.lock().unwrap() = request(&mut stream).unwrap_or_default();
        answer(&mut stream, "200 OK", "", "");
    });
    let port = server.address.port().to_string();
    let url = format!("http://web.example:{port}/a?b=c");
    let resolve = format!("web.example:{port}:127.0.0.1");
    let more = [
        "--resolve",
        &resolve,
        "--method",
        "POST",
        "-H",
        "X-One: 1",
        "-H",
        "User-Agent: mine",
        "--host",
        "other.example",
    ];
    probe(&[&[url.as_str()], &TWENTY[..], &more].concat()).assert_all("ok", 20);
    let text = seen.lock().unwrap().clone();
    assert!(text.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{text}");
    for line in ["host: other.example\r\n", "x-one: 1\r\n", "user-agent: mine\r\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn ipv6_is_asked_too() {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return crate::support::skipped("no IPv6 here");
    };
    let server = serving(listener, answering("200 OK", "", ""));
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..]].concat());
    probed.assert_all("ok", 20);
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..], &["-4"]].concat());
    assert!(probed.code == Some(2) && probed.text.contains("address of IPv6, and --ipv4"), "{}", probed.text);
}

#[test]
fn targets_take_turns_and_are_told_apart() {
    let (good, bad) = (server(answering("200 OK", "", "")), server(answering("500 Oops", "", "")));
    let probed = probe(&[&[good.url().as_str(), &bad.url()], &TWENTY[..], &["--max-lost", "10"]].concat());
    assert_eq!(probed.code, Some(0));
    let lost = |number: usize| {
        (probed.number(&format!("/targets/{number}/sent")), probed.number(&format!("/targets/{number}/lost")))
    };
    assert_eq!((lost(0), lost(1)), ((10, 0), (10, 10)));
    let probed = probe(&[&[good.url().as_str(), &bad.url()], &TWENTY[..], &["--max-lost", "9"]].concat());
    assert_eq!(probed.code, Some(1));
}

#[test]
fn ctrl_c_ends_it_with_a_result() {
    let probed = on_time(|| {
        let server = server(answering("200 OK", "", ""));
        let mut probe = command(&[&server.url(), "--for", "1h"]);
        let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("a few requests", || server.connections.load(Ordering::Relaxed) > 5);
        let pid = i32::try_from(child.id()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGINT).unwrap();
        probed(&child.wait_with_output().unwrap())
    });
    assert!(probed.number("/sent") > 5 && probed.number("/lost") == 0 && probed.code == Some(0));
    assert!(probed.text.contains("ended early"), "{}", probed.text);
}

#[test]
fn what_was_on_its_way_when_it_was_cut_short_is_in_no_class_and_is_told() {
    let server = server(|mut stream| {
        request(&mut stream);
        request(&mut stream);
    });
    let mut probe = command(&[&server.url(), "--for", "1h", "--timeout", "1h"]);
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    let stderr = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut child = child;
        let mut text = String::new();
        for line in std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap())).map_while(Result::ok)
        {
            let _ = stderr.0.send(line.contains("waiting for"));
            text = text + &line + "\n";
        }
        (child.wait_with_output().unwrap(), text)
    });
    until("a few requests", || server.connections.load(Ordering::Relaxed) > 5);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(stderr.1.iter().any(|waits| waits), "it waits for what is in flight, and says so");
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let (output, text) = reader.join().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &json["sent"]), (Some(2), &Value::from(0)), "{text}");
    assert!(json["unfinished"].as_u64() > Some(5) && text.contains("no request had come to its end"), "{text}");
    assert!(text.contains("still on their way"), "{text}");
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_anything_is_deployed() {
    let directory = files::tempdir();
    let deployed = directory.path.join("deployed");
    let server = server(answering("200 OK", "", ""));
    for flag in ["--json", "--html"] {
        let mut probe = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
        probe.args(["probe", &server.url(), flag, "/no/such/file", "--", "touch"]).arg(&deployed);
        let output = probe.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("{flag} /no/such/file: No such file")), "{text}");
        assert!(output.stdout.is_empty() && !deployed.exists() && server.connections.load(Ordering::Relaxed) == 0);
    }
    // What is longer than the new result leaves nothing behind it.
    let old = directory.file("old.json", "x".repeat(100_000), 0o644);
    let mut probe = Command::new(env!("CARGO_BIN_EXE_lameduckctl"));
    probe.args(["probe", &server.url(), "--json", &old]).args(TWENTY).output().unwrap();
    let json: Value = serde_json::from_str(&std::fs::read_to_string(old).unwrap()).unwrap();
    assert_eq!(json["sent"], 20);
}

#[test]
fn a_probe_that_is_late_itself_says_so() {
    let server = server(answering("200 OK", "", ""));
    let mut probe = command(&[&server.url(), "--for", "4s"]);
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("a few requests", || server.connections.load(Ordering::Relaxed) > 5);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGCONT).unwrap();
    let probed = probed(&child.wait_with_output().unwrap());
    assert_eq!(probed.code, Some(2), "{}", probed.text);
    assert!(probed.text.contains("NO MEASURE: 1 % of the requests went out"), "{}", probed.text);
    assert_eq!(probed.number("/sent"), 200, "what was due meanwhile went out all the same");
}

#[test]
fn a_probe_without_sockets_says_so() {
    let server = server(|mut stream| {
        request(&mut stream);
        request(&mut stream);
    });
    let script = format!(
        "ulimit -n 300; exec {} probe {} --rate 400 --for 1s --timeout 2s --json -",
        env!("CARGO_BIN_EXE_lameduckctl"),
        server.url()
    );
    let probed = probed(&Command::new("bash").args(["-c", &script]).output().unwrap());
    assert_eq!(probed.code, Some(2), "{}", probed.text);
    assert!(probed.number("/not_sent") > 0 && probed.text.contains("open files"), "{}", probed.text);
}

#[test]
fn readiness_and_phases_are_shown_and_never_counted() {
    let phase = Arc::new(Mutex::new("serving"));
    let shown = Arc::clone(&phase);
    let web = server(answering("200 OK", "", ""));
    let duck = server(move |mut stream| {
        let text = request(&mut stream).unwrap_or_default();
        let phase = *shown.lock().unwrap();
        if text.starts_with("GET /status") {
            answer(&mut stream, "200 OK", "", &format!("{{\"phase\":\"{phase}\",\"phase_elapsed_s\":0.000}}"));
        } else {
            let status = if phase == "serving" { "200 OK" } else { "503 Service Unavailable" };
            answer(&mut stream, status, "", "");
        }
    });
    let (status, ready) = (format!("{}status", duck.url()), format!("{}readyz", duck.url()));
    let probed = on_time(|| {
        *phase.lock().unwrap() = "serving";
        let asked = duck.connections.load(Ordering::Relaxed);
        let mut probe = command(&[&web.url(), "--for", "3s", "--watch-status", &status, "--readiness", &ready]);
        let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the duck was asked", || duck.connections.load(Ordering::Relaxed) > asked + 3);
        *phase.lock().unwrap() = "lame-duck";
        probed(&child.wait_with_output().unwrap())
    });
    assert_eq!((probed.code, probed.number("/lost")), (Some(0), 0), "{}", probed.text);
    let statuses = |key: &str, value: &str| {
        let all = probed.json[key].as_array().unwrap();
        all.iter().map(|change| change[value].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(statuses("readiness", "status"), ["200", "503"]);
    assert_eq!(statuses("phases", "phase"), ["\"serving\"", "\"lame-duck\""]);
    assert!(probed.json["stop_s"].as_f64().is_some_and(|stop| (0.0..3.0).contains(&stop)));
}

#[test]
fn a_terminal_has_a_status_line_and_a_pipe_has_plain_lines() {
    let server = server(answering("500 Oops", "", ""));
    let args = [&server.url(), "--rate", "40", "--for", "2s", "--readiness", "/readyz"];
    let piped = once(&args).text;
    assert!(piped.contains("s first loss: app_error: ") && piped.contains("/readyz: 500\n"), "{piped}");
    assert!(!piped.contains('\u{1b}'), "{piped}");
    let pty = nix::pty::openpty(None, None).unwrap();
    let mut probe = command(&args);
    let mut child = probe.stdout(Stdio::null()).stderr(pty.slave).spawn().unwrap();
    // The last of this end: reading fails when the other is gone.
    drop(probe);
    let mut seen = Vec::new();
    let _ = std::io::Read::read_to_end(&mut std::fs::File::from(pty.master), &mut seen);
    child.wait().unwrap();
    let shown = String::from_utf8(seen).unwrap();
    // The readiness page may have been answered later than the first request.
    let status = shown.split('\r').find(|line| line.contains("  readiness 500  latest "));
    let status = status.unwrap_or_else(|| panic!("no status line: {shown:?}"));
    assert!(status.contains(" 40/s  sent "), "{status:?}");
    assert!(!shown.contains("first loss:"), "{shown:?}");
}

#[test]
fn a_report_tells_the_phases_afterwards() {
    let directory = files::tempdir();
    let report = directory.path.join("report.json");
    let server = server(answering("200 OK", "", ""));
    let mut probe = command(&[&server.url(), "--for", "4s", "--stop-report", report.to_str().unwrap()]);
    let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("a second of requests", || server.connections.load(Ordering::Relaxed) > 50);
    let now = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.%3NZ"]).output().unwrap().stdout;
    let now = String::from_utf8(now).unwrap();
    let text = format!(
        "{{\"time\":\"{}\",\"phases\":[{{\"phase\":\"lame-duck\",\"at_s\":0.000,\"seconds\":0.300}},\
         {{\"phase\":\"draining\",\"at_s\":0.300,\"seconds\":0.200}}]}}",
        now.trim()
    );
    std::fs::write(&report, text).unwrap();
    let probed = probed(&child.wait_with_output().unwrap());
    let phases: Vec<_> =
        probed.json["phases"].as_array().unwrap().iter().map(|change| change["phase"].clone()).collect();
    assert_eq!(phases, [Value::from("lame-duck"), Value::from("draining"), Value::Null]);
    assert!(probed.json["stop_s"].as_f64().is_some_and(|stop| (0.0..4.0).contains(&stop)), "{}", probed.json["stop_s"]);
    // One that is not there is told, and takes nothing from the rest.
    let probed =
        super::server::probe(&[&[server.url().as_str()], &TWENTY[..], &["--stop-report", "/no/such"]].concat());
    assert!(probed.code == Some(0) && probed.text.contains("--stop-report /no/such: No such file"), "{}", probed.text);
}

#[test]
fn the_page_is_one_file_that_tells_everything() {
    let directory = files::tempdir();
    let page = directory.path.join("page.html");
    let server = server(answering("500 Oops", "X: <b>\r\n", ""));
    let url = format!("{}?a=<script>", server.url());
    let html = page.to_str().unwrap();
    let probed: Probed = probe(&[&[server.url().as_str()], &TWENTY[..], &["--html", html]].concat());
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("20 of 20 requests were lost") && text.contains("<svg") && text.ends_with("</html>\n"));
    assert!(!text.contains("src=") && !text.contains("href=") && !text.contains("url("), "it needs another file");
    assert_eq!(text.matches("<circle").count(), 20, "{}", probed.text);
    let probed = probe(&[&[url.as_str()], &TWENTY[..]].concat());
    assert_eq!(probed.code, Some(2), "not a URL: {}", probed.text);
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..], &["--html", "/no/such/file"]].concat());
    assert!(probed.code == Some(2) && probed.text.contains("/no/such/file"), "{}", probed.text);
}
