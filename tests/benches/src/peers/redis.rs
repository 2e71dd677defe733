//! Redis Streams over a Unix socket: one stream, one consumer group; acked entries are deleted.

use std::process::Command;

use anyhow::Result;
use async_trait::async_trait;
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands as _, AsyncConnectionConfig, Client};

use super::server::{Server, program};
use crate::bus::{Bus, Receiver, Sender};

const STREAM: &str = "inbox";
const GROUP: &str = "harness";

/// When an answered write is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Before the answer.
    Always,
    /// Within a second or so after it.
    EverySecond,
}

/// A server with one stream.
pub struct Redis {
    _server: Server,
    client: Client,
    flush: Flush,
}

struct Adder(MultiplexedConnection);

struct Reader {
    connection: MultiplexedConnection,
    held: Vec<String>,
}

// === impl Flush ===

impl Flush {
    fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::EverySecond => "everysec",
        }
    }
}

// === impl Redis ===

impl Redis {
    /// None when the program is not installed.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(flush: Flush) -> Result<Option<Self>> {
        let Some(binary) = program(&["redis-server"]) else {
            return Ok(None);
        };
        let dir = Server::folder("redis")?;
        let socket = dir.path().join("s");
        let mut command = Command::new(binary);
        command.args(["--port", "0", "--save", "", "--appendonly", "yes"]);
        command
            .args(["--appendfsync", flush.word(), "--dir"])
            .arg(dir.path());
        command.arg("--unixsocket").arg(&socket);
        let mut server = Server::start(command, dir);
        server.until_there(&socket).await?;
        let client = Client::open(format!("unix://{}", socket.display()))?;
        let redis = Self {
            _server: server,
            client,
            flush,
        };
        let mut connection = redis.connect().await?;
        let _: () = connection
            .xgroup_create_mkstream(STREAM, GROUP, "$")
            .await?;
        Ok(Some(redis))
    }

    async fn connect(&self) -> Result<MultiplexedConnection> {
        // A read that blocks is no answer that is late.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        Ok(self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?)
    }
}

#[async_trait]
impl Bus for Redis {
    fn name(&self) -> &'static str {
        match self.flush {
            Flush::Always => "redis always",
            Flush::EverySecond => "redis everysec",
        }
    }

    async fn sender(&self, _n: usize) -> Result<Box<dyn Sender>> {
        Ok(Box::new(Adder(self.connect().await?)))
    }

    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>> {
        Ok(Some(Box::new(Reader {
            connection: self.connect().await?,
            held: Vec::new(),
        })))
    }
}

#[async_trait]
impl Sender for Adder {
    async fn send(&mut self, body: String) -> Result<()> {
        let _: String = self.0.xadd(STREAM, "*", &[("body", body)]).await?;
        Ok(())
    }

    async fn send_batch(&mut self, bodies: Vec<String>) -> Result<()> {
        let mut pipeline = redis::pipe();
        for body in bodies {
            pipeline.xadd(STREAM, "*", &[("body", body)]);
        }
        let _: Vec<String> = pipeline.query_async(&mut self.0).await?;
        Ok(())
    }
}

#[async_trait]
impl Receiver for Reader {
    async fn next(&mut self) -> Result<Vec<String>> {
        let options = StreamReadOptions::default()
            .group(GROUP, "sink")
            .count(256)
            .block(500);
        let reply: Option<StreamReadReply> = self
            .connection
            .xread_options(&[STREAM], &[">"], &options)
            .await?;
        let mut bodies = Vec::new();
        self.held.clear();
        for entry in reply
            .into_iter()
            .flat_map(|reply| reply.keys)
            .flat_map(|key| key.ids)
        {
            bodies.extend(entry.get::<String>("body"));
            self.held.push(entry.id);
        }
        Ok(bodies)
    }

    async fn ack(&mut self) -> Result<()> {
        let mut pipeline = redis::pipe();
        pipeline
            .xack(STREAM, GROUP, &self.held)
            .xdel(STREAM, &self.held);
        let _: (u64, u64) = pipeline.query_async(&mut self.connection).await?;
        Ok(())
    }
}
