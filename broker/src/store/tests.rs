//! Tests of the store as a whole: what it asserts when it opens, how it commits, what it refuses.

use std::path::Path;

use futures::future::join_all;
use hive_proto::ids::{AgentId, UnixMs};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::events::{self, About};
use super::{MIN_SQLITE, Store, StoreError, Tx, migrate, open};
use crate::clock::{Clock, ManualClock};
use crate::model::event::Kind;
use crate::shutdown::Tasks;

fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("backups")).unwrap();
    home
}

fn open(home: &Path) -> Result<Store, StoreError> {
    Store::open(home, Clock::system(), Tasks::default())
}

/// Works now, but the commit that holds it will fail.
pub(super) fn break_commit(tx: &Tx<'_>) -> Result<(), StoreError> {
    let nobodys =
        "PRAGMA defer_foreign_keys = ON; INSERT INTO purges (agent_id, since) VALUES (-1, 0)";
    Ok(tx.conn().execute_batch(nobodys)?)
}

async fn append(store: &Store, word: &str) -> Result<(), StoreError> {
    let data = json!({"word": word});
    store
        .write(move |tx| events::append(tx, Kind::AgentStatus, About::agent(AgentId(1)), &data))
        .await
}

async fn words(store: &Store) -> Vec<String> {
    store
        .read(|conn| {
            let last = events::last_seq(conn)?;
            events::between(conn, hive_proto::ids::EventSeq(0), last, "", 10_000)
        })
        .await
        .unwrap()
        .into_iter()
        .map(|event| event.data)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_were_changed_after_a_decision_never_run() {
    use crate::approvals::{Approvals, By, Decision};
    use crate::inbox::Limits;
    use crate::reconcile::{Bell, Intents, Reconciler as _};
    use crate::schedules::{Actor, Draft, Listing, Schedules, When};
    use hive_proto::v1::Role;
    let home = home();
    let store = open(home.path()).unwrap();
    let lead = super::agents::NewAgent {
        name: "lead".parse().unwrap(),
        role: Role::Manager,
        parent: None,
        engine: "scripted".into(),
        model: "m".into(),
        image: String::new(),
        role_prompt: String::new(),
        script: String::new(),
        config_sha: String::new(),
    };
    let lead = store
        .write(move |tx| super::agents::insert(tx, &lead))
        .await
        .unwrap()
        .id;
    let approvals = Approvals::new(store.clone());
    let schedules = Schedules::new(store.clone(), Limits::default(), 60, Bell::default());
    let draft = Draft {
        targets: vec!["lead".into()],
        body: "look".into(),
        when: When {
            interval_secs: Some(60),
            ..When::default()
        },
        ..Draft::default()
    };
    let id = schedules.request(lead, draft).await.unwrap().id;
    let by = By {
        who: "uid 0".into(),
        digest: String::new(),
        note: String::new(),
    };
    approvals.decide(id, Decision::Approve, by).await.unwrap();
    store
        .write(|tx| {
            let other = "UPDATE approvals SET payload = replace(payload, 'look', 'harm')";
            Ok(tx.conn().execute_batch(other)?)
        })
        .await
        .unwrap();
    let intents = Intents::new(approvals.clone(), schedules.bell());
    assert_eq!(intents.run().await.unwrap().get("failed"), 1);
    let row = approvals.get(id).await.unwrap();
    assert_eq!(
        row.result,
        "the stored request is not the one that was shown"
    );
    let all = schedules.list(Actor::Operator, Listing::All).await;
    assert!(all.unwrap().is_empty());
}

#[test]
fn cr10_a_connection_is_durable_or_refused() {
    let home = home();
    let path = home.path().join("hive.db");
    let conn = Connection::open(&path).unwrap();
    open::prepare(&conn, &path).unwrap();
    let text = |name: &str| -> String {
        conn.pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    let number = |name: &str| -> i64 {
        conn.pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    assert_eq!(text("journal_mode"), "wal");
    assert!(number("synchronous") >= 2);
    assert_eq!(number("foreign_keys"), 1);
    assert!(number("busy_timeout") > 0);
    assert!(rusqlite::version_number() >= MIN_SQLITE);

    // A database in memory has no write-ahead log: it is refused, not used.
    let volatile = Connection::open_in_memory().unwrap();
    let refused = open::prepare(&volatile, Path::new(":memory:"));
    assert!(
        matches!(refused, Err(StoreError::Corrupt { .. })),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_keeps_what_worked_and_only_that() {
    let home = home();
    let store = open(home.path()).unwrap();
    let writes = (0..100).map(|n| {
        store.write(move |tx| {
            let data = json!({"n": n});
            events::append(tx, Kind::AgentStatus, About::default(), &data)?;
            match n % 4 {
                0 => Err(StoreError::NotFound(format!("{n}"))),
                1 if n > 90 => panic!("a closure of a test"),
                _ => Ok(n),
            }
        })
    });
    let results = join_all(writes).await;
    let kept = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(kept, 75 - 2);
    assert_eq!(words(&store).await.len(), kept);
    // The writer has survived the panics.
    append(&store, "after").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_stands_though_its_caller_is_gone() {
    let home = home();
    let store = open(home.path()).unwrap();
    {
        let write = append(&store, "orphan");
        tokio::pin!(write);
        let _ = futures::poll!(&mut write);
    }
    append(&store, "next").await.unwrap();
    assert_eq!(words(&store).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_opening_again() {
    let home = home();
    let store = open(home.path()).unwrap();
    append(&store, "one").await.unwrap();
    drop(store);
    let store = open(home.path()).unwrap();
    assert_eq!(words(&store).await, [r#"{"word":"one"}"#]);
}

#[test]
fn cr19_a_newer_schema_is_refused_and_left_alone() {
    let home = home();
    drop(open(home.path()).unwrap());
    let path = home.path().join("hive.db");
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let refused = open(home.path());
    assert!(
        matches!(refused, Err(StoreError::SchemaTooNew { found: 99, .. })),
        "{refused:?}"
    );
    let conn = Connection::open(&path).unwrap();
    let version: u32 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[test]
fn cr19_migrations_from_every_earlier_schema_end_in_the_same_one() {
    let schema = |conn: &Connection| -> Vec<String> {
        conn.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let home = home();
    let backups = home.path().join("backups");
    let fresh = home.path().join("fresh.db");
    let mut conn = Connection::open(&fresh).unwrap();
    migrate::run(&mut conn, &fresh, &backups, UnixMs(1)).unwrap();
    let expected = schema(&conn);
    for version in 0..migrate::known() {
        let path = home.path().join(format!("from-{version}.db"));
        let mut conn = Connection::open(&path).unwrap();
        migrate::run_up_to(&mut conn, version).unwrap();
        // Backups are named by the time: two of one moment would be one file.
        let now = UnixMs(10 + i64::from(version));
        migrate::run(&mut conn, &path, &backups, now).unwrap();
        assert_eq!(schema(&conn), expected, "from {version}");
        // And once more changes nothing.
        migrate::run(&mut conn, &path, &backups, UnixMs(3)).unwrap();
    }
}

#[test]
fn cr16_a_damaged_file_is_refused_and_never_replaced() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("zeroed header", |bytes| bytes[..100].fill(0)),
        ("garbage", |bytes| bytes.fill(b'x')),
        ("cut off", |bytes| bytes.truncate(10)),
        ("torn page", |bytes| {
            let end = bytes.len();
            bytes[4_096..end].fill(0xAA);
        }),
    ];
    for (what, damage) in damages {
        let home = home();
        drop(open(home.path()).unwrap());
        let path = home.path().join("hive.db");
        settle_wal(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        damage(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let refused = open(home.path());
        assert!(
            matches!(refused, Err(StoreError::Corrupt { .. })),
            "{what}: {refused:?}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}: was changed");
    }
}

#[test]
fn a_database_that_is_gone_beside_its_log_is_not_replaced_by_an_empty_one() {
    let home = home();
    std::fs::write(home.path().join("hive.db-wal"), b"something").unwrap();
    let refused = open(home.path());
    assert!(
        matches!(refused, Err(StoreError::Corrupt { .. })),
        "{refused:?}"
    );
    assert!(!home.path().join("hive.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn cr20_a_backup_is_a_whole_database() {
    let home = home();
    let store = open(home.path()).unwrap();
    append(&store, "one").await.unwrap();
    let target = home.path().join("copy").join("hive.db");
    std::fs::create_dir_all(home.path().join("copy").join("backups")).unwrap();
    let (backup, _) = tokio::join!(store.backup(target), append(&store, "two"));
    backup.unwrap();
    let copy = open(&home.path().join("copy")).unwrap();
    let copied = words(&copy).await;
    assert!(words(&store).await.starts_with(&copied), "{copied:?}");
    assert!(!copied.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_sequences_do_not_depend_on_the_clock() {
    let home = home();
    let time = ManualClock::starting_at(UnixMs(1_000_000));
    let store = Store::open(home.path(), time.clock(), Tasks::default()).unwrap();
    for wall in [1_000_000, 5, 9_000_000_000_000, 0] {
        time.set_wall(UnixMs(wall));
        append(&store, "x").await.unwrap();
    }
    let seqs = store
        .read(|conn| {
            let last = events::last_seq(conn)?;
            events::between(conn, hive_proto::ids::EventSeq(0), last, "", 10)
        })
        .await
        .unwrap();
    let seqs: Vec<_> = seqs.into_iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
}

/// Moves everything into the main file, as a clean end does.
fn settle_wal(path: &Path) {
    let conn = Connection::open(path).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}
