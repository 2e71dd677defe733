//! Waiting for a condition with a deadline: the one place of the tests that sleeps between looks.

use std::future::Future;
use std::time::{Duration, Instant};

/// What ordinary steps may take on a slow, busy machine.
pub const SOON: Duration = Duration::from_secs(30);

/// Looks every 20 ms until `look` finds something; panics with `what` after `limit`.
pub async fn until<T, F, Fut>(what: &str, limit: Duration, mut look: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(
            start.elapsed() < limit,
            "waited {limit:?} in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Lets `time` pass and checks all the while that `holds` stays true: for "nothing happens".
pub async fn stays<F, Fut>(what: &str, time: Duration, mut holds: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let start = Instant::now();
    while start.elapsed() < time {
        assert!(
            holds().await,
            "no longer true after {:?}: {what}",
            start.elapsed()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Lets time pass where passing time is the point: a machine that sleeps, an engine that is away.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
