//! One server for each way to fail a request.

use super::server::{Probed, TWENTY, answer, answering, nobody, once, probe, request, reset, server};
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::Ordering;

/// Twenty requests, half of them on connections that are kept where the server lets them be.
#[track_caller]
fn all_end_in(class: &str, more: &[&str], serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Probed {
    let server = server(serve);
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..], more].concat());
    probed.assert_all(class, 20);
    assert_eq!(probed.code, Some(i32::from(class != "ok")), "{}", probed.text);
    probed
}

#[test]
fn answers_are_answers_up_to_499() {
    for status in ["200 OK", "204 No Content", "301 Moved", "404 Not Found", "429 Too Many"] {
        all_end_in("ok", &[], answering(status, "", if status.starts_with("204") { "" } else { "body" }));
    }
}

#[test]
fn bodies_in_pieces_and_bodies_to_the_end_of_the_connection_are_whole() {
    all_end_in("ok", &[], |mut stream| {
        while request(&mut stream).is_some() {
            let pieces = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
            stream.write_all(pieces.as_bytes()).ok();
        }
    });
    all_end_in("ok", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nto the end").ok();
    });
}

#[test]
fn nobody_listens() {
    let url = format!("http://{}/", nobody());
    let probed = probe(&[&[url.as_str()], &TWENTY[..]].concat());
    probed.assert_all("refused", 20);
    assert_eq!(probed.code, Some(1));
}

#[test]
fn accepted_and_closed() {
    let probed = all_end_in("no_answer", &[], |mut stream| {
        request(&mut stream);
    });
    assert_eq!(probed.number("/lost_on_kept_alive"), 0);
}

#[test]
fn reset_before_the_answer() {
    all_end_in("reset", &[], |mut stream| {
        request(&mut stream);
        reset(&stream);
    });
}

#[test]
fn reset_after_some_bytes_of_the_answer() {
    let probed = all_end_in("reset", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789").ok();
        // The client must have read it before the reset throws it away.
        std::thread::sleep(std::time::Duration::from_millis(500));
        reset(&stream);
    });
    assert!(probed.text.contains("after 50 bytes of the answer"), "{}", probed.text);
}

#[test]
fn half_a_body() {
    all_end_in("cut_body", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").ok();
    });
    all_end_in("cut_body", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf").ok();
    });
}

#[test]
fn half_a_head() {
    all_end_in("cut_body", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le").ok();
    });
}

#[test]
fn no_http() {
    all_end_in("no_answer", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"220 mail.example ESMTP\r\n").ok();
    });
}

#[test]
fn never_an_answer_and_never_the_rest_of_one() {
    for beginning in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
        all_end_in("timeout", &["--timeout", "300ms"], move |mut stream| {
            request(&mut stream);
            stream.write_all(beginning.as_bytes()).ok();
            // Until the client gives up.
            request(&mut stream);
        });
    }
}

#[test]
fn the_application_fails() {
    all_end_in("app_error", &[], answering("500 Oops", "", "it broke"));
    all_end_in("app_error", &[], answering("503 Draining", "Server: gunicorn\r\n", "draining"));
}

#[test]
fn each_proxy_says_503_in_its_own_way() {
    let nginx = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 Service \
                 Temporarily Unavailable</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n";
    let haproxy = "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n";
    let envoy = "upstream connect error or disconnect/reset before headers. reset reason: connection failure";
    let alb = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n</html>\r\n";
    for (name, headers, body) in [
        ("nginx", "Server: nginx/1.22.1\r\n", nginx),
        ("HAProxy", "Cache-Control: no-cache\r\n", haproxy),
        ("Envoy", "server: envoy\r\n", envoy),
        ("ALB", "Server: awselb/2.0\r\n", alb),
    ] {
        let probed = all_end_in("proxy_error", &[], answering("503 Service Unavailable", headers, body));
        assert!(probed.text.contains(&format!("503 made by {name}")), "{}", probed.text);
    }
    all_end_in("proxy_error", &[], answering("502 Bad Gateway", "", ""));
    all_end_in("proxy_error", &[], answering("504 Gateway Timeout", "", ""));
}

#[test]
fn a_name_without_an_address() {
    // Longer than a name may be: no resolver is asked.
    let url = format!("http://{}.invalid/", "x".repeat(64));
    let probed = probe(&[&[url.as_str()], &TWENTY[..]].concat());
    probed.assert_all("dns", 20);
}

#[test]
fn the_user_knows_better() {
    let maintenance = || answering("200 OK", "X-Maintenance: yes\r\n", "be back soon");
    all_end_in("app_error", &["--lost-if", "header=x-maintenance"], maintenance());
    all_end_in("app_error", &["--lost-if", "status=200,body=back soon"], maintenance());
    all_end_in("ok", &["--lost-if", "status=200,body=elsewhere"], maintenance());
    all_end_in("ok", &["--ok-if", "status=503"], answering("503 Busy", "", ""));
}

#[test]
fn a_connection_that_is_closed_while_it_waits_costs_nothing() {
    // Says that it may be kept, and closes it all the same.
    let server = server(|mut stream| {
        request(&mut stream);
        answer(&mut stream, "200 OK", "", "done");
    });
    // Far apart: a request that crosses the close would be lost, and rightly.
    let probed = once(&[&server.url(), "--rate", "2", "--for", "4s", "--keep-alive", "100%"]);
    probed.assert_all("ok", 8);
    assert_eq!(server.connections.load(Ordering::Relaxed), 8);
}

#[test]
fn a_kept_connection_that_fails_is_told_apart() {
    let server = server(|mut stream| {
        request(&mut stream);
        answer(&mut stream, "200 OK", "", "done");
        request(&mut stream);
    });
    let probed = probe(&[&[server.url().as_str()], &TWENTY[..], &["--keep-alive", "100%"]].concat());
    let lost = probed.number("/classes/no_answer");
    assert!(lost > 0, "no connection was used twice");
    assert_eq!((probed.number("/classes/ok") + lost, probed.number("/lost_on_kept_alive")), (20, lost));
}

#[test]
fn a_body_that_is_not_what_its_head_announced() {
    let probed = all_end_in("cut_body", &[], |mut stream| {
        request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n").ok();
        request(&mut stream);
    });
    assert!(probed.text.contains("the body is not HTTP"), "{}", probed.text);
}
