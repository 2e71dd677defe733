//! How the command line calls: one try, with a deadline, its answer or a refusal.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use tonic::{Response, Status, Streaming};

use super::refusal::refusal;
use crate::broker::client::BrokerClient;

/// One attempt of a call that answers at once.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// Calls for people and scripts: one try each, with a deadline.
#[derive(Clone, Debug)]
pub struct CommandCalls {
    pub(super) client: BrokerClient,
}

/// What a streaming call answers with.
#[derive(Debug)]
pub struct Items<T> {
    stream: Streaming<T>,
    socket: PathBuf,
}

// === impl Items ===

impl<T> Items<T> {
    /// The next one; `None` at the end of the stream.
    ///
    /// # Errors
    /// The broker's refusal, or `unavailable` when the stream broke.
    pub async fn next(&mut self) -> Result<Option<T>, Refusal> {
        self.stream
            .message()
            .await
            .map_err(|status| refusal(&status, &self.socket))
    }
}

// === impl CommandCalls ===

impl CommandCalls {
    #[must_use]
    pub fn new(client: BrokerClient) -> Self {
        Self { client }
    }

    pub(super) async fn once<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Refusal> {
        self.within(DEADLINE, call).await
    }

    pub(super) async fn items<T>(
        &self,
        call: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    ) -> Result<Items<T>, Refusal> {
        Ok(Items {
            stream: self.once(call).await?,
            socket: self.client.socket().to_path_buf(),
        })
    }

    pub(super) async fn within<T>(
        &self,
        deadline: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Refusal> {
        match tokio::time::timeout(deadline, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(refusal(&status, self.client.socket())),
            Err(_) => Err(Refusal::new(
                Reason::Timeout,
                format!("hived did not answer within {} s", deadline.as_secs()),
            )),
        }
    }
}
