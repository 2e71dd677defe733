//! One step of a channel: what happened is taken in, and the notification that is due is tried.

use hive_proto::ids::UnixMs;
use tracing::warn;

use super::command;
use super::fill::{self, Found};
use super::notice::Notice;
use super::queue::{self, Begun};
use super::sender::{self, Failure};
use super::service::{Inner, Post};
use super::settings::{Channel, Way};
use crate::model::notification::Verdict;
use crate::store::outbox::{self, OutboxRow};
use crate::store::{StoreError, Tx};

/// What one step of a channel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A notification was tried: there may be another one.
    Tried,
    /// Nothing is due before this time; none: nothing at all until something happens.
    Rest(Option<UnixMs>),
}

// === impl Inner ===

impl Inner {
    pub(super) async fn step(&self, post: &Post) -> Result<Step, StoreError> {
        self.fill(post).await?;
        let (name, now) = (post.channel.name.clone(), self.clock.now());
        let (due, next) = self
            .store
            .read(move |conn| {
                Ok((
                    outbox::due(conn, &name, now)?,
                    outbox::next_at(conn, &name)?,
                ))
            })
            .await?;
        match due {
            Some(row) => {
                self.try_row(&post.channel, row).await?;
                Ok(Step::Tried)
            }
            None => Ok(Step::Rest(next)),
        }
    }

    /// Takes in what happened, batch by batch, and what has become due.
    async fn fill(&self, post: &Post) -> Result<(), StoreError> {
        loop {
            let (channel, seen, now) = (post.channel.clone(), post.seen(), self.clock.now());
            let (found, seen, ripe) = self
                .store
                .read(move |conn| {
                    let (found, seen) = fill::look(conn, &channel, seen)?;
                    Ok((found, seen, outbox::is_ripe(conn, &channel.name, now)?))
                })
                .await?;
            post.set_seen(seen);
            if found == Found::Nothing && !ripe {
                return Ok(());
            }
            let channel = post.channel.clone();
            let write = move |tx: &mut Tx<'_>| fill::take_in(tx, &channel);
            if self.store.write(write).await? < fill::BATCH as usize {
                return Ok(());
            }
        }
    }

    async fn try_row(&self, channel: &Channel, row: OutboxRow) -> Result<(), StoreError> {
        let patience = channel.patience;
        let begun = self
            .store
            .write(move |tx| queue::begin(tx, row, patience))
            .await?;
        let Some(Begun { row, payload }) = begun else {
            return Ok(());
        };
        let told = match serde_json::from_str::<Notice>(&payload) {
            Ok(notice) => self.send(channel, &notice, &payload).await,
            // Written by a hived of another version that nobody foresaw.
            Err(error) => Err(Failure {
                why: format!("what was stored cannot be read: {error}"),
                verdict: Verdict::Final,
            }),
        };
        if let Err(failure) = &told {
            warn!(
                channel = channel.name,
                notification = row.id,
                tries = row.tries,
                error = failure.why,
                "a notification was not delivered"
            );
        }
        self.store
            .write(move |tx| queue::settle(tx, &row, told, patience))
            .await
    }

    /// Sends, unless the daemon stops first: then the try counts as one that was cut off.
    pub(super) async fn send(
        &self,
        channel: &Channel,
        notice: &Notice,
        payload: &str,
    ) -> Result<(), Failure> {
        let stopping = self.tasks.stopping();
        let now = self.clock.now();
        tokio::select! {
            told = sender::send(&self.client, channel, notice, payload, now) => told,
            () = stopping.cancelled() => {
                if let Way::Command(_) = channel.way {
                    command::end(std::slice::from_ref(&notice.data.id)).await;
                }
                Err(Failure {
                    why: "hived stopped".to_owned(),
                    verdict: Verdict::Again { not_before: None },
                })
            }
        }
    }
}
