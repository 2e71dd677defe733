//! The receiver: one harness that outlives the broker, and ends each turn as well done.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hive_proto::v1::{Message, Outcome};
use tokio_util::sync::CancellationToken;

use super::book::{Book, note};
use super::sender::is_final;
use super::{CALL, PATIENCE};
use crate::client::{self, Status};
use crate::session::Session;
use crate::wait::pass;

/// Takes and ends turns until `done`, as one harness that outlives the broker.
pub(super) async fn receive(socket: PathBuf, done: CancellationToken, book: Arc<Mutex<Book>>) {
    let instance = uuid::Uuid::new_v4().to_string();
    let mut held: Option<(i64, Vec<Message>)> = None;
    while !done.is_cancelled() {
        let round = serve(&socket, &instance, &mut held, &done, &book);
        if tokio::time::timeout(PATIENCE, round).await.is_err() || !done.is_cancelled() {
            pass(Duration::from_millis(20)).await;
        }
    }
}

/// One session, until something breaks.
async fn serve(
    socket: &Path,
    instance: &str,
    held: &mut Option<(i64, Vec<Message>)>,
    done: &CancellationToken,
    book: &Mutex<Book>,
) -> Result<(), Status> {
    let open = Session::resume(client::agent(socket), instance.to_owned());
    let mut session = soon(open).await?;
    while !done.is_cancelled() {
        if let Some((turn, messages)) = held.clone() {
            match soon(session.end(turn, Outcome::Ok)).await {
                Ok(_) => note(book, &messages, true),
                // Its process was started anew meanwhile: the turn is over, its messages come again.
                Err(status) if is_final(&status) => {}
                Err(status) => return Err(status),
            }
            *held = None;
        }
        // Rows whose reply was lost with the broker are handed out again here.
        let got = soon(session.recv(4, 500)).await?;
        if got.turn_id != 0 {
            note(book, &got.messages, false);
            *held = Some((got.turn_id, got.messages));
        }
    }
    Ok(())
}

/// No call waits for a broker that is gone.
async fn soon<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    tokio::time::timeout(CALL, call)
        .await
        .unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer")))
}
