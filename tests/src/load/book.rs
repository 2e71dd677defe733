//! What a load has seen so far: operations of the senders, deliveries to the receiver.

use std::sync::Mutex;

use hive_proto::v1::Message;

use crate::ledger::{Delivery, Ledger};

/// What the load has seen.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) ledger: Ledger,
    pub(super) seen: Vec<Delivery>,
}

/// Notes a delivery, or that the turn of an earlier one was confirmed.
pub(super) fn note(book: &Mutex<Book>, messages: &[Message], settled: bool) {
    let mut book = book.lock().expect("no panic before");
    for message in messages {
        let open = book
            .seen
            .iter_mut()
            .rev()
            .find(|seen| seen.id == message.id && !seen.settled);
        match (settled, open) {
            (true, Some(open)) => open.settled = true,
            (true, None) | (false, _) => book.seen.push(Delivery {
                id: message.id,
                body: message.body.clone(),
                settled,
            }),
        }
    }
}
