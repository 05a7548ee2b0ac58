//! Servers that listen in other ways than on one port of IPv4, and clients that end their side first.

use super::{Client, Watched, seconds};
use crate::support::{Init, fixtures};
use std::net::Shutdown;
use std::time::Duration;

const LISTEN: &str = "socket.create_server(('127.0.0.1', 0), backlog=128)";

/// The server of the tests, with another way to listen, in a network of its own.
fn listening(how: &str, flags: &[&str]) -> Watched {
    assert!(fixtures::THINKING.contains(LISTEN));
    let server = fixtures::THINKING.replace(LISTEN, how);
    Watched::run(Init::new().own_network().python(&server, &[]), flags, &[])
}

/// Requests on a kept-alive connection from each of these addresses are seen, and nothing else.
#[track_caller]
fn sees_the_clients_of(how: &str, addresses: &[&str]) {
    let mut watched = listening(how, &["--delay", "10m"]);
    let client = |address: &&str| Client { stream: watched.run.connect(&format!("{address}:{}", watched.port)) };
    let mut clients: Vec<Client> = addresses.iter().map(client).collect();
    watched.stop();
    let requests: u64 = clients.iter_mut().map(|client| client.busy(Duration::from_millis(400))).sum();
    let traffic = watched.hurried();
    let at_stop = traffic["connections_at_stop"].as_u64().unwrap();
    assert_eq!((at_stop, &traffic["new_connections"]), (clients.len() as u64, &0.into()), "{traffic}");
    let counted = traffic["requests"].as_u64().unwrap();
    assert!(counted > 0 && counted <= requests, "{counted} of {requests}: {traffic}");
}

#[test]
fn of_ipv6_alone_and_of_both() {
    needs!("ip");
    sees_the_clients_of("socket.create_server(('::1', 0), family=socket.AF_INET6)", &["[::1]"]);
    let both = "socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True)";
    sees_the_clients_of(both, &["[::1]", "127.0.0.1"]);
}

#[test]
fn of_workers_that_listen_on_one_port_each_for_itself() {
    needs!("nsenter", "ip");
    let workers = "(os.fork(), os.fork(), socket.create_server(('127.0.0.1', 8080), reuse_port=True))[2]";
    let mut watched = listening(workers, &["--delay", "10m"]);
    watched.run.expect_stdout_times("port 8080\n", 4);
    watched.stop();
    watched.requests(20, "0.05");
    let traffic = watched.hurried();
    assert_eq!(traffic["ports"], serde_json::json!([8080]));
    assert_eq!((&traffic["new_connections"], &traffic["requests"]), (&20.into(), &20.into()), "{traffic}");
}

#[test]
fn a_client_that_has_said_all_it_will_is_still_owed_its_answer() {
    needs!();
    let mut watched = Watched::start(&["--delay", "2s"], &[("SLOW", "4")]);
    let mut client = watched.client();
    watched.stop();
    client.ask("/slow");
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(client.is_answered(), "{}", watched.log());
    let traffic = watched.ended();
    assert!(seconds(&traffic["held_s"]) >= Duration::from_secs(1), "{traffic}");
}

/// More than are watched.
const MANY: &str = "(kept := [socket.create_server(('127.0.0.1', 0)) for _ in range(40)])[0]";

#[test]
fn ports_that_are_too_many_to_be_watched_are_told_of() {
    needs!("ip");
    let mut watched = listening(MANY, &["--delay", "500ms", "-v"]);
    watched.stop();
    let traffic = watched.ended();
    assert_eq!(traffic["ports"].as_array().unwrap().len(), 32);
    assert!(watched.log().contains("only 32 ports are watched, 8 more are not"), "{}", watched.log());
}

#[test]
fn silence_on_some_of_the_ports_cuts_no_delay_short() {
    needs!("ip");
    let mut watched = listening(MANY, &["--delay", "4s", "--min-delay", "500ms", "--quiet", "500ms"]);
    let mut client = Client { stream: watched.run.connect(&format!("127.0.0.1:{}", watched.port)) };
    watched.stop();
    let mut asked = 0;
    while asked < 20 {
        asked += client.busy(Duration::from_secs(1));
    }
    let traffic = watched.ended();
    assert!(traffic["requests"].as_u64().is_some_and(|requests| requests > 10), "{traffic}");
    assert_eq!(traffic["ended"], "delay", "{traffic}");
    assert!(watched.log().contains("8 more are not: name those that matter with --watch-port: --quiet cannot end"));
}
