//! PostgreSQL as a queue: insert and notify in one statement, delete with skip locked.

use std::os::unix::fs::chown;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;
use futures::StreamExt as _;
use hive_tests::wait::pass;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Statement};

use super::server::Server;
use crate::bus::{Bus, Receiver, Sender};

const TABLE: &str = "CREATE TABLE inbox (id bigserial PRIMARY KEY, body text NOT NULL);
    ALTER TABLE inbox SET (autovacuum_enabled = off)";
const INSERT: &str =
    "WITH put AS (INSERT INTO inbox (body) VALUES ($1)) SELECT pg_notify('inbox', '')";
const INSERT_ALL: &str = "WITH put AS (INSERT INTO inbox (body) SELECT unnest($1::text[])) SELECT pg_notify('inbox', '')";
const TAKE: &str = "DELETE FROM inbox WHERE id IN (
    SELECT id FROM inbox ORDER BY id LIMIT 256 FOR UPDATE SKIP LOCKED) RETURNING body";

/// A cluster of its own.
pub struct Postgres {
    server: Server,
}

struct Inserter {
    client: Client,
    insert: Statement,
    insert_all: Statement,
    _connection: JoinSet<()>,
}

struct Taker {
    client: Client,
    take: Statement,
    woken: Arc<Notify>,
    _connection: JoinSet<()>,
}

// === impl Postgres ===

impl Postgres {
    /// None when the programs are not installed.
    ///
    /// # Errors
    /// When the cluster cannot be made or does not start.
    pub async fn start() -> Result<Option<Self>> {
        let Some(bin) = newest_bin() else {
            return Ok(None);
        };
        let dir = Server::folder("pg")?;
        let data = dir.path().join("data");
        // It refuses to run as root; the package's own user is taken then.
        let user = rustix::process::geteuid()
            .is_root()
            .then(|| uid_of("postgres"))
            .transpose()?;
        if let Some((uid, gid)) = user {
            chown(dir.path(), Some(uid), Some(gid))?;
        }
        let mut init = as_user(user.is_some(), &bin.join("initdb"));
        init.args(["-A", "trust", "-U", "bench", "--no-sync", "-D"])
            .arg(&data);
        let made = init.output()?;
        ensure!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let mut command = as_user(user.is_some(), &bin.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(dir.path());
        command.args([
            "-c",
            "listen_addresses=",
            "-c",
            "synchronous_commit=on",
            "-c",
            "max_connections=200",
        ]);
        let socket = dir.path().join(".s.PGSQL.5432");
        let mut server = Server::start(command, dir);
        server.until_there(&socket).await?;
        let postgres = Self { server };
        let (client, _connection) = postgres.connect_patiently().await?;
        client.batch_execute(TABLE).await?;
        Ok(Some(postgres))
    }

    async fn connect_patiently(&self) -> Result<(Client, JoinSet<()>)> {
        let start = Instant::now();
        loop {
            match self.connect(Arc::default()).await {
                Ok(connected) => return Ok(connected),
                Err(error) if start.elapsed() > Duration::from_secs(10) => bail!("{error}"),
                Err(_) => pass(Duration::from_millis(50)).await,
            }
        }
    }

    async fn connect(&self, woken: Arc<Notify>) -> Result<(Client, JoinSet<()>)> {
        let mut config = Config::new();
        config
            .host_path(self.server.path())
            .user("bench")
            .dbname("postgres");
        let (client, mut connection) = config.connect(NoTls).await?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut messages = futures::stream::poll_fn(move |cx| connection.poll_message(cx));
            while let Some(Ok(message)) = messages.next().await {
                if matches!(message, AsyncMessage::Notification(_)) {
                    woken.notify_one();
                }
            }
        });
        Ok((client, task))
    }
}

#[async_trait]
impl Bus for Postgres {
    fn name(&self) -> &'static str {
        "postgresql"
    }

    async fn sender(&self, _n: usize) -> Result<Box<dyn Sender>> {
        let (client, connection) = self.connect(Arc::default()).await?;
        Ok(Box::new(Inserter {
            insert: client.prepare(INSERT).await?,
            insert_all: client.prepare(INSERT_ALL).await?,
            client,
            _connection: connection,
        }))
    }

    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>> {
        let woken = Arc::new(Notify::new());
        let (client, connection) = self.connect(Arc::clone(&woken)).await?;
        client.batch_execute("LISTEN inbox").await?;
        Ok(Some(Box::new(Taker {
            take: client.prepare(TAKE).await?,
            client,
            woken,
            _connection: connection,
        })))
    }
}

#[async_trait]
impl Sender for Inserter {
    async fn send(&mut self, body: String) -> Result<()> {
        self.client.query(&self.insert, &[&body]).await?;
        Ok(())
    }

    async fn send_batch(&mut self, bodies: Vec<String>) -> Result<()> {
        self.client.query(&self.insert_all, &[&bodies]).await?;
        Ok(())
    }
}

#[async_trait]
impl Receiver for Taker {
    async fn next(&mut self) -> Result<Vec<String>> {
        // Taking and deleting are one statement here: the strictest order that is still one flush.
        let mut rows = self.client.query(&self.take, &[]).await?;
        if rows.is_empty() {
            let _ = tokio::time::timeout(Duration::from_millis(500), self.woken.notified()).await;
            rows = self.client.query(&self.take, &[]).await?;
        }
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn ack(&mut self) -> Result<()> {
        Ok(())
    }
}

/// `initdb` and `postgres` of the newest version that is installed.
fn newest_bin() -> Option<std::path::PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut bins: Vec<_> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("postgres").exists())
        .collect();
    bins.sort();
    bins.pop()
}

fn as_user(switch: bool, program: &std::path::Path) -> Command {
    if !switch {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
            "--",
        ])
        .arg(program);
    command
}

fn uid_of(user: &str) -> Result<(u32, u32)> {
    let text = std::fs::read_to_string("/etc/passwd")?;
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{user}:")));
    let fields: Vec<&str> = line
        .context("the user postgres does not exist")?
        .split(':')
        .collect();
    Ok((fields[2].parse()?, fields[3].parse()?))
}
