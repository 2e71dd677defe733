//! How long a reconciler that waits for a time sleeps.

use std::time::Duration;

use hive_proto::ids::UnixMs;

/// How long to wait for `next`, at most `most`.
pub(super) fn until(next: Option<UnixMs>, now: UnixMs, most: Duration) -> Duration {
    let Some(next) = next else { return most };
    let ms = u64::try_from(next.0.saturating_sub(now.0)).unwrap_or(0);
    Duration::from_millis(ms).min(most)
}
