//! The channels' loops: each takes in what happened, tries what is due, and sleeps until there is more.

use std::time::Duration;

use hive_proto::ids::UnixMs;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::attempt::Step;
use super::service::{Notify, Post};
use crate::store::StoreError;

/// Events come in crowds: they are looked at together.
const CROWD: Duration = Duration::from_millis(100);
/// The longest sleep before a due time: the wall clock may be set meanwhile.
const LONGEST: Duration = Duration::from_secs(15);
/// Before the next step after one that the store refused.
const AFTER_FAULT: Duration = Duration::from_secs(5);

// === impl Notify ===

impl Notify {
    /// Begins to tell.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn start(&self) -> Result<(), StoreError> {
        self.adopt().await?;
        for at in 0..self.0.channels.len() {
            let this = self.clone();
            self.0.tasks.spawn("notify", async move {
                this.serve(&this.0.channels[at]).await;
            });
        }
        Ok(())
    }

    async fn serve(&self, post: &Post) {
        let stopping = self.0.tasks.stopping();
        let wakers = self.0.store.wakers().clone();
        while !stopping.is_cancelled() {
            // Registered before the look: what is committed after it is not missed.
            let woken = wakers.events().notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let wait = match self.0.step(post).await {
                Ok(Step::Tried) => continue,
                Ok(Step::Rest(next)) => next.map(|at| sleep_until(at, self.0.clock.now())),
                Err(error) => {
                    warn!(channel = post.channel.name, %error, "notifications wait");
                    Some(AFTER_FAULT)
                }
            };
            tokio::select! {
                () = woken => pause(CROWD, &stopping).await,
                () = post.nudge.notified() => {}
                () = sleep(wait) => {}
                () = stopping.cancelled() => {}
            }
        }
    }
}

async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

async fn pause(time: Duration, stopping: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stopping.cancelled() => {}
    }
}

fn sleep_until(at: UnixMs, now: UnixMs) -> Duration {
    let ms = at.0.saturating_sub(now.0);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(LONGEST)
}
