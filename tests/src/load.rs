//! Senders and one receiver that work on while the hive is killed under them, and note what they see.

mod book;
mod receiver;
mod sender;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hive_proto::v1::MessageState;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::hive::TestHive;
use crate::ledger::{Delivery, Ledger, Outcome, Row, Violation};
use crate::wait::pass;
use book::Book;
use receiver::receive;
use sender::Sender;

/// How long one operation is tried again under its key before it counts as unknown.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);

/// A running load on the mailbox of one agent.
#[derive(Debug)]
pub struct Load {
    senders: JoinSet<()>,
    receiver: JoinSet<()>,
    done: CancellationToken,
    book: Arc<Mutex<Book>>,
}

/// Everything that a finished load found out.
#[derive(Debug)]
pub struct Seen {
    pub ledger: Ledger,
    pub deliveries: Vec<Delivery>,
}

// === impl Load ===

impl Load {
    /// Starts the operator and `agents` sending `each` messages one after the other to `to`, whose
    /// harness is played as well when `receive` is set.
    #[must_use]
    pub fn start(hive: &TestHive, agents: &[&str], to: &str, each: u32) -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let run = uuid::Uuid::new_v4().simple().to_string()[..6].to_owned();
        let mut senders = JoinSet::new();
        let operator = ("operator", hive.operator_socket());
        let sockets = agents
            .iter()
            .map(|name| (*name, hive.agent_sockets(name).join("broker.sock")));
        for (name, socket) in std::iter::once(operator).chain(sockets) {
            let sender = Sender {
                name: name.to_owned(),
                socket,
                to: to.to_owned(),
                run: run.clone(),
            };
            senders.spawn(sender.run(each, book.clone()));
        }
        let done = CancellationToken::new();
        let mut receiver = JoinSet::new();
        let socket = hive.agent_sockets(to).join("broker.sock");
        receiver.spawn(receive(socket, done.clone(), book.clone()));
        Self {
            senders,
            receiver,
            done,
            book,
        }
    }

    /// Whether every sender has finished.
    #[must_use]
    pub fn is_sent(&mut self) -> bool {
        while self.senders.try_join_next().is_some() {}
        self.senders.is_empty()
    }

    /// Operations that are over so far.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.book
            .lock()
            .map(|book| book.ledger.ops.len())
            .unwrap_or_default()
    }

    /// Waits for the senders, then until the receiver has had everything that was answered.
    pub async fn finish(mut self) -> Seen {
        while let Some(ended) = self.senders.join_next().await {
            ended.expect("a sender does not panic");
        }
        let start = Instant::now();
        while !self.all_settled() && start.elapsed() < PATIENCE / 4 {
            pass(Duration::from_millis(20)).await;
        }
        self.done.cancel();
        while let Some(ended) = self.receiver.join_next().await {
            ended.expect("the receiver does not panic");
        }
        let book = std::mem::take(&mut *self.book.lock().expect("no panic before"));
        Seen {
            ledger: book.ledger,
            deliveries: book.seen,
        }
    }

    fn all_settled(&self) -> bool {
        let book = self.book.lock().expect("no panic before");
        book.ledger
            .ops
            .iter()
            .filter_map(|op| match op.outcome {
                Outcome::Ok(id) => Some(id),
                Outcome::Failed | Outcome::Unknown => None,
            })
            .all(|id| book.seen.iter().any(|seen| seen.id == id && seen.settled))
    }
}

// === impl Seen ===

impl Seen {
    /// Lays everything beside what the hive holds; answered messages must have been worked off too.
    pub async fn check(&self, hive: &TestHive, to: &str) -> Vec<Violation> {
        let rows = rows(hive, to, &self.ledger).await;
        let mut found = self.ledger.check(&rows, 90);
        found.extend(self.ledger.check_deliveries(&self.deliveries));
        for op in &self.ledger.ops {
            let Outcome::Ok(id) = op.outcome else {
                continue;
            };
            // A turn whose end was stored and never answered is settled, though its receiver could
            // not know.
            let delivered = self.deliveries.iter().any(|seen| seen.body == op.key);
            let life = hive.life(id).await;
            if !delivered || crate::mail::state(&life) != MessageState::Acked {
                found.push(Violation::Lost {
                    key: op.key.clone(),
                });
            }
        }
        found
    }
}

/// The rows of this ledger's operations: looked up one by one, since a listing is capped.
async fn rows(hive: &TestHive, to: &str, ledger: &Ledger) -> Vec<Row> {
    let keys: std::collections::BTreeSet<&str> =
        ledger.ops.iter().map(|op| op.key.as_str()).collect();
    let mut rows = Vec::new();
    let mut misses = 0;
    let mut id = 0;
    // Ids of rows that were rolled back may be missing, but never many in a row.
    while misses < 200 {
        id += 1;
        let request = hive_proto::v1::GetMessageRequest { id };
        match hive.operator().get_message(request).await {
            Ok(life) => {
                misses = 0;
                let message = life.into_inner().message.unwrap_or_default();
                if message.to == to && keys.contains(message.body.as_str()) {
                    rows.push(Row {
                        id,
                        to: message.to,
                        body: message.body,
                    });
                }
            }
            Err(_) => misses += 1,
        }
    }
    rows
}
