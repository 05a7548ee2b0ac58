//! Real servers, as distributions ship them: each is stopped with its own graceful signal, after the
//! delay, with what is in flight answered.

use crate::support::files::tempdir;
use crate::support::{Init, Running, free_port, http, until};
use nix::libc;
use std::time::{Duration, Instant};

fn serving(mut run: Running, port: u32) -> (Running, u32) {
    until("the server answers", || {
        assert!(!run.ended(), "the server does not start: {}", run.stderr());
        http::answers(port, "/")
    });
    (run, port)
}

/// nginx on a port of its own; `/slow` takes about two seconds, `/slower` forty.
pub(crate) fn nginx(flags: &[&str]) -> (Running, u32) {
    nginx_at(free_port(), flags)
}

/// nginx on this port.
pub(crate) fn nginx_at(port: u16, flags: &[&str]) -> (Running, u32) {
    nginx_under(Init::new(), port, flags)
}

fn nginx_under(init: Init, port: u16, flags: &[&str]) -> (Running, u32) {
    let (dir, port) = (tempdir(), u32::from(port));
    dir.file("index.html", "x".repeat(40_000), 0o644);
    let config = format!(
        "daemon off; user root; worker_processes 1; pid {dir}/pid; error_log stderr;
         events {{}}
         http {{
             access_log off;
             client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
             uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
             server {{
                 listen 127.0.0.1:{port}; root {dir};
                 location = /slow {{ limit_rate 20k; try_files /index.html =404; }}
                 location = /slower {{ limit_rate 1k; try_files /index.html =404; }}
             }}
         }}",
        dir = dir.path.display()
    );
    let config = dir.file("nginx.conf", config, 0o644);
    serving(init.files(dir).flags(flags).cmd(["nginx", "-c", &config]).spawn(), port)
}

fn haproxy(flags: &[&str]) -> (Running, u32) {
    let (dir, port) = (tempdir(), u32::from(free_port()));
    let config = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n\
         frontend f\n  bind 127.0.0.1:{port}\n  http-request return status 200 content-type text/plain string ok\n"
    );
    let config = dir.file("haproxy.cfg", config, 0o644);
    serving(Init::new().files(dir).flags(flags).cmd(["haproxy", "-db", "-f", &config]).spawn(), port)
}

fn apache(flags: &[&str]) -> (Running, u32) {
    let (dir, port) = (tempdir(), u32::from(free_port()));
    dir.file("index.html", "hello", 0o644);
    let config = format!(
        "ServerRoot /etc/apache2\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {dir}/pid\n\
         ErrorLog /dev/null\nMutex file:{dir}\nDocumentRoot {dir}\nUser nobody\nGroup nogroup\n\
         LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
         LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
         LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so\n\
         DirectoryIndex index.html\n",
        dir = dir.path.display()
    );
    let config = dir.file("apache.conf", config, 0o644);
    serving(Init::new().files(dir).flags(flags).cmd(["apache2", "-D", "FOREGROUND", "-f", &config]).spawn(), port)
}

/// Long enough for a request or two, however busy the machine is.
const DELAYED: [&str; 2] = ["--delay", "3s"];

/// Stops a server from outside with `signal`: it must be named as what it is, serve on for the delay
/// of three seconds, then be sent its graceful signal and end with 0.
fn stop_in_order((mut run, port): (Running, u32), signal: i32, graceful: &str) {
    let began = Instant::now();
    run.signal(signal);
    run.expect_stderr(&format!("serving on for 3s, then {graceful}"));
    let mut answered = 0;
    loop {
        // Only once the delay is over may one be refused.
        if !http::answers(port, "/") {
            assert!(began.elapsed() >= Duration::from_secs(3), "a request in the delay was refused: {}", run.stderr());
            break;
        }
        if run.stderr().contains("delay over; ") {
            break;
        }
        answered += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(answered > 0);
    run.expect_stderr(&format!("delay over; {graceful}"));
    run.expect_exit(0);
    assert!(began.elapsed() >= Duration::from_secs(3));
    assert!(!http::answers(port, "/"));
}

#[test]
fn nginx_is_stopped_with_quit_whatever_asked_for_it() {
    needs!("nginx");
    stop_in_order(nginx(&DELAYED), libc::SIGTERM, "SIGQUIT to nginx");
    stop_in_order(nginx(&DELAYED), libc::SIGQUIT, "SIGQUIT to nginx");
}

#[test]
fn nginx_finishes_an_answer_that_is_longer_than_the_delay() {
    needs!("nginx");
    let (mut run, port) = nginx(&["--delay", "500ms"]);
    let slow = http::send(port, "/slow").unwrap();
    run.signal(libc::SIGTERM);
    assert!(slow.answered());
    run.expect_exit(0);
}

#[test]
fn nginx_is_stopped_with_quit_where_nothing_shows_what_runs() {
    needs!("nginx", "mount");
    let hide = ["sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"];
    let (run, port) = nginx_under(Init::new().through(hide), free_port(), &DELAYED);
    let slow = http::send(port, "/slow").unwrap();
    stop_in_order((run, port), libc::SIGTERM, "SIGQUIT to nginx");
    assert!(slow.answered());
}

#[test]
fn haproxy_is_stopped_with_usr1_also_when_that_asks_for_it_from_outside() {
    needs!("haproxy");
    stop_in_order(haproxy(&DELAYED), libc::SIGUSR1, "SIGUSR1 to haproxy");
    stop_in_order(haproxy(&DELAYED), libc::SIGTERM, "SIGUSR1 to haproxy");
}

#[test]
fn apache_is_stopped_with_winch_also_when_that_asks_for_it_from_outside() {
    needs!("apache2");
    stop_in_order(apache(&DELAYED), libc::SIGWINCH, "SIGWINCH to apache2");
    stop_in_order(apache(&DELAYED), libc::SIGTERM, "SIGWINCH to apache2");
}

#[test]
fn a_graceful_signal_from_inside_is_a_plain_signal() {
    needs!("haproxy", "nsenter");
    let (mut run, _) = haproxy(&["--delay", "10m"]);
    run.signal_from_inside("USR1");
    run.expect_exit(0);
    assert!(!run.stderr().contains("serving on"), "{}", run.stderr());
}
