//! The engine's own health check, in an image with nothing in it.

use super::container::Container;
use super::image;
use super::stops::in_a_container;
use crate::support::{http, until};

/// One is kept, so that nothing piles up.
const SCRATCH: &str = "lameduck-it-scratch";

const CHECK: &str =
    r#"HEALTHCHECK --interval=500ms --timeout=5s --retries=1 --start-period=0s CMD ["/lameduck","--healthcheck"]"#;

#[test]
fn a_container_from_scratch_is_healthy_and_then_unhealthy_while_it_still_serves() {
    let name = "a_container_from_scratch_is_healthy_and_then_unhealthy_while_it_still_serves";
    in_a_container(name, |slot| {
        image::from_scratch(SCRATCH, &[CHECK]);
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
            let container = Container::start_from(SCRATCH, slot, options, flags, &server);
            until("the engine says healthy", || container.health().0 == "healthy");
            let said = container.health().1;
            assert_eq!(said, format!("ready: http://{listen}/readyz says so"));

            container.signal("TERM");
            until("the engine says unhealthy", || container.health().0 == "unhealthy");
            let said = container.health().1;
            assert!(said.starts_with("not ready: lame-duck, "), "{said}");
            let answer = http::get(slot.port, "/index.html").expect("the server serves on");
            assert_eq!((answer.code, answer.body.as_str()), (200, "done\n"));
        }
    });
}
