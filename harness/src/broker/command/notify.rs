//! Off-screen notification: a test, what went out and what did not, another try.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{
    ListNotificationsRequest, Notification, NotifyTried, RetryNotificationRequest,
    TestNotifyRequest,
};

use super::CommandCalls;
use super::calls::DEADLINE;

/// The longest that hive.toml lets a channel take.
const CHANNEL_TIME: Duration = Duration::from_secs(60);

impl CommandCalls {
    /// Tests one channel, or all of them when `channel` is empty.
    ///
    /// # Errors
    /// See [`Self::status`].
    pub async fn test_notify(&self, channel: String) -> Result<Vec<NotifyTried>, Refusal> {
        let mut operator = self.client.operator();
        let call = operator.test_notify(TestNotifyRequest { channel });
        Ok(self.within(DEADLINE + CHANNEL_TIME, call).await?.tried)
    }

    /// Those that were not sent; with `all` the others too.
    ///
    /// # Errors
    /// See [`Self::status`].
    pub async fn notifications(&self, all: bool) -> Result<Vec<Notification>, Refusal> {
        let mut operator = self.client.operator();
        let call = operator.list_notifications(ListNotificationsRequest { all });
        Ok(self.once(call).await?.notifications)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn retry_notification(&self, id: i64) -> Result<Notification, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.retry_notification(RetryNotificationRequest { id }))
            .await
    }
}
