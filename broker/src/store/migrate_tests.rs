//! Migrations of a database with rows in it: killed at any write, the next start makes them.

use std::path::Path;
use std::process::Command;

use hive_proto::ids::{AgentId, UnixMs};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Store, agents, migrate, purges};
use crate::clock::Clock;
use crate::shutdown::Tasks;

/// Names the data directory to the copy of this program that is killed.
const CHILD: &str = "HIVE_TEST_MIGRATE";
/// All that a migration changes on the disk.
const WRITES: &str = "pwrite64,write,fsync,fdatasync,ftruncate,unlink";

/// A data directory as the hived of an earlier schema left it, with rows in every table of the first.
fn earlier(version: u32) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("backups")).unwrap();
    let path = home.path().join("hive.db");
    let mut conn = Connection::open(&path).unwrap();
    super::open::prepare(&conn, &path).unwrap();
    migrate::run_up_to(&mut conn, version).unwrap();
    conn.execute_batch(
        "INSERT INTO agents (id, name, role, desired, engine, model, created_at, removed_at, purged)
         VALUES (1, 'bee', 'agent', 'stopped', 'scripted', 'm', 1, 2, 1),
                (2, 'bee', 'agent', 'running', 'scripted', 'm', 3, NULL, 0),
                (3, 'ant', 'agent', 'stopped', 'scripted', 'm', 4, 5, 1),
                (4, 'fly', 'agent', 'stopped', 'scripted', 'm', 6, 7, 0);
         INSERT INTO sessions VALUES (2, 'i', 7, 'idle', NULL, '', '0', 1, 8, 9);
         INSERT INTO turns (id, agent_id, epoch, message_id, engine, model, started_at)
         VALUES (1, 2, 7, 1, 'scripted', 'm', 10);
         INSERT INTO messages (sender, to_id, body, state, turn_id, epoch, leased_at, queued_at)
         VALUES ('operator', 2, 'taken', 'leased', 1, 7, 10, 9),
                ('operator', 2, 'waits', 'queued', NULL, NULL, NULL, 11);
         INSERT INTO events (at, kind, data) VALUES (1, 'agent.created', '{}');",
    )
    .unwrap();
    home
}

fn schema(path: &Path) -> Vec<String> {
    let conn = Connection::open(path).unwrap();
    let mut statement = conn
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn count(path: &Path, table: &str) -> u32 {
    let conn = Connection::open(path).unwrap();
    conn.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| {
        row.get(0)
    })
    .unwrap()
}

/// The rows that were there are there, and the schema is a fresh one's.
fn assert_whole(home: &Path, fresh: &[String], what: &str) {
    let path = home.join("hive.db");
    assert_eq!(schema(&path), fresh, "{what}");
    for (table, rows) in [
        ("agents", 4),
        ("sessions", 1),
        ("turns", 1),
        ("messages", 2),
        ("events", 1),
    ] {
        assert_eq!(count(&path, table), rows, "{what}: {table}");
    }
}

fn fresh_schema() -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hive.db");
    let mut conn = Connection::open(&path).unwrap();
    migrate::run(&mut conn, &path, home.path(), UnixMs(1)).unwrap();
    schema(&path)
}

/// Not a test of its own: what [`cr19_killed_at_any_write_of_a_migration_the_next_start_makes_it`]
/// runs below a tracer.
#[test]
fn opens_what_the_environment_names() {
    if let Some(home) = std::env::var_os(CHILD) {
        Store::open(Path::new(&home), Clock::system(), Tasks::default()).unwrap();
    }
}

/// Opens `home` in a process that is killed at its `nth` write; says whether it came to an end.
fn opened_until(home: &Path, nth: u32) -> bool {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(["-e", &format!("trace={WRITES}")])
        .args(["-e", &format!("inject={WRITES}:signal=SIGKILL:when={nth}")])
        // Of files below the directory only: the test's own output is not what is killed.
        .args(["-P", home.join("hive.db").to_str().unwrap()])
        .args(["-P", home.join("hive.db-wal").to_str().unwrap()])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::migrate_tests::opens_what_the_environment_names",
        ])
        .env(CHILD, home)
        .output()
        .expect("strace is installed")
        .status;
    status.success()
}

#[test]
fn cr19_killed_at_any_write_of_a_migration_the_next_start_makes_it() {
    let fresh = fresh_schema();
    for version in 1..migrate::known() {
        let mut killed = 0;
        loop {
            let home = earlier(version);
            let done = opened_until(home.path(), killed + 1);
            let what = format!("from {version}, killed at write {}", killed + 1);
            drop(Store::open(home.path(), Clock::system(), Tasks::default()).expect(&what));
            assert_whole(home.path(), &fresh, &what);
            if done {
                break;
            }
            killed += 1;
        }
        assert!(killed > 3, "only {killed} writes were killed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn purges_of_an_earlier_schema_are_gone_on_with_where_the_name_is_free() {
    let home = earlier(1);
    let store = Store::open(home.path(), Clock::system(), Tasks::default()).unwrap();
    let left = store.read(purges::unfinished).await.unwrap();
    let left: Vec<_> = left.into_iter().map(|row| (row.agent, row.name)).collect();
    assert_eq!(left, [(AgentId(3), "ant".to_owned())]);
    let living = store.read(agents::list).await.unwrap();
    assert_eq!(living.len(), 1);
}
