//! The engine's own health check, in an image with nothing in it.

use super::container::Container;
use super::image;
use super::stops::in_a_container;
use crate::support::{http, until};

const CHECK: &str = r#"HEALTHCHECK --interval=500ms --timeout=5s --retries=1 CMD ["/lameduck","--healthcheck"]"#;

#[test]
fn a_container_from_scratch_is_healthy_and_then_unhealthy_while_it_still_serves() {
    let name = "a_container_from_scratch_is_healthy_and_then_unhealthy_while_it_still_serves";
    in_a_container(name, |slot| {
        let image = image::from_scratch(&[CHECK]);
        let listen = format!("127.0.0.1:{}", slot.backend);
        let variable = format!("LAMEDUCK_HEALTH_LISTEN={listen}");
        let server = ["/busybox", "httpd", "-f", "-p", &format!("127.0.0.1:{}", slot.port), "-h", "/www"];
        let delay = ["--delay", "1h"];
        let by_flag = [&delay[..], &["--health-listen", &listen]].concat();
        for (options, flags) in [
            (&[][..], &by_flag[..]),
            (&["-e", &variable], &delay),
            (&["--user", "65534:65534", "--cap-drop", "ALL", "--read-only"], &by_flag),
        ] {
            let container = Container::start_from(&image, slot, options, flags, &server);
            // A check may find that this machine has no second for it, and the next finds the truth.
            let ready = ("healthy".to_owned(), format!("ready: http://{listen}/readyz says so"));
            until("the engine says healthy, and why", || container.health() == ready);

            container.signal("TERM");
            until("the engine says unhealthy, and why", || {
                let (status, said) = container.health();
                status == "unhealthy" && said.starts_with("not ready: lame-duck, ")
            });
            let answer = http::get(slot.port, "/index.html").expect("the server serves on");
            assert_eq!((answer.code, answer.body.as_str()), (200, "done\n"));
        }
    });
}
