//! The HTTP client: one request, and exactly what became of it.
//!
//! hyper speaks HTTP; the connections are our own. A client that retries, or that hides which system
//! call failed, would hide what this is about.

mod names;
mod pool;
mod wire;

use super::args::Settings;
use super::outcome::{Answer, Seen};
use super::target::Target;
use super::tls;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request};
use names::Names;
use nix::errno::Errno;
use pool::{Connection, Pool};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use wire::{Stream, Trace, errno_of};

/// How much of a body is kept to be looked at. Pages of proxies are shorter.
const BODY: usize = 4_096;

/// Who asks, in every request.
const USER_AGENT: &str = concat!("lameduckctl-probe/", env!("CARGO_PKG_VERSION"));

/// A client for one run.
pub(super) struct Client {
    names: Names,
    tls: Option<TlsConnector>,
    /// By target, in their order.
    pools: Vec<Arc<Pool>>,
    method: Method,
    headers: HeaderMap,
    timeout: Duration,
}

/// Which request on which connection.
#[derive(Clone, Copy)]
pub(super) enum On {
    /// On a connection of its own, closed after it.
    Fresh,
    /// On a kept one of this target, if there is one.
    Kept(usize),
}

// === impl Client ===

impl Client {
    /// # Errors
    /// When TLS is needed and nothing can be trusted.
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        let mut all = settings.targets.iter().chain(&settings.readiness).chain(&settings.statuses);
        let tls = if all.any(|target| target.tls) { Some(tls::connector(&settings.trust)?) } else { None };
        Ok(Self {
            names: Names::new(settings.family),
            tls,
            pools: settings.targets.iter().map(|_| Arc::default()).collect(),
            method: settings.method.clone(),
            headers: settings.headers.clone(),
            timeout: settings.timeout,
        })
    }

    /// Sends a request of the load; also tells whether it went out on a connection that had been used.
    pub(super) async fn send(&self, target: &Target, on: On) -> (Seen, bool) {
        let mut reused = false;
        let exchange = self.exchange(target, &self.method, on, &mut reused);
        let seen = tokio::time::timeout(self.timeout, exchange).await.unwrap_or(Seen::TimedOut);
        (seen, reused)
    }

    /// Asks beside the load, with a GET on a connection of its own.
    pub(super) async fn look(&self, target: &Target, patience: Duration) -> Option<Answer> {
        let mut reused = false;
        let exchange = self.exchange(target, &Method::GET, On::Fresh, &mut reused);
        match tokio::time::timeout(patience, exchange).await {
            Ok(Seen::Whole(answer)) => Some(answer),
            _ => None,
        }
    }

    async fn exchange(&self, target: &Target, method: &Method, on: On, reused: &mut bool) -> Seen {
        let pool = match on {
            On::Kept(number) => self.pools.get(number),
            On::Fresh => None,
        };
        let request = || self.request(target, method, pool.is_some());
        while let Some(connection) = pool.and_then(|pool| pool.take()) {
            *reused = true;
            match ask(connection, request(), pool).await {
                Ok(seen) => return seen,
                // It was closed while it waited: nothing was sent on it, so nothing was lost.
                Err(_) => *reused = false,
            }
        }
        match self.connect(target).await {
            Ok(connection) => ask(connection, request(), pool).await.unwrap_or_else(|seen| seen),
            Err(seen) => seen,
        }
    }

    fn request(&self, target: &Target, method: &Method, keep: bool) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        *request.method_mut() = method.clone();
        // It was read as a path before.
        *request.uri_mut() = target.path.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(header::HOST, target.host_header.clone());
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        if !keep {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        for name in self.headers.keys() {
            headers.remove(name);
            for value in self.headers.get_all(name) {
                headers.append(name, value.clone());
            }
        }
        request
    }

    /// Opens a connection: the addresses of the name are tried in their order, as clients do.
    async fn connect(&self, target: &Target) -> Result<Connection, Seen> {
        let addresses = self.names.addresses(target).await.map_err(Seen::NoName)?;
        let mut seen = Seen::NoName("no address".to_owned());
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return self.speak(target, stream).await,
                Err(error) => seen = Seen::NoConnection(errno_of(&error).unwrap_or(Errno::ECONNREFUSED as i32)),
            }
        }
        Err(seen)
    }

    async fn speak(&self, target: &Target, stream: TcpStream) -> Result<Connection, Seen> {
        // Requests are small and must not wait for each other. Where it is refused they go out anyway.
        let _ = stream.set_nodelay(true);
        let stream = match &self.tls {
            Some(tls) if target.tls => {
                let name = ServerName::try_from(target.server_name.clone());
                let name =
                    name.map_err(|_| Seen::NoTls(format!("{} cannot have a certificate", target.server_name)))?;
                let secured = tls.connect(name, stream).await;
                Stream::Tls(Box::new(secured.map_err(|error| no_tls(&error))?))
            }
            _ => Stream::Plain(stream),
        };
        Connection::new(stream).await.map_err(|error| Seen::NotHttp(error.to_string()))
    }
}

fn no_tls(error: &io::Error) -> Seen {
    match errno_of(error) {
        Some(errno) => Seen::Failed(errno, 0),
        None if error.kind() == io::ErrorKind::UnexpectedEof => Seen::Closed(0),
        None => Seen::NoTls(tls::words_of(error)),
    }
}

/// One request and its answer. `Err` when nothing of it was sent.
async fn ask(
    mut connection: Connection,
    request: Request<Empty<Bytes>>,
    pool: Option<&Arc<Pool>>,
) -> Result<Seen, Seen> {
    let before = connection.trace.now().received;
    let response = match connection.sender.try_send_request(request).await {
        Ok(response) => response,
        Err(mut error) => {
            let unsent = error.take_message().is_some();
            let seen = explain(&connection.trace, error.error(), before);
            return if unsent { Err(seen) } else { Ok(seen) };
        }
    };
    let (parts, mut body) = response.into_parts();
    let mut start = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => {
                let room = BODY.saturating_sub(start.len()).min(data.len());
                start.extend_from_slice(data.get(..room).unwrap_or_default());
            }
            // Trailers.
            Ok(Err(_)) => {}
            Err(error) => {
                return Ok(match explain(&connection.trace, &error, before) {
                    Seen::NotHttp(_) => Seen::BadBody(root(&error)),
                    seen => seen,
                });
            }
        }
    }
    if let Some(pool) = pool {
        // Not on the request's time.
        let pool = Arc::clone(pool);
        tokio::spawn(async move { pool.keep(connection).await });
    }
    Ok(Seen::Whole(Answer { status: parts.status.as_u16(), headers: parts.headers, body: start }))
}

/// What the connection knows of an error that HTTP has seen.
fn explain(trace: &Trace, error: &hyper::Error, before: u64) -> Seen {
    let now = trace.now();
    let received = now.received.saturating_sub(before);
    match now.errno {
        Some(errno) => Seen::Failed(errno, received),
        None if error.is_parse() => Seen::NotHttp(error.to_string()),
        None if now.closed => Seen::Closed(received),
        None => Seen::NotHttp(error.to_string()),
    }
}

/// What lies at the bottom of an error of hyper: the rest says no more than where it was seen.
fn root(error: &hyper::Error) -> String {
    let mut error: &dyn std::error::Error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
