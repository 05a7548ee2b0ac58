//! A real `podman run --init --init-path`, stopped while it is asked all the time.

use super::engine::{Engine, container};
use crate::support::{LIMIT, NO_DUPLICATE, free_port, lacks, scaled, skipped, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// One request; whether the whole answer came.
fn ask(port: u16) -> bool {
    let exchange = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(scaled(LIMIT)))?;
        stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    exchange().is_ok_and(|answer| answer.contains(" 200 ") && answer.ends_with("whole\n"))
}

#[test]
fn podman_takes_it_for_its_init_and_nothing_is_lost_in_the_delay() {
    let engine = match lacks(&["podman"]).map_or_else(Engine::podman, Err) {
        Ok(engine) => engine,
        Err(why) => return skipped(&why),
    };
    let init = engine.file("lameduck");
    let own = ["--rm", "--init", "--init-path", &init, "--network", "none"];
    let plain = engine.run(&container(&own, &["/bin/sh", "-c", "readlink /proc/1/exe"])).unwrap();
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "/run/podman-init\n");
    assert!(plain.stderr.is_empty(), "{plain:?}");

    let port = free_port();
    let at = port.to_string();
    let logs = format!("path={}", engine.file("words"));
    let own = ["--detach", "--init", "--init-path", &init, "--name", "server", "--network", "host"];
    let more = ["--env", "LAMEDUCK_DELAY=10m", "--log-driver", "k8s-file", "--log-opt", &logs];
    engine.says(&container(&[&own[..], &more].concat(), &["/bin/httpd", "-f", "-p", &at, "-h", "/"]));
    until("the server answers", || ask(port));
    let pid = engine.says(&["inspect", "--format", "{{.State.Pid}}", "server"]).trim().parse().unwrap();

    std::thread::scope(|threads| {
        let stop = threads.spawn(|| engine.says(&["stop", "--time", "600", "server"]));
        until("the delay begins", || engine.finds("words", "serving on for 10m"));
        for number in 0..200 {
            assert!(ask(port), "request {number} of the delay is lost");
        }
        std::thread::sleep(NO_DUPLICATE);
        kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
        stop.join().unwrap();
    });
    assert!(engine.finds("words", "hurried by SIGTERM; SIGTERM to httpd["));
    assert_eq!(engine.says(&["inspect", "--format", "{{.State.ExitCode}}", "server"]).trim(), "143");
}
