//! The service of notifications: what the edges may ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use hive_proto::ids::EventSeq;
use tokio::sync::{Notify as Wake, oneshot};
use tracing::warn;

use super::attempt::Step;
use super::error::NotifyError;
use super::notice::{Notice, uid};
use super::queue::seed;
use super::sender::Tried;
use super::settings::Channel;
use super::webhook;
use crate::clock::Clock;
use crate::model::concern::Concern;
use crate::model::notification::{self, Event, State};
use crate::shutdown::Tasks;
use crate::store::outbox::{self, Item, Listing, OutboxRow};
use crate::store::{Store, StoreError};

/// Off-screen notification; cheap to clone.
#[derive(Clone, Debug)]
pub struct Notify(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) channels: Vec<Post>,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) tasks: Tasks,
    pub(super) client: reqwest::Client,
}

/// A channel and what its loop knows.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) channel: Channel,
    /// Up to here nothing is left to be taken in; at least as far as the stored cursor.
    seen: Mutex<EventSeq>,
    /// The operator retried something.
    pub(super) nudge: Wake,
}

// === impl Notify ===

impl Notify {
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(
        channels: Vec<Channel>,
        store: Store,
        clock: Clock,
        tasks: Tasks,
    ) -> Result<Self, reqwest::Error> {
        let post = |channel| Post {
            channel,
            seen: Mutex::new(EventSeq(0)),
            nudge: Wake::new(),
        };
        Ok(Self(Arc::new(Inner {
            channels: channels.into_iter().map(post).collect(),
            store,
            clock,
            tasks,
            client: webhook::client()?,
        })))
    }

    /// The channels' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .channels
            .iter()
            .map(|post| post.channel.name.as_str())
    }

    /// Takes in what happened and tries the notification that is due, if there is one.
    ///
    /// # Errors
    /// An unknown channel, the store's failure.
    pub async fn step(&self, channel: &str) -> Result<Step, NotifyError> {
        Ok(self.0.step(self.post(channel)?).await?)
    }

    /// Tells a test now, on one channel or on all, beside the outbox.
    ///
    /// # Errors
    /// When there is no such channel.
    pub async fn test(&self, channel: Option<&str>) -> Result<Vec<Tried>, NotifyError> {
        let posts: Vec<&Post> = match channel {
            Some(name) => vec![self.post(name)?],
            None if self.0.channels.is_empty() => return Err(NotifyError::NoChannels),
            None => self.0.channels.iter().collect(),
        };
        let tries = posts.into_iter().map(|post| self.test_one(&post.channel));
        Ok(join_all(tries).await)
    }

    /// # Errors
    /// The store's failure.
    pub async fn list(&self, listing: Listing) -> Result<Vec<OutboxRow>, NotifyError> {
        let read = move |conn: &_| outbox::list(conn, listing);
        Ok(self.0.store.read(read).await?)
    }

    /// Gives a dead one all its tries again, beginning now.
    ///
    /// # Errors
    /// When it does not exist, is not dead, or its channel is gone; the store's failure.
    pub async fn retry(&self, id: i64) -> Result<OutboxRow, NotifyError> {
        let read = move |conn: &_| outbox::find(conn, id);
        let found = self.0.store.read(read).await?;
        let row = found.ok_or(NotifyError::NoSuchNotification(id))?;
        let gone = |_| NotifyError::ChannelGone(row.channel.clone());
        let post = self.post(&row.channel).map_err(gone)?;
        let (patience, seed) = (post.channel.patience, seed(&row.uid));
        let event = Event::Retried {
            now: self.0.clock.now(),
        };
        let Ok(State::Pending { next_at, .. }) =
            notification::next(row.state, event, patience, seed)
        else {
            return Err(NotifyError::NotDead(id));
        };
        let retried = self
            .0
            .store
            .write(move |tx| {
                outbox::retry(tx, &row, next_at)?;
                outbox::find(tx.conn(), id)
            })
            .await;
        post.nudge.notify_one();
        match retried {
            Ok(Some(row)) => Ok(row),
            Ok(None) => Err(NotifyError::NoSuchNotification(id)),
            Err(StoreError::Conflict { .. }) => Err(NotifyError::NotDead(id)),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The oldest dead notification of each channel, and how many it has.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn dead(&self) -> Result<Vec<(OutboxRow, u32)>, NotifyError> {
        Ok(self.0.store.read(outbox::count_dead).await?)
    }

    /// Tells something that could not even be stored, once, on every channel that wants it.
    pub async fn cry(&self, concern: Concern, text: &str) {
        let item = Item {
            ref_id: 0,
            agent: String::new(),
            text: text.to_owned(),
            quote: String::new(),
            at: self.0.clock.now(),
        };
        let items = [item];
        let wants = |post: &&Post| post.channel.on.contains(&concern);
        let tries = self.0.channels.iter().filter(wants).map(|post| async {
            // An id of its own: by it a channel's program is told from another's when it is ended.
            let notice = Notice::of(&uid(), concern.rule(), &items, self.0.clock.now());
            if let Err(failure) = self.0.send(&post.channel, &notice, &notice.json()).await {
                let channel = &post.channel.name;
                warn!(channel, error = failure.why, "nobody could be told");
            }
        });
        join_all(tries).await;
    }

    /// In a task of its own: whoever asked may go away meanwhile, and a program is ended all the same.
    async fn test_one(&self, channel: &Channel) -> Tried {
        let (done, tried) = oneshot::channel();
        let (inner, own) = (self.0.clone(), channel.clone());
        self.0.tasks.spawn("notify-test", async move {
            // Nobody waits for it any more: it was told all the same.
            let _ = done.send(inner.test(&own).await);
        });
        tried.await.unwrap_or_else(|_| Tried {
            channel: channel.name.clone(),
            way: channel.way.word(),
            error: Some("hived stopped".to_owned()),
            took: Duration::ZERO,
        })
    }

    fn post(&self, name: &str) -> Result<&Post, NotifyError> {
        let mut posts = self.0.channels.iter();
        posts
            .find(|post| post.channel.name == name)
            .ok_or_else(|| NotifyError::NoSuchChannel(name.to_owned()))
    }
}

// === impl Inner ===

impl Inner {
    async fn test(&self, channel: &Channel) -> Tried {
        let begun = self.clock.monotonic();
        let notice = Notice::test(&uid(), self.clock.now());
        let told = self.send(channel, &notice, &notice.json()).await;
        Tried {
            channel: channel.name.clone(),
            way: channel.way.word(),
            error: told.err().map(|failure| failure.why),
            took: self.clock.monotonic().saturating_sub(begun),
        }
    }
}

// === impl Post ===

impl Post {
    pub(super) fn seen(&self) -> EventSeq {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_seen(&self, seen: EventSeq) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}
