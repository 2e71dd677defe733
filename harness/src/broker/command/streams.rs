//! What answers as a stream: logs, events, a backup.

use hive_proto::Refusal;
use hive_proto::v1::{BackupChunk, BackupRequest, Event, LogLine, LogsRequest, WatchRequest};

use super::CommandCalls;
use super::Items;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn logs(&self, request: LogsRequest) -> Result<Items<LogLine>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.logs(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn watch(&self, request: WatchRequest) -> Result<Items<Event>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.watch(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn backup(&self) -> Result<Items<BackupChunk>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.backup(BackupRequest {})).await
    }
}
