//! Taking over what an earlier hived, or another hive.toml, has left.

use tracing::info;

use super::command;
use super::service::Notify;
use crate::store::{StoreError, outbox};

impl Notify {
    /// Ends what a killed hived's tries have left running, and makes the stored channels those of
    /// hive.toml. A try that was cut off stays counted; its notification goes out again after its
    /// pause.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn adopt(&self) -> Result<(), StoreError> {
        let begun = self.0.store.read(outbox::begun).await?;
        // Before the channels: a program may outlive the channel that it was started for.
        command::end(&begun).await;
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let store = &self.0.store;
        let dropped = store.write(move |tx| outbox::adopt(tx, &names)).await?;
        if dropped > 0 {
            info!(dropped, "notifications went with their channels");
        }
        Ok(())
    }
}
