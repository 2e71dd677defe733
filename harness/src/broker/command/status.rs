//! The whole hive at a glance.

use hive_proto::Refusal;
use hive_proto::v1::{GetStatusRequest, HiveStatus};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// As every call here: the broker's refusal, `unavailable`, `timeout`, or `not_permitted` on an
    /// agent's socket.
    pub async fn status(&self) -> Result<HiveStatus, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_status(GetStatusRequest {})).await
    }
}
