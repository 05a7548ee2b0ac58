//! The server's own check: `--health-check`.

use super::{listening, until_ready};
use crate::support::{fixtures, free_port, http, until};
use nix::libc;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A page that is asked for by a check.
struct Page {
    port: u16,
    asked: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

/// Answers each request with `status`, so long after it came.
fn page(status: &'static str, after: Duration) -> Page {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, at_once, most) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let page = Page { port, asked: Arc::clone(&asked), most_at_once: Arc::clone(&most) };
    // Ends with the tests.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            asked.fetch_add(1, Ordering::SeqCst);
            let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&most));
            std::thread::spawn(move || {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(after);
                at_once.fetch_sub(1, Ordering::SeqCst);
                answer(stream, status);
            });
        }
    });
    page
}

/// A client that went away is the client's affair.
fn answer(mut stream: TcpStream, status: &str) {
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
}

fn with_check(url: &str) -> (crate::support::Running, u16) {
    let (init, port) = listening(&["--delay", "10m", "--health-check", url]);
    let mut run = init.python(fixtures::RECORDER, &[]).spawn();
    run.expect_stdout("ready\n");
    (run, port)
}

#[test]
fn a_server_that_is_not_well_is_not_ready() {
    needs!();
    let nobody = free_port();
    let answers = |status| page(status, Duration::ZERO).port;
    for (url, code, body) in [
        (format!("http://127.0.0.1:{}/up", answers("200 OK")), 200, "ready\n"),
        (format!("http://localhost:{}/up", answers("302 Found")), 200, "ready\n"),
        (format!("tcp://localhost:{}", answers("200 OK")), 200, "ready\n"),
        (format!("http://127.0.0.1:{}/up", answers("500 Oh")), 503, "answers 500\n"),
        (format!("http://127.0.0.1:{}/up", answers("nonsense\r\n")), 503, "answers 0\n"),
        (format!("http://127.0.0.1:{nobody}/up"), 503, "cannot be connected to: Connection refused (os error 111)\n"),
        (format!("tcp://127.0.0.1:{nobody}"), 503, "cannot be connected to: Connection refused (os error 111)\n"),
    ] {
        let (mut run, port) = with_check(&url);
        until_ready(&mut run, port, code);
        let expected = if code == 200 { body.to_owned() } else { format!("not ready: {url} {body}") };
        let expected = expected.replace("answers 0", "answers, but not in HTTP");
        // Those who are asked may have no second for it: they are other threads of this process.
        until(&format!("{code}, {expected}"), || {
            http::get(port, "/").is_ok_and(|answer| (answer.code, &answer.body) == (code, &expected))
        });
        // Nobody is killed for it.
        assert_eq!(http::get(port, "/livez").unwrap().code, 200);
    }
}

#[test]
fn a_server_is_ready_only_while_its_check_passes() {
    needs!();
    let server = free_port();
    let (mut run, port) = with_check(&format!("tcp://127.0.0.1:{server}"));
    for _ in 0..2 {
        until_ready(&mut run, port, 503);
        let listener = TcpListener::bind(("127.0.0.1", server)).unwrap();
        until_ready(&mut run, port, 200);
        drop(listener);
    }
    until_ready(&mut run, port, 503);
}

#[test]
fn a_check_that_takes_too_long_has_failed_and_many_probes_share_one() {
    needs!();
    let slow = page("200 OK", Duration::from_secs(30));
    let (_run, port) = with_check(&format!("http://127.0.0.1:{}/up", slow.port));
    let began = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..30 {
            threads.spawn(|| {
                let answer = http::get(port, "/readyz").unwrap();
                assert_eq!(answer.code, 503);
                assert!(answer.body.ends_with("/up does not answer within 1 s\n"), "{}", answer.body);
            });
        }
    });
    // Each had an answer of its own accord: who is cut off after five seconds gets none. And each check took
    // its second.
    let most = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    let asked = slow.asked.load(Ordering::SeqCst);
    assert!((1..=most).contains(&asked), "30 probes made {asked} checks, not {most} at most");
}

#[test]
fn there_is_never_more_than_one_check_at_a_time() {
    needs!();
    let page = page("200 OK", Duration::from_millis(50));
    let (_run, port) = with_check(&format!("http://127.0.0.1:{}/up", page.port));
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(http::get(port, "/readyz").unwrap().code, 200);
                }
            });
        }
    });
    assert_eq!(page.most_at_once.load(Ordering::SeqCst), 1);
    assert!(page.asked.load(Ordering::SeqCst) < 40, "nothing was shared");
}

#[test]
fn a_check_that_fails_in_the_drain_takes_no_readiness_away_that_is_to_stay() {
    needs!();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", server.local_addr().unwrap());
    let (init, port) = listening(&["--delay", "0", "--unready", "never", "--health-check", &url]);
    let mut run = init.recorder(&[]);
    until_ready(&mut run, port, 200);
    run.signal(libc::SIGTERM);
    run.expect_stdout("got 15\n");
    // As servers do that drain.
    drop(server);
    assert_eq!(http::get(port, "/readyz").unwrap().body, "ready\n");
}

#[test]
fn a_server_that_is_stopping_is_not_asked_any_more() {
    needs!();
    let page = page("200 OK", Duration::ZERO);
    let (mut run, port) = with_check(&format!("http://127.0.0.1:{}/up", page.port));
    until_ready(&mut run, port, 200);
    run.signal(libc::SIGTERM);
    run.expect_stderr("serving on for 10m");
    let before = page.asked.load(Ordering::SeqCst);
    assert_eq!(http::get(port, "/readyz").unwrap().code, 503);
    assert_eq!(page.asked.load(Ordering::SeqCst), before);
}
