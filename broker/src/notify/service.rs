//! The channels' loops, and what the edges may ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use hive_proto::ids::{EventSeq, UnixMs};
use tokio::sync::Notify as Wake;
use tracing::{info, warn};

use super::command;
use super::error::NotifyError;
use super::fill::{self, Found};
use super::notice::{Notice, plain, uid};
use super::sender::{self, Failure, Tried};
use super::settings::{Channel, Way};
use super::webhook;
use crate::clock::Clock;
use crate::model::concern::{self, Concern, Rule};
use crate::model::notification::{self, Event, Patience, State, Verdict};
use crate::shutdown::Tasks;
use crate::store::outbox::{self, Item, Listing, OutboxRow};
use crate::store::{Store, StoreError, Tx};

/// Off-screen notification; cheap to clone.
#[derive(Clone, Debug)]
pub struct Notify(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    channels: Vec<Post>,
    store: Store,
    clock: Clock,
    tasks: Tasks,
    client: reqwest::Client,
}

/// A channel and what its loop knows.
#[derive(Debug)]
struct Post {
    channel: Channel,
    /// Up to here nothing is left to be taken in; at least as far as the stored cursor.
    seen: Mutex<EventSeq>,
    /// The operator retried something.
    nudge: Wake,
}

/// What one step of a channel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A notification was tried: there may be another one.
    Tried,
    /// Nothing is due before this time; none: nothing at all until something happens.
    Rest(Option<UnixMs>),
}

/// What a try begins with.
struct Begun {
    row: OutboxRow,
    payload: String,
}

/// Events come in crowds: they are looked at together.
const CROWD: Duration = Duration::from_millis(100);
/// The longest sleep before a due time: the wall clock may be set meanwhile.
const LONGEST: Duration = Duration::from_secs(15);
/// Before the next step after one that the store refused.
const AFTER_FAULT: Duration = Duration::from_secs(5);
/// Characters of a failure that are stored.
const WHY: usize = 500;

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
        let tries = posts.into_iter().map(|post| self.0.test(&post.channel));
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
        let notice = Notice::of(&uid(), concern.rule(), &[item], self.0.clock.now());
        let wants = |post: &&Post| post.channel.on.contains(&concern);
        let tries = self.0.channels.iter().filter(wants).map(|post| async {
            if let Err(failure) = self.0.send(&post.channel, &notice, &notice.json()).await {
                let channel = &post.channel.name;
                warn!(channel, error = failure.why, "nobody could be told");
            }
        });
        join_all(tries).await;
    }

    fn post(&self, name: &str) -> Result<&Post, NotifyError> {
        let mut posts = self.0.channels.iter();
        posts
            .find(|post| post.channel.name == name)
            .ok_or_else(|| NotifyError::NoSuchChannel(name.to_owned()))
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

async fn pause(time: Duration, stopping: &tokio_util::sync::CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stopping.cancelled() => {}
    }
}

fn sleep_until(at: UnixMs, now: UnixMs) -> Duration {
    let ms = at.0.saturating_sub(now.0);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(LONGEST)
}

// === impl Inner ===

impl Inner {
    async fn step(&self, post: &Post) -> Result<Step, StoreError> {
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
        let begun = self.store.write(move |tx| begin(tx, row, patience)).await?;
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
            .write(move |tx| settle(tx, &row, told, patience))
            .await
    }

    /// Sends, unless the daemon stops first: then the try counts as one that was cut off.
    async fn send(&self, channel: &Channel, notice: &Notice, payload: &str) -> Result<(), Failure> {
        let stopping = self.tasks.stopping();
        let now = self.clock.now();
        tokio::select! {
            told = sender::send(&self.client, channel, notice, payload, now) => told,
            () = stopping.cancelled() => {
                if let Way::Command(_) = channel.way {
                    command::end(&notice.data.id).await;
                }
                Err(Failure {
                    why: "hived stopped".to_owned(),
                    verdict: Verdict::Again { not_before: None },
                })
            }
        }
    }

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
    fn seen(&self) -> EventSeq {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_seen(&self, seen: EventSeq) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

/// Counts the try and sets down the next one; none when there is none any more.
fn begin(
    tx: &mut Tx<'_>,
    mut row: OutboxRow,
    patience: Patience,
) -> Result<Option<Begun>, StoreError> {
    let event = Event::Begun { now: tx.now() };
    let after = notification::next(row.state, event, patience, seed(&row.uid)).map_err(illegal)?;
    let State::Pending { tries, next_at } = after else {
        let why = match row.last_error.as_str() {
            "" => "hived ended in each try",
            last => last,
        };
        let why = why.to_owned();
        outbox::bury(tx, &row, &why)?;
        return Ok(None);
    };
    let payload = match row.payload.clone() {
        Some(payload) => payload,
        None => {
            let items = outbox::of_row(tx.conn(), row.id)?;
            Notice::of(&row.uid, rule(&row.kind), &items, tx.now()).json()
        }
    };
    outbox::begin(tx, &row, tries, next_at, &payload)?;
    row.first_try_at = row.first_try_at.or(Some(tx.now()));
    row.tries = tries;
    row.state = after;
    Ok(Some(Begun { row, payload }))
}

fn settle(
    tx: &mut Tx<'_>,
    row: &OutboxRow,
    told: Result<(), Failure>,
    patience: Patience,
) -> Result<(), StoreError> {
    let (event, why) = match told {
        Ok(()) => (Event::Delivered, String::new()),
        Err(failure) => {
            let event = Event::Failed {
                now: tx.now(),
                since: row.first_try_at.unwrap_or(row.created_at),
                verdict: failure.verdict,
            };
            (event, plain(&failure.why, WHY))
        }
    };
    match notification::next(row.state, event, patience, seed(&row.uid)).map_err(illegal)? {
        State::Sent => outbox::mark_sent(tx, row),
        State::Dead => outbox::bury(tx, row, &why),
        State::Pending { next_at, .. } => outbox::fail(tx, row, next_at, &why),
    }
}

fn illegal(illegal: notification::Illegal) -> StoreError {
    StoreError::Illegal(illegal.to_string())
}

/// The row of a stored kind; a kind that this hived does not know is told as a dead letter would be.
fn rule(kind: &str) -> &'static Rule {
    let mut rules = concern::RULES.iter();
    let found = rules.find(|rule| rule.word == kind);
    found.unwrap_or_else(|| Concern::Dead.rule())
}

/// Spreads the pauses: the same for each try of one notification.
fn seed(uid: &str) -> u64 {
    // FNV-1a: any spread will do.
    uid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
