//! A sender: one operation after the other, each tried again under its key until it is answered.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hive_proto::Refusal;
use hive_proto::v1::{Reason, SendRequest, SendResponse};

use super::book::Book;
use super::{CALL, PATIENCE};
use crate::client::{self, Status};
use crate::ledger::Outcome;
use crate::wait::pass;

/// Who sends, and where.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) name: String,
    pub(super) socket: PathBuf,
    pub(super) to: String,
    /// Makes keys of different loads on one hive differ.
    pub(super) run: String,
}

// === impl Sender ===

impl Sender {
    pub(super) async fn run(self, each: u32, book: Arc<Mutex<Book>>) {
        for n in 0..each {
            let key = format!("{}-{}-{n}", self.name, self.run);
            let outcome = self.send(&key).await;
            let mut book = book.lock().expect("no panic before");
            book.ledger.note(&self.name, &self.to, &key, outcome);
        }
    }

    /// One operation: tried again under its key until it is answered.
    async fn send(&self, key: &str) -> Outcome {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match tokio::time::timeout(CALL, self.call(key)).await {
                Ok(Ok(answer)) => return Outcome::Ok(answer.id),
                Ok(Err(status)) if is_final(&status) => return Outcome::Failed,
                Ok(Err(_)) | Err(_) => pass(std::time::Duration::from_millis(20)).await,
            }
        }
        Outcome::Unknown
    }

    async fn call(&self, key: &str) -> Result<SendResponse, Status> {
        let request = SendRequest {
            to: self.to.clone(),
            body: key.to_owned(),
            in_reply_to: None,
            idempotency_key: key.to_owned(),
        };
        let answer = if self.name == "operator" {
            client::operator(&self.socket).send(request).await?
        } else {
            client::agent(&self.socket).send(request).await?
        };
        Ok(answer.into_inner())
    }
}

/// Whether the broker said no, as opposed to not having answered.
pub(super) fn is_final(status: &Status) -> bool {
    use Reason as R;
    let again = [
        R::Unavailable,
        R::Timeout,
        R::Internal,
        R::StorageFull,
        R::RateLimited,
        R::MailboxFull,
    ];
    !again.contains(&Refusal::from_status(status).reason)
}
