//! hive itself: agents that send on their own sockets, and one harness played by hand that receives.

use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use hive_proto::limits::BEAT_MS;
use hive_proto::v1::{
    CreateAgentRequest, HarnessState, Outcome, SendBatchRequest, SendRequest, send_result,
};
use hive_tests::client::{self, Agent};
use hive_tests::{Session, TestHive};

use crate::bus::{Bus, Receiver, Sender};

const SINK: &str = "sink";

/// A hive whose agents run nothing of their own.
pub struct Hive {
    pub hive: TestHive,
}

struct Caller(Agent);

struct Harness {
    session: Session,
    turn: i64,
    /// As a real one does, so that the broker does not take it for lost in a long run.
    beaten: Instant,
}

/// Settings without which a benchmark measures the limits instead of the machine.
#[must_use]
pub fn unlimited() -> hive_tests::Setup {
    TestHive::builder()
        .by_hand()
        .set("limits.agent_rpcs_per_sec", 1_000_000)
        .set("limits.mailbox_rows", 1_000_000)
}

// === impl Hive ===

impl Hive {
    /// A fresh hive with so many senders.
    ///
    /// # Errors
    /// When an agent cannot be made.
    pub async fn start(senders: usize) -> Result<Self> {
        Self::on(unlimited().start().await, senders).await
    }

    /// The same on a hive that runs already.
    ///
    /// # Errors
    /// When an agent cannot be made.
    pub async fn on(mut hive: TestHive, senders: usize) -> Result<Self> {
        create(&mut hive, SINK).await?;
        for n in 0..senders {
            create(&mut hive, &sender_name(n)).await?;
        }
        Ok(Self { hive })
    }
}

/// Makes an agent that runs nothing.
///
/// # Errors
/// The broker's refusal.
pub async fn create(hive: &mut TestHive, name: &str) -> Result<()> {
    let request = CreateAgentRequest {
        name: name.to_owned(),
        engine: "scripted".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await?;
    Ok(())
}

fn sender_name(n: usize) -> String {
    format!("s{n}")
}

#[async_trait]
impl Bus for Hive {
    fn name(&self) -> &'static str {
        "hive"
    }

    async fn sender(&self, n: usize) -> Result<Box<dyn Sender>> {
        Ok(Box::new(Caller(self.hive.agent(&sender_name(n)))))
    }

    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>> {
        // The same instance each time, so that it takes its own session up again.
        let client = self.hive.agent(SINK);
        let mut session = Session::resume(client, "bench".to_owned()).await?;
        // Taken up again, a session is as old as its last beat.
        session.beat(HarnessState::Idle).await?;
        Ok(Some(Box::new(Harness {
            session,
            turn: 0,
            beaten: Instant::now(),
        })))
    }
}

/// A sender on the sockets of anything that speaks the agents' service.
#[must_use]
pub fn caller(socket: &std::path::Path) -> Box<dyn Sender> {
    Box::new(Caller(client::agent(socket)))
}

fn request(body: String) -> SendRequest {
    SendRequest {
        to: SINK.to_owned(),
        body,
        ..Default::default()
    }
}

#[async_trait]
impl Sender for Caller {
    async fn send(&mut self, body: String) -> Result<()> {
        self.0.send(request(body)).await?;
        Ok(())
    }

    async fn send_batch(&mut self, bodies: Vec<String>) -> Result<()> {
        let sends = bodies.into_iter().map(request).collect();
        let answer = self
            .0
            .send_batch(SendBatchRequest { sends })
            .await?
            .into_inner();
        for result in answer.results {
            if let Some(send_result::Result::Error(error)) = result.result {
                anyhow::bail!("refused: {}", error.message);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Receiver for Harness {
    async fn next(&mut self) -> Result<Vec<String>> {
        if self.beaten.elapsed() > Duration::from_millis(BEAT_MS.into()) {
            self.beaten = Instant::now();
            self.session.beat(HarnessState::Thinking).await?;
        }
        let got = self.session.recv(32, 500).await?;
        self.turn = got.turn_id;
        Ok(got
            .messages
            .into_iter()
            .map(|message| message.body)
            .collect())
    }

    async fn ack(&mut self) -> Result<()> {
        self.session.end(self.turn, Outcome::Ok).await?;
        Ok(())
    }
}
