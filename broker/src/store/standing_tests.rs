//! Tests of writes that wait with the writer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hive_proto::ids::AgentId;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::Turnout;
use crate::clock::Clock;
use crate::model::event::Kind;
use crate::shutdown::Tasks;
use crate::store::events::{self, About, last_seq};
use crate::store::{Recipient, Store, StoreError};

const BEE: Recipient = Recipient::Agent(AgentId(1));
const ANT: Recipient = Recipient::Agent(AgentId(2));

fn open() -> (TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("backups")).unwrap();
    let store = Store::open(home.path(), Clock::system(), Tasks::default()).unwrap();
    (home, store)
}

/// Writes something and wakes `whom`.
async fn wake(store: &Store, whom: Recipient) {
    let written = store.write(move |tx| {
        tx.wake(whom);
        events::append(tx, Kind::AgentStatus, About::default(), &json!({}))
    });
    written.await.unwrap();
}

/// What another connection sees: committed rows only.
fn committed(path: &Path) -> i64 {
    last_seq(&Connection::open(path).unwrap()).unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_runs_in_the_transaction_that_wakes_it() {
    let (home, store) = open();
    let path = home.path().join("hive.db");
    let mut standing = store
        .stand(move |tx| match last_seq(tx.conn())?.0 {
            0 => Ok(Turnout::WaitFor(BEE)),
            seq => Ok(Turnout::Done((seq, committed(&path)))),
        })
        .unwrap();
    // Another recipient's wake is none of its business.
    let looked = tokio::time::timeout(Duration::from_millis(50), standing.answer()).await;
    assert!(looked.is_err(), "there was nothing to find");
    wake(&store, BEE).await;
    assert_eq!(standing.answer().await.unwrap(), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_recipient_that_it_waits_for_wakes_it_and_it_may_go_on_waiting() {
    let (_home, store) = open();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let mut standing = store
        .stand(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(Turnout::WaitFor(BEE)),
            _ => Ok(Turnout::Done(())),
        })
        .unwrap();
    wake(&store, ANT).await;
    wake(&store, BEE).await;
    wake(&store, ANT).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    wake(&store, BEE).await;
    standing.answer().await.unwrap();
    wake(&store, BEE).await;
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_does_nothing_more() {
    let (_home, store) = open();
    let runs = Arc::new(AtomicU32::new(0));
    for gone in [false, true] {
        let counted = Arc::clone(&runs);
        let standing = store
            .stand::<(), _>(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(Turnout::WaitFor(BEE))
            })
            .unwrap();
        // Anything that is answered later has seen it run.
        wake(&store, ANT).await;
        if gone {
            drop(standing);
        } else {
            assert_eq!(standing.withdraw().await.unwrap(), None);
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    wake(&store, BEE).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_before_it_ran_runs_once_and_tells() {
    let (_home, store) = open();
    let found = store.stand(|_| Ok(Turnout::Done(7))).unwrap();
    assert_eq!(found.withdraw().await.unwrap(), Some(7));
    let nothing = store.stand::<(), _>(|_| Ok(Turnout::WaitFor(BEE))).unwrap();
    assert_eq!(nothing.withdraw().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_error_is_its_own() {
    let (_home, store) = open();
    let mut first = true;
    let mut standing = store
        .stand::<(), _>(move |_| match std::mem::take(&mut first) {
            true => Ok(Turnout::WaitFor(BEE)),
            false => Err(StoreError::NotFound("a row".into())),
        })
        .unwrap();
    wake(&store, BEE).await;
    let error = standing.answer().await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound(_)), "{error}");
    assert_eq!(store.read(last_seq).await.unwrap().0, 1);
}
