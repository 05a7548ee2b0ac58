//! One connection: a request, its answer, and limits on everything.

use super::answer::{self, Answer, Page};
use super::{Asked, stream};
use crate::http::{Head, LONGEST_HEAD, Method};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// A connection lasts no longer, whatever it is busy with. No platform's probe waits that long
/// unless it is told to.
const LIFETIME: Duration = Duration::from_secs(5);

/// Answers one request.
pub(super) async fn serve(stream: TcpStream, asked: Arc<Asked>) {
    // A client that is too slow or has gone away has nobody else to blame.
    let _ = tokio::time::timeout(LIFETIME, exchange(stream, &asked)).await;
}

async fn exchange(stream: TcpStream, asked: &Asked) -> io::Result<()> {
    let mut head = Vec::new();
    let answer = loop {
        match Head::parse(&head) {
            Head::Whole(request) => {
                let answer = match Page::at(request.path, &asked.path) {
                    None => Answer::not_found(asked.path.as_str()),
                    Some(_) if request.method == Method::Other => Answer::not_allowed(),
                    Some(page) => page.answer(asked).await,
                };
                break answer.bytes(request.method);
            }
            Head::Refused(why) => break answer::refused(why).bytes(Method::Get),
            Head::Unfinished => {
                if !stream::read(&stream, &mut head, LONGEST_HEAD).await? {
                    return Ok(());
                }
            }
        }
    };
    stream::write(&stream, &answer).await?;
    stream::close(stream).await
}
