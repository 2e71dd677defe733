//! What is measured: anything that takes a message from a sender and hands it to one receiver.

use anyhow::Result;
use async_trait::async_trait;

/// A running server. Dropping it ends it.
#[async_trait]
pub trait Bus: Send + Sync {
    /// As the table names it.
    fn name(&self) -> &'static str;

    /// A connection of its own for sender number `n`.
    async fn sender(&self, n: usize) -> Result<Box<dyn Sender>>;

    /// The one receiver; none for a server that only answers.
    async fn receiver(&self) -> Result<Option<Box<dyn Receiver>>>;
}

/// One connection that sends.
#[async_trait]
pub trait Sender: Send {
    /// Returns once the server has said that it holds the message.
    async fn send(&mut self, body: String) -> Result<()>;

    /// The same for several with as few round trips as the server allows.
    async fn send_batch(&mut self, bodies: Vec<String>) -> Result<()>;
}

/// The one that receives.
#[async_trait]
pub trait Receiver: Send {
    /// What has come; empty after a short wait in which nothing came.
    async fn next(&mut self) -> Result<Vec<String>>;

    /// Confirms what the last `next` returned.
    async fn ack(&mut self) -> Result<()>;
}
