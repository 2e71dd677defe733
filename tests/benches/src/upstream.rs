//! The model: `hived scripted-upstream` as a process of its own, and a relay before it that notes when
//! each model request comes by.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hive_tests::daemon::Daemon;
use hive_tests::programs;
use hive_tests::wait::{SOON, until};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::stats::now;

/// What the model answers to everything.
const SCRIPT: &str = "[[rule]]\nsteps = [{ say = \"Done.\" }]\n";

/// A running upstream. Dropping it ends it.
pub struct Upstream {
    _daemon: Daemon,
    _dir: TempDir,
    pub address: SocketAddr,
}

/// Passes bytes on and tells of requests.
pub struct Relay {
    pub address: SocketAddr,
    requests: mpsc::UnboundedReceiver<u64>,
    _tasks: JoinSet<()>,
}

// === impl Upstream ===

impl Upstream {
    /// # Errors
    /// When it does not start.
    pub async fn start() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let script = dir.path().join("script.toml");
        std::fs::write(&script, SCRIPT)?;
        let mut command = Command::new(programs::hived());
        command
            .arg("scripted-upstream")
            .arg("--script")
            .arg(&script);
        let daemon = Daemon::start(command, &dir.path().join("out"));
        let address = until("the upstream prints its address", SOON, || async {
            let output = daemon.output();
            let line = output.lines().find(|line| line.contains("http://"))?;
            let at = line.find("http://")? + "http://".len();
            line[at..].trim_end_matches('/').trim().parse().ok()
        })
        .await;
        Ok(Self {
            _daemon: daemon,
            _dir: dir,
            address,
        })
    }
}

// === impl Relay ===

impl Relay {
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (sender, requests) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(relay(client, to, sender.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            requests,
            _tasks: tasks,
        })
    }

    /// Forgets the requests that came so far.
    pub fn clear(&mut self) {
        while self.requests.try_recv().is_ok() {}
    }

    /// When the next model request came by.
    ///
    /// # Errors
    /// When none comes.
    pub async fn request(&mut self) -> Result<u64> {
        let next = tokio::time::timeout(Duration::from_secs(60), self.requests.recv());
        next.await
            .context("no model request came")?
            .context("the relay ended")
    }
}

async fn relay(mut client: TcpStream, to: SocketAddr, requests: mpsc::UnboundedSender<u64>) {
    // A connection that breaks is the client's business.
    let _ = pass_on(&mut client, to, &requests).await;
}

async fn pass_on(
    client: &mut TcpStream,
    to: SocketAddr,
    requests: &mpsc::UnboundedSender<u64>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut up, mut down) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let n = read?;
                if n == 0 { return Ok(()); }
                if up[..n].starts_with(b"POST /v1/messages") && !up[..n].starts_with(b"POST /v1/messages/count") {
                    let _ = requests.send(now());
                }
                server.write_all(&up[..n]).await?;
            }
            read = server.read(&mut down) => {
                let n = read?;
                if n == 0 { return Ok(()); }
                client.write_all(&down[..n]).await?;
            }
        }
    }
}
