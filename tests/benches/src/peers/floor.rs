//! What nothing on this machine can be faster than: the disk's flush, and two processes on one socket.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use hive_tests::wait::pass;

use super::server::Server;
use crate::load::BODY;
use crate::stats::{Spread, Times, now};

/// Appends 4 KiB and flushes, so often.
///
/// # Errors
/// When the file cannot be written.
pub fn flushes(times: u32) -> Result<Spread> {
    let dir = Server::folder("disk")?;
    let path = dir.path().join("f");
    let file = OpenOptions::new().create_new(true).write(true).open(path)?;
    let page = [7_u8; 4096];
    let mut spread = Times::default();
    for n in 0..times {
        let begin = now();
        file.write_all_at(&page, u64::from(n) * 4096)?;
        file.sync_data()?;
        spread.note(now() - begin);
    }
    Ok(spread.spread())
}

/// A process that sends back what it gets.
pub struct PingPong {
    _server: Server,
    stream: UnixStream,
}

// === impl PingPong ===

impl PingPong {
    /// # Errors
    /// When this program cannot be started once more.
    pub async fn start() -> Result<Self> {
        let dir = Server::folder("ping")?;
        let socket = dir.path().join("s");
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["child", "pingpong"]).arg(&socket);
        let mut server = Server::start(command, dir);
        server.until_there(&socket).await?;
        let stream = UnixStream::connect(&socket)?;
        Ok(Self {
            _server: server,
            stream,
        })
    }

    /// 1 KiB there and back, so often, with a pause before each: none for a closed loop.
    ///
    /// # Errors
    /// When the other process is gone.
    pub async fn run(&mut self, times: u32, pause: Option<Duration>) -> Result<Spread> {
        let mut bytes = [1_u8; BODY];
        let mut spread = Times::default();
        for _ in 0..times {
            if let Some(pause) = pause {
                pass(pause).await;
            }
            let begin = now();
            self.stream.write_all(&bytes)?;
            self.stream.read_exact(&mut bytes)?;
            spread.note(now() - begin);
        }
        Ok(spread.spread())
    }
}

/// Sends back what comes on `socket`, until the one connection ends.
///
/// # Errors
/// When the socket cannot be bound.
pub fn serve(socket: &Path) -> Result<()> {
    let (mut stream, _) = UnixListener::bind(socket)?.accept()?;
    let mut bytes = [0_u8; BODY];
    while stream.read_exact(&mut bytes).is_ok() {
        stream.write_all(&bytes)?;
    }
    Ok(())
}
