//! NATS JetStream with file storage. Its answer does not mean that anything was flushed.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Message};
use async_trait::async_trait;
use futures::StreamExt as _;
use hive_tests::wait::pass;

use super::server::{Server, program};
use crate::bus::{Bus, Receiver, Sender};

const STREAM: &str = "inbox";
/// Messages of one fetch.
const FETCH: usize = 256;

/// A server with one work queue.
pub struct Nats {
    _server: Server,
    url: String,
}

struct Publisher(jetstream::Context);

struct Puller {
    consumer: PullConsumer,
    held: Vec<Message>,
}

// === impl Nats ===

impl Nats {
    /// None when the program is not installed.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start() -> Result<Option<Self>> {
        let Some(binary) = program(&["nats-server"]) else {
            return Ok(None);
        };
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let dir = Server::folder("nats")?;
        let mut command = Command::new(binary);
        command
            .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
            .arg(dir.path());
        let nats = Self {
            _server: Server::start(command, dir),
            url: format!("nats://127.0.0.1:{port}"),
        };
        nats.make_stream().await?;
        Ok(Some(nats))
    }

    async fn make_stream(&self) -> Result<()> {
        let start = Instant::now();
        let client = loop {
            match async_nats::connect(&self.url).await {
                Ok(client) => break client,
                Err(error) if start.elapsed() > Duration::from_secs(10) => bail!("{error}"),
                Err(_) => pass(Duration::from_millis(50)).await,
            }
        };
        let config = Config {
            name: STREAM.to_owned(),
            subjects: vec![STREAM.to_owned()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            ..Default::default()
        };
        let stream = jetstream::new(client).create_stream(config).await?;
        let config = pull::Config {
            durable_name: Some("sink".to_owned()),
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: 100_000,
            ..Default::default()
        };
        stream.create_consumer(config).await?;
        Ok(())
    }

    async fn connect(&self) -> Result<jetstream::Context> {
        Ok(jetstream::new(async_nats::connect(&self.url).await?))
    }
}

#[async_trait]
impl Bus for Nats {
    fn name(&self) -> &'static str {
        "nats jetstream"
    }

    async fn sender(&self, _n: usize) -> Result<Box<dyn Sender>> {
        Ok(Box::new(Publisher(self.connect().await?)))
    }

    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>> {
        let stream = self.connect().await?.get_stream(STREAM).await?;
        let consumer = stream.get_consumer("sink").await;
        let consumer = consumer.map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(Some(Box::new(Puller {
            consumer,
            held: Vec::new(),
        })))
    }
}

#[async_trait]
impl Sender for Publisher {
    async fn send(&mut self, body: String) -> Result<()> {
        self.0.publish(STREAM, body.into()).await?.await?;
        Ok(())
    }

    async fn send_batch(&mut self, bodies: Vec<String>) -> Result<()> {
        let mut answers = Vec::with_capacity(bodies.len());
        for body in bodies {
            answers.push(self.0.publish(STREAM, body.into()).await?);
        }
        for answer in answers {
            answer.await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Receiver for Puller {
    async fn next(&mut self) -> Result<Vec<String>> {
        // One message is waited for; what else is there comes without waiting.
        let first = self
            .consumer
            .batch()
            .max_messages(1)
            .expires(Duration::from_millis(500));
        let mut held = collect(first.messages().await?).await?;
        if !held.is_empty() {
            let rest = self.consumer.fetch().max_messages(FETCH);
            held.extend(collect(rest.messages().await?).await?);
        }
        let bodies = held
            .iter()
            .map(|message| String::from_utf8_lossy(&message.payload).into_owned());
        let bodies = bodies.collect();
        self.held = held;
        Ok(bodies)
    }

    async fn ack(&mut self) -> Result<()> {
        for message in self.held.drain(..) {
            let acked = message.ack().await;
            acked
                .map_err(|error| anyhow::anyhow!("{error}"))
                .context("ack")?;
        }
        Ok(())
    }
}

async fn collect(mut batch: pull::Batch) -> Result<Vec<Message>> {
    let mut held = Vec::new();
    while let Some(message) = batch.next().await {
        held.push(message.map_err(|error| anyhow::anyhow!("{error}"))?);
    }
    Ok(held)
}
