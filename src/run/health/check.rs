//! The server's own check: asked when somebody wants to know, by one asker for all.

use super::stream;
use crate::http::{Place, Status, Target};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A server that needs longer to say that it is well is not: that is also what a kubelet waits.
const LIMIT: Duration = Duration::from_secs(1);

/// Of an answer only the first line is read, and no more than this, in bytes.
const MOST_READ: usize = 2048;

/// What came of a check: nothing, or a complaint.
type Outcome = Result<(), Arc<str>>;

/// The checks of one target: never more than one at a time.
pub(super) struct Checks {
    target: Arc<Target>,
    /// Where the outcome of the one that is under way will be.
    under_way: Mutex<Option<watch::Receiver<Option<Outcome>>>>,
}

// === impl Checks ===

impl Checks {
    pub(super) fn new(target: Target) -> Self {
        Self { target: Arc::new(target), under_way: Mutex::new(None) }
    }

    /// Whether the server is well: a new check, or the one that is under way.
    pub(super) async fn pass(&self) -> Outcome {
        let mut outcome = self.join_or_start();
        // Fails when the check panicked. That is no sign of health.
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => Err(format!("{} could not be asked", self.target).into()),
        }
    }

    fn join_or_start(&self) -> watch::Receiver<Option<Outcome>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = under_way.as_ref()
            && outcome.has_changed().is_ok()
            && outcome.borrow().is_none()
        {
            return outcome.clone();
        }
        let (tell, outcome) = watch::channel(None);
        *under_way = Some(outcome.clone());
        // On its own: whoever asked first may go away, and the others still want to know.
        tokio::spawn(check(Arc::clone(&self.target), tell));
        outcome
    }
}

async fn check(target: Arc<Target>, tell: watch::Sender<Option<Outcome>>) {
    let (outcome, stream) = match tokio::time::timeout(LIMIT, ask(&target)).await {
        Ok(Ok(stream)) => (Ok(()), stream),
        Ok(Err(why)) => (Err(format!("{target} {why}").into()), None),
        Err(_) => (Err(format!("{target} does not answer within {} s", LIMIT.as_secs()).into()), None),
    };
    tell.send_replace(Some(outcome));
    if let Some(stream) = stream {
        // Only so that the server does not see its answer cut off.
        let _ = tokio::time::timeout(LIMIT, stream::close(stream)).await;
    }
}

/// The connection, if there is more to read from it; or a complaint.
async fn ask(target: &Target) -> Result<Option<TcpStream>, String> {
    match target {
        Target::Tcp(place) => connect(place).await.map(|_| None).map_err(|error| refused(&error)),
        Target::Http(place, path) => {
            let stream = connect(place).await.map_err(|error| refused(&error))?;
            let code = code(&stream, place, path).await?;
            if Status::is_well(code) { Ok(Some(stream)) } else { Err(format!("answers {code}")) }
        }
    }
}

fn refused(error: &io::Error) -> String {
    format!("cannot be connected to: {error}")
}

async fn connect(place: &Place) -> io::Result<TcpStream> {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for address in &place.addresses {
        result = TcpStream::connect(*address).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

async fn code(stream: &TcpStream, place: &Place, path: &str) -> Result<u16, String> {
    let broken = |error: io::Error| format!("breaks off: {error}");
    let request = crate::http::get(place, path);
    stream::write(stream, request.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::new();
    loop {
        match Status::parse(&answer) {
            Status::Code(code) => return Ok(code),
            Status::Malformed => return Err("answers, but not in HTTP".to_owned()),
            Status::Unfinished => {
                if !stream::read(stream, &mut answer, MOST_READ).await.map_err(broken)? {
                    return Err("closes without an answer".to_owned());
                }
            }
        }
    }
}
