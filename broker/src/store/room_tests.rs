//! The limit of a mailbox is exact, whatever is remembered of it.

use hive_proto::ids::{MessageId, UnixMs};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::Connection;

use crate::clock::Clock;
use crate::shutdown::Tasks;
use crate::store::messages::{self, NewMessage};
use crate::store::tests::break_commit;
use crate::store::{Recipient, Store, StoreError, Tx};

const MOST: u32 = 4;
const TO: Recipient = Recipient::Operator;

/// What may happen to a mailbox. Numbers are taken as ids that may or may not be in the state for it.
#[derive(Clone, Debug)]
enum Op {
    /// Admitted by the limit, or refused.
    Send,
    /// Written whatever the limit says, as a notice is.
    Notice,
    Read(i64),
    Bury(i64),
    Revive(i64),
    /// A read and a count of what it left, both taken back: alone, or with the whole commit.
    Undone {
        id: i64,
        with_all: bool,
    },
    Prune,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let id = 1_i64..12;
    let one = prop_oneof![
        4 => Just(Op::Send),
        1 => Just(Op::Notice),
        2 => id.clone().prop_map(Op::Read),
        1 => id.clone().prop_map(Op::Bury),
        1 => id.clone().prop_map(Op::Revive),
        2 => (id, any::<bool>()).prop_map(|(id, with_all)| Op::Undone { id, with_all }),
        1 => Just(Op::Prune),
    ];
    vec(one, 1..40)
}

fn counted(conn: &Connection) -> u32 {
    let sql = "SELECT COUNT(*) FROM messages WHERE to_id IS NULL AND state = 'queued'";
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The limit's word is that of a count.
fn full(tx: &Tx<'_>) -> Result<bool, StoreError> {
    let rows = counted(tx.conn());
    let full = messages::full(tx, TO, MOST)?;
    assert_eq!(full, (rows >= MOST).then_some(rows));
    Ok(full.is_some())
}

fn insert(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let new = NewMessage {
        from: "system",
        from_id: None,
        to: TO,
        body: "x",
        in_reply_to: None,
        key: None,
    };
    messages::insert(tx, &new).map(drop)
}

fn read(tx: &mut Tx<'_>, id: i64) -> Result<(), StoreError> {
    match messages::fate(tx.conn(), MessageId(id))? {
        Some(row) => messages::mark_read(tx, &row),
        None => Ok(()),
    }
}

fn apply(tx: &mut Tx<'_>, op: &Op) -> Result<(), StoreError> {
    match op {
        Op::Send if full(tx)? => Ok(()),
        Op::Send | Op::Notice => insert(tx),
        Op::Read(id) => read(tx, *id),
        Op::Bury(id) => match messages::fate(tx.conn(), MessageId(*id))? {
            Some(row) => messages::bury_queued(tx, &row, 0, "unwanted"),
            None => Ok(()),
        },
        Op::Revive(id) => match messages::fate(tx.conn(), MessageId(*id))? {
            Some(row) => messages::revive(tx, &row),
            None => Ok(()),
        },
        Op::Undone { id, with_all } => {
            // A row in another state is no reason not to count.
            let _ = read(tx, *id);
            full(tx)?;
            if *with_all {
                return break_commit(tx);
            }
            Err(StoreError::NotFound("a reason to go on".into()))
        }
        Op::Prune => messages::prune(tx, UnixMs(i64::MAX), 1).map(drop),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_mailbox_is_full_when_a_count_says_so(ops in ops()) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("backups")).unwrap();
        let store = Store::open(home.path(), Clock::system(), Tasks::default()).unwrap();
        futures::executor::block_on(async {
            for op in ops {
                // A conflict is a write that was taken back, like any other.
                let _ = store.write(move |tx| apply(tx, &op)).await;
                let checked = store.write(|tx| full(tx)).await;
                assert!(checked.is_ok(), "{checked:?}");
            }
        });
    }
}
