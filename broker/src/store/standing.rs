//! A write that waits with the writer until there is something for it to do.
//!
//! A long poll that finds nothing stays with the writer thread. The next group that wakes its recipient runs it
//! once more in the same transaction, so one commit holds the send and the receipt: a message that is waited for
//! is flushed once on its way, not twice. A group has room for so many; the rest of those that it wakes is the
//! next group. When a commit fails, what ran in it hears so, and what found nothing in it looks again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::oneshot;

use super::error::StoreError;
use super::tx::{Recipient, Tx};
use super::writer::{Job, Keep, guarded};

/// What a run of a standing write came to.
#[derive(Debug)]
pub enum Turnout<T> {
    Done(T),
    /// Nothing was written: run it again when this recipient is woken.
    WaitFor(Recipient),
}

/// The caller's end.
#[derive(Debug)]
pub struct Standing<T> {
    answer: oneshot::Receiver<Reply<T>>,
    claim: Arc<Claim>,
}

/// None: it was taken back, and nothing was done.
type Reply<T> = Result<Option<T>, StoreError>;

/// The writer's end.
pub(super) struct Order<T, F> {
    work: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Reply<T>>,
    claim: Arc<Claim>,
    /// Has run and found nothing.
    parked: bool,
}

/// Orders that wait, by whom they wait for.
#[derive(Default)]
pub(super) struct Parked {
    orders: HashMap<Recipient, Vec<Box<dyn Job>>>,
    /// Whom orders began to wait for in the commit that is being made.
    fresh: Vec<Recipient>,
    /// Orders since abandoned ones were looked for.
    added: usize,
}

/// Whose the order is: an answer that is on its way is never thrown away by a caller that has just run
/// out of patience.
#[derive(Debug)]
struct Claim(AtomicU8);

/// Not run yet, or being run, or done.
const RUNNING: u8 = 0;
const WAITING: u8 = 1;
const WITHDRAWN: u8 = 2;

// === impl Claim ===

impl Claim {
    fn step(&self, from: u8, to: u8) -> bool {
        let moved = self
            .0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        moved.is_ok()
    }
}

// === impl Standing ===

impl<T> Standing<T> {
    /// Waits until it is done and on disk.
    ///
    /// # Errors
    /// The closure's own error, or the commit's.
    pub async fn answer(&mut self) -> Result<T, StoreError> {
        let reply = (&mut self.answer).await.map_err(|_| StoreError::Stopped)?;
        reply?.ok_or(StoreError::Stopped)
    }

    /// Takes it back. An answer that is on its way is waited for; none when nothing was done.
    ///
    /// # Errors
    /// The closure's own error, or the commit's.
    pub async fn withdraw(self) -> Result<Option<T>, StoreError> {
        if self.claim.0.swap(WITHDRAWN, Ordering::AcqRel) != RUNNING {
            return Ok(None);
        }
        self.answer.await.map_err(|_| StoreError::Stopped)?
    }
}

// === impl Order ===

impl<T, F> Order<T, F> {
    pub(super) fn new(work: F) -> (Self, Standing<T>) {
        let (reply, answer) = oneshot::channel();
        let claim = Arc::new(Claim(AtomicU8::new(RUNNING)));
        let order = Self {
            work,
            result: None,
            reply,
            claim: Arc::clone(&claim),
            parked: false,
        };
        (order, Standing { answer, claim })
    }
}

impl<T, F> Job for Order<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_>) -> Result<Turnout<T>, StoreError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Keep {
        // A caller that is gone, or took it back, must not be given anything.
        if self.reply.is_closed() || self.parked && !self.claim.step(WAITING, RUNNING) {
            return Keep::Release;
        }
        let work = &mut self.work;
        match guarded(|| work(tx)) {
            Ok(Turnout::Done(done)) => {
                self.result = Some(Ok(done));
                Keep::Release
            }
            Ok(Turnout::WaitFor(recipient)) if self.claim.step(RUNNING, WAITING) => {
                self.parked = true;
                Keep::Park(recipient)
            }
            // Taken back while it ran: its caller hears that there was nothing.
            Ok(Turnout::WaitFor(_)) => Keep::Release,
            Err(error) => {
                self.result = Some(Err(error));
                Keep::RollBack
            }
        }
    }

    fn fault(&self) -> Option<StoreError> {
        self.result.as_ref()?.as_ref().err().cloned()
    }

    fn is_wanted(&self) -> bool {
        !self.reply.is_closed() && self.claim.0.load(Ordering::Acquire) != WITHDRAWN
    }

    fn settle(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        let told = committed.and_then(|()| result.transpose());
        // The caller may have gone away; the rows stay leased under the turn that they were given to.
        let _ = reply.send(told);
    }
}

// === impl Parked ===

impl Parked {
    pub(super) fn add(&mut self, recipient: Recipient, job: Box<dyn Job>) {
        self.added += 1;
        if self.added > 64 + self.orders.len() {
            self.added = 0;
            self.orders.retain(|_, jobs| {
                jobs.retain(|job| job.is_wanted());
                !jobs.is_empty()
            });
        }
        self.orders.entry(recipient).or_default().push(job);
        self.fresh.push(recipient);
    }

    /// What waits for the recipient, in the order in which it came.
    pub(super) fn take(&mut self, recipient: Recipient) -> Vec<Box<dyn Job>> {
        let mut jobs = self.orders.remove(&recipient).unwrap_or_default();
        jobs.retain(|job| job.is_wanted());
        jobs
    }

    /// What they saw is on disk.
    pub(super) fn committed(&mut self) {
        self.fresh.clear();
    }

    /// What may have found nothing only because of writes that were rolled back. Its wake was lost with
    /// them, or there will be none, so it has to look again.
    pub(super) fn rolled_back(&mut self) -> Vec<Box<dyn Job>> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.into_iter().flat_map(|whom| self.take(whom)).collect()
    }
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
