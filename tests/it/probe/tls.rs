//! https: a good certificate, a bad one, another name.

use super::server::{TWENTY, probe};
use crate::support::{files, until};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// `openssl s_server`, which answers with a page of its own.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn https_is_asked_and_its_certificate_checked() {
    needs!("openssl");
    let directory = files::tempdir();
    let (key, cert) = (directory.path.join("key.pem"), directory.path.join("cert.pem"));
    let config = directory.file(
        "openssl.cnf",
        "[req]\nprompt=no\ndistinguished_name=name\nx509_extensions=more\n[name]\nCN=web.example\n\
         [more]\nsubjectAltName=DNS:web.example\nbasicConstraints=critical,CA:FALSE\n",
        0o644,
    );
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    make.args(["-config", &config]).arg("-keyout").arg(&key).arg("-out").arg(&cert);
    assert!(make.stderr(Stdio::null()).status().unwrap().success());
    let port = super::server::nobody().port();
    let mut serve = Command::new("openssl");
    serve.args(["s_server", "-quiet", "-www", "-accept", &port.to_string(), "-key"]).arg(&key).arg("-cert").arg(&cert);
    let _server = Server(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("openssl listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());

    let url = format!("https://web.example:{port}/");
    let resolve = format!("web.example:{port}:127.0.0.1");
    let ask = |more: &[&str]| probe(&[&[url.as_str(), "--resolve", &resolve], &TWENTY[..], more].concat());
    let cacert = cert.to_str().unwrap();
    ask(&["--cacert", cacert]).assert_all("ok", 20);
    ask(&["--insecure"]).assert_all("ok", 20);
    let untrusted = ask(&[]);
    untrusted.assert_all("tls", 20);
    assert!(untrusted.text.contains("signed by nobody who is trusted here; --cacert"), "{}", untrusted.text);
    // For another name; no TLS at all.
    ask(&["--cacert", cacert, "--host", "other.example"]).assert_all("tls", 20);
    let plain = super::server::server(|mut stream| {
        super::server::answer(&mut stream, "400 Bad Request", "", "this is plain HTTP");
    });
    let url = format!("https://{}/", plain.address);
    probe(&[&[url.as_str(), "--insecure"], &TWENTY[..]].concat()).assert_all("tls", 20);
}
