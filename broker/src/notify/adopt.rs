//! Taking over what an earlier hived, or another hive.toml, has left.

use tracing::info;

use super::service::Notify;
use crate::store::{StoreError, outbox};

impl Notify {
    /// Makes the stored channels those of hive.toml.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn adopt(&self) -> Result<(), StoreError> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let store = &self.0.store;
        let dropped = store.write(move |tx| outbox::adopt(tx, &names)).await?;
        if dropped > 0 {
            info!(dropped, "notifications went with their channels");
        }
        Ok(())
    }
}
