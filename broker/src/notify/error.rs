//! What a caller of the notifications' service can be refused.

use crate::store::StoreError;

/// Why it cannot be done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotifyError {
    #[error("hive.toml names no [[notify]] channel")]
    NoChannels,
    #[error("hive.toml names no notify channel {0:?}")]
    NoSuchChannel(String),
    #[error("there is no notification {0}")]
    NoSuchNotification(i64),
    #[error("notification {0} is not dead")]
    NotDead(i64),
    #[error("its channel {0:?} is not in hive.toml any more")]
    ChannelGone(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}
