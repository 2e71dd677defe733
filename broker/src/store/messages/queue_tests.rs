//! A pop costs what waits, not what was ever acked.

use rusqlite::{Connection, Params, StatementStatus};

use super::{COUNT, fates_sql, head_sql};
use crate::clock::Clock;
use crate::shutdown::Tasks;
use crate::store::messages::{self, NewMessage};
use crate::store::{Recipient, Store, StoreError};

const TO: Recipient = Recipient::Operator;

/// Steps of SQLite's machine that a statement takes to its last row.
fn steps(conn: &Connection, sql: &str, params: impl Params) -> i32 {
    let mut statement = conn.prepare(sql).unwrap();
    let mut rows = statement.query(params).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(StatementStatus::VmStep)
}

/// Sends and reads so many, and leaves one that waits.
async fn history(store: &Store, rows: u32) {
    let filled = store.write(move |tx| {
        for n in 0..=rows {
            let id = messages::insert(tx, &message())?;
            if n < rows {
                let row = messages::fate(tx.conn(), id)?;
                messages::mark_read(tx, &row.ok_or(StoreError::Stopped)?)?;
            }
        }
        Ok(())
    });
    filled.await.unwrap();
}

fn message() -> NewMessage<'static> {
    NewMessage {
        from: "system",
        from_id: None,
        to: TO,
        body: "x",
        in_reply_to: None,
        key: None,
    }
}

async fn cost(rows: u32) -> [i32; 3] {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("backups")).unwrap();
    let store = Store::open(home.path(), Clock::system(), Tasks::default()).unwrap();
    history(&store, rows).await;
    let measured = store.read(|conn| {
        Ok([
            steps(conn, COUNT, [0]),
            steps(conn, &fates_sql(), [0]),
            steps(conn, &head_sql(), [0, 32]),
        ])
    });
    measured.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acked_makes_no_pop_and_no_send_longer() {
    assert_eq!(cost(10).await, cost(3_000).await);
}
