//! Images that have another init, and lameduck mounted over it: nothing of the image is changed, and
//! nothing is lost.

use super::container::Container;
use super::image::Slot;
use super::stops::{in_a_container, nginx, stop_under_load};

/// Starts nginx with lameduck mounted over `path`, as whatever that is called.
fn start(slot: Slot, path: &str, options: &[&str], words: &[&str]) -> Container {
    let binary = crate::support::init::shipped().unwrap_or_else(|| env!("CARGO_BIN_EXE_lameduck").into());
    let mount = format!("{}:{path}:ro", binary.display());
    let own = ["--volume", &mount, "--env", "LAMEDUCK_DELAY=1s", "--env", "LAMEDUCK_LOG=json"];
    let command = nginx(slot);
    let command: Vec<&str> = words.iter().copied().chain(command.iter().map(String::as_str)).collect();
    Container::start_words(slot.image, slot, &[&own, options].concat(), &command)
}

#[test]
fn mounted_over_dockers_own_init_nothing_is_lost() {
    in_a_container("mounted_over_dockers_own_init_nothing_is_lost", |slot| {
        let options = ["--init", "--entrypoint", "/bin/busybox"];
        let container = start(slot, "/sbin/docker-init", &options, &["env"]);
        stop_under_load(slot, &container).assert_nothing_was_lost("SIGQUIT to nginx[");
    });
}

#[test]
fn mounted_over_an_images_dumb_init_nothing_is_lost() {
    in_a_container("mounted_over_an_images_dumb_init_nothing_is_lost", |slot| {
        let path = "/usr/bin/dumb-init";
        let container = start(slot, path, &["--entrypoint", path], &["--"]);
        stop_under_load(slot, &container).assert_nothing_was_lost("SIGQUIT to nginx[");
    });
}

#[test]
fn in_front_of_an_image_that_has_lameduck_inside_only_the_outer_one_delays() {
    in_a_container("in_front_of_an_image_that_has_lameduck_inside_only_the_outer_one_delays", |slot| {
        // The image's entry point is lameduck.
        let container = start(slot, "/sbin/docker-init", &["--init"], &["--log", "json", "--"]);
        let stopped = container.stop();
        assert_eq!(stopped.code, 0, "{}", stopped.log.text);
        assert_eq!(stopped.log.text.matches("serving on for").count(), 1, "{}", stopped.log.text);
        assert!(stopped.log.text.contains("SIGTERM to lameduck["), "{}", stopped.log.text);
    });
}
