//! Tests of writes that wait with the writer.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};

use hive_proto::ids::AgentId;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{Order, Parked, Standing, Turnout};
use crate::clock::Clock;
use crate::model::event::Kind;
use crate::shutdown::Tasks;
use crate::store::events::{self, About, last_seq};
use crate::store::tests::break_commit;
use crate::store::{Recipient, Store, StoreError, Tx};

const BEE: Recipient = Recipient::Agent(AgentId(1));
const ANT: Recipient = Recipient::Agent(AgentId(2));

fn open() -> (TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("backups")).unwrap();
    let store = Store::open(home.path(), Clock::system(), Tasks::default()).unwrap();
    (home, store)
}

fn event(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    events::append(tx, Kind::AgentStatus, About::default(), &json!({}))
}

/// Writes something and wakes `whom`.
async fn wake(store: &Store, whom: Recipient) {
    let written = store.write(move |tx| {
        tx.wake(whom);
        event(tx)
    });
    written.await.unwrap();
}

/// Returns once everything that was asked for before has had its turn.
async fn caught_up(store: &Store) {
    store.write(|_| Ok(())).await.unwrap();
}

/// Waits for the bee, writes an event when there is one, and tells how many there are.
fn look(store: &Store) -> Standing<i64> {
    let standing = store.stand(|tx| match last_seq(tx.conn())?.0 {
        0 => Ok(Turnout::WaitFor(BEE)),
        _ => {
            event(tx)?;
            Ok(Turnout::Done(last_seq(tx.conn())?.0))
        }
    });
    standing.unwrap()
}

/// Asks for both, in this order, while the writer is busy: what comes meanwhile is one group.
async fn in_one_group<A: Future, B: Future>(store: &Store, a: A, b: B) -> (A::Output, B::Output) {
    let (begun, running) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let busy = store.write(move |_| {
        let _ = begun.send(());
        // Until the other end is dropped.
        let _ = released.recv();
        Ok(())
    });
    let both = async {
        running.await.unwrap();
        tokio::join!(biased; a, b, async { drop(release) })
    };
    let (_, (a, b, ())) = tokio::join!(busy, both);
    (a, b)
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

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_that_is_taken_back_wakes_nobody() {
    let (_home, store) = open();
    let mut standing = look(&store);
    let failed = store.write(|tx| {
        tx.wake(BEE);
        event(tx)?;
        Err::<(), _>(StoreError::NotFound("a row".into()))
    });
    assert!(failed.await.is_err());
    assert!(futures::poll!(std::pin::pin!(standing.answer())).is_pending());
    wake(&store, BEE).await;
    assert_eq!(standing.answer().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_in_a_commit_that_failed_was_not_found() {
    let (_home, store) = open();
    let mut standing = look(&store);
    let broken = store.write(|tx| {
        tx.wake(BEE);
        event(tx)?;
        break_commit(tx)
    });
    assert!(broken.await.is_err());
    let error = standing.answer().await.unwrap_err();
    assert!(matches!(error, StoreError::Sqlite(_)), "{error}");
    assert_eq!(store.read(last_seq).await.unwrap().0, 0);
    // The caller looks again, and what comes then is found.
    let mut again = look(&store);
    wake(&store, BEE).await;
    assert_eq!(again.answer().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_missed_because_of_a_commit_that_failed_is_looked_for_again() {
    let (_home, store) = open();
    wake(&store, ANT).await;
    let gone = store.write(|tx| {
        tx.conn().execute_batch("DELETE FROM events")?;
        Ok(())
    });
    let looks = async {
        let mut standing = look(&store);
        let broken = store.write(|tx| break_commit(tx)).await;
        assert!(broken.is_err());
        standing.answer().await
    };
    let (gone, found) = in_one_group(&store, gone, looks).await;
    assert!(gone.is_err());
    // Nobody wakes it: the event is there again because the commit was not made.
    assert_eq!(found.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_flush_ends_what_waits() {
    let (_home, store) = open();
    let (mut standing, other) = (look(&store), look(&store));
    let flush = store.write(|_| Err::<(), _>(StoreError::Fsync("no".into())));
    assert!(matches!(flush.await, Err(StoreError::Fsync(_))));
    let ended = standing.answer().await;
    assert!(matches!(ended, Err(StoreError::Stopped)), "{ended:?}");
    // It had found nothing, and so it says.
    assert_eq!(other.withdraw().await.unwrap(), None);
    let late = store.stand::<(), _>(|_| Ok(Turnout::WaitFor(BEE)));
    assert!(matches!(late, Err(StoreError::Stopped)), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_does_not_keep_the_writer() {
    let (_home, store) = open();
    let mut standing = look(&store);
    caught_up(&store).await;
    drop(store);
    let ended = standing.answer().await;
    assert!(matches!(ended, Err(StoreError::Stopped)), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_what_waits_is_its_own() {
    let (_home, store) = open();
    let mut standing = store
        .stand::<(), _>(|tx| match last_seq(tx.conn())?.0 {
            0 => Ok(Turnout::WaitFor(BEE)),
            _ => panic!("a closure of a test"),
        })
        .unwrap();
    wake(&store, BEE).await;
    assert!(standing.answer().await.is_err());
    assert_eq!(store.read(last_seq).await.unwrap().0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_wait_run_in_their_order_and_not_all_in_one_commit() {
    const MANY: i64 = 2_500;
    let (home, store) = open();
    let reader = Connection::open(home.path().join("hive.db")).unwrap();
    let reader = Arc::new(std::sync::Mutex::new(reader));
    let looks: Vec<_> = (0..MANY)
        .map(|_| {
            let reader = Arc::clone(&reader);
            let look = move |tx: &mut Tx<'_>| match last_seq(tx.conn())?.0 {
                0 => Ok(Turnout::WaitFor(BEE)),
                seq => {
                    event(tx)?;
                    let committed = last_seq(&reader.lock().unwrap())?.0;
                    Ok(Turnout::Done((seq, seq - committed)))
                }
            };
            store.stand(look).unwrap()
        })
        .collect();
    wake(&store, BEE).await;
    for (n, mut look) in looks.into_iter().enumerate() {
        let (seq, uncommitted) = look.answer().await.unwrap();
        assert_eq!(seq, i64::try_from(n).unwrap() + 1);
        assert!(uncommitted <= 1_024, "{uncommitted} turns in one commit");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_on_its_way_is_never_thrown_away() {
    let (_home, store) = open();
    for n in 0..500 {
        let before = store.read(last_seq).await.unwrap().0;
        let standing = store
            .stand(move |tx| match last_seq(tx.conn())?.0 {
                seq if seq == before => Ok(Turnout::WaitFor(BEE)),
                _ => event(tx).map(Turnout::Done),
            })
            .unwrap();
        // The writer makes it a race: it may not have looked yet, be looking, or have begun to wait.
        let (found, ()) = match n % 2 {
            0 => tokio::join!(biased; standing.withdraw(), wake(&store, BEE)),
            _ => {
                let (woken, found) = tokio::join!(biased; wake(&store, BEE), standing.withdraw());
                (found, woken)
            }
        };
        let found = found.unwrap();
        let written = store.read(last_seq).await.unwrap().0 - before;
        assert_eq!(written, 1 + i64::from(found.is_some()));
    }
}

#[test]
fn abandoned_looks_do_not_pile_up() {
    let mut parked = Parked::default();
    let look = || Order::new(|_: &mut Tx<'_>| Ok(Turnout::<()>::WaitFor(BEE)));
    let (wanted, _standing) = look();
    parked.add(BEE, Box::new(wanted));
    for n in 0..10_000 {
        let (order, _) = look();
        parked.add(Recipient::Agent(AgentId(n % 3)), Box::new(order));
        parked.committed();
    }
    let kept: usize = parked.orders.values().map(Vec::len).sum();
    assert!(kept < 100, "{kept}");
    assert_eq!(parked.take(BEE).len(), 1);
    assert!(parked.take(ANT).is_empty());
}
