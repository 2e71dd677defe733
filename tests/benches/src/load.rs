//! One run: senders at a pace or as fast as they are answered, and the receiver that takes what comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hive_tests::wait::pass;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::bus::{Bus, Receiver, Sender};
use crate::stats::{Spread, Times, now};

/// Bytes of every message.
pub const BODY: usize = 1024;
/// What the first characters of a body hold: when it was sent.
const STAMP: usize = 20;
/// How long the receiver may take to work off what is left after a run.
const DRAIN: Duration = Duration::from_secs(20);

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// One sender, one message each so often, on an otherwise idle server.
    Paced { every: Duration, messages: u32 },
    /// Every sender sends the next one (or the next batch) when the last was answered.
    Closed {
        senders: usize,
        batch: usize,
        time: Duration,
    },
}

/// What a run showed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sample {
    /// Send called → answered; a batch counts as one.
    pub acked: Spread,
    /// Send called → the receiver holds it.
    pub received: Spread,
    pub sent_per_sec: f64,
    pub received_per_sec: f64,
}

/// What senders and receiver share.
#[derive(Debug, Default)]
struct Shared {
    /// The senders have finished.
    over: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
}

// === impl Sample ===

impl Sample {
    /// The medians of several runs.
    #[must_use]
    pub fn of_runs(runs: &[Self]) -> Self {
        let spread =
            |of: fn(&Self) -> Spread| Spread::of_runs(&runs.iter().map(of).collect::<Vec<_>>());
        let middle =
            |of: fn(&Self) -> f64| crate::stats::median(&runs.iter().map(of).collect::<Vec<_>>());
        Self {
            acked: spread(|run| run.acked),
            received: spread(|run| run.received),
            sent_per_sec: middle(|run| run.sent_per_sec),
            received_per_sec: middle(|run| run.received_per_sec),
        }
    }
}

/// Runs `load` on `bus` once.
///
/// # Errors
/// Whatever a sender or the receiver is refused; messages that never arrive.
pub async fn run(bus: &dyn Bus, load: Load) -> Result<Sample> {
    let count = match load {
        Load::Paced { .. } => 1,
        Load::Closed { senders, .. } => senders,
    };
    let shared = Arc::new(Shared::default());
    let mut receivers = JoinSet::new();
    if let Some(receiver) = bus.receiver().await? {
        receivers.spawn(receive(receiver, Arc::clone(&shared)));
    }
    let mut ready = Vec::new();
    for n in 0..count {
        let mut sender = bus.sender(n).await?;
        // Connections, caches and statements are made before the clock runs.
        sender.send(body(0)).await?;
        shared.sent.fetch_add(1, Ordering::Relaxed);
        ready.push(sender);
    }
    let begin = Instant::now();
    let mut senders = JoinSet::new();
    for sender in ready {
        senders.spawn(drive(sender, load, Arc::clone(&shared)));
    }
    let mut acked = Times::default();
    while let Some(ended) = senders.join_next().await {
        acked.merge(&ended??);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let counted = |number: &AtomicU64| number.load(Ordering::Relaxed) - count as u64;
    let sent = counted(&shared.sent);
    let received_in_time = shared.received.load(Ordering::Relaxed);
    shared.over.store(true, Ordering::Relaxed);
    let mut received = Times::default();
    while let Some(ended) = receivers.join_next().await {
        received.merge(&ended??);
    }
    Ok(Sample {
        acked: acked.spread(),
        received: received.spread(),
        sent_per_sec: sent as f64 / seconds,
        received_per_sec: received_in_time as f64 / seconds,
    })
}

/// One sender until its load is done.
async fn drive(mut sender: Box<dyn Sender>, load: Load, shared: Arc<Shared>) -> Result<Times> {
    let mut times = Times::default();
    match load {
        Load::Paced { every, messages } => {
            for _ in 0..messages {
                pass(every).await;
                once(sender.as_mut(), 1, &shared, &mut times).await?;
            }
        }
        Load::Closed { batch, time, .. } => {
            let end = Instant::now() + time;
            while Instant::now() < end {
                once(sender.as_mut(), batch, &shared, &mut times).await?;
            }
        }
    }
    Ok(times)
}

async fn once(
    sender: &mut dyn Sender,
    batch: usize,
    shared: &Shared,
    times: &mut Times,
) -> Result<()> {
    let begin = now();
    if batch == 1 {
        sender.send(body(begin)).await?;
    } else {
        sender.send_batch(vec![body(begin); batch]).await?;
    }
    times.note(now() - begin);
    shared.sent.fetch_add(batch as u64, Ordering::Relaxed);
    Ok(())
}

/// Takes messages until the senders are done and everything has come.
async fn receive(mut receiver: Box<dyn Receiver>, shared: Arc<Shared>) -> Result<Times> {
    let mut times = Times::default();
    let mut all = 0;
    let mut last = Instant::now();
    loop {
        let over = shared.over.load(Ordering::Relaxed);
        if over && all >= shared.sent.load(Ordering::Relaxed) {
            return Ok(times);
        }
        let got = receiver.next().await?;
        let at = now();
        for sent_at in got.iter().filter_map(|body| stamp(body)) {
            // What was sent before the clock ran is only counted.
            if sent_at > 0 {
                times.note(at.saturating_sub(sent_at));
            }
        }
        if !got.is_empty() {
            all += got.len() as u64;
            receiver.ack().await?;
            shared.received.store(all, Ordering::Relaxed);
            last = Instant::now();
        }
        if over && last.elapsed() > DRAIN {
            bail!(
                "{all} of {} messages arrived",
                shared.sent.load(Ordering::Relaxed)
            );
        }
    }
}

fn body(at: u64) -> String {
    let mut text = format!("{at:0STAMP$}");
    text.push_str(&"x".repeat(BODY - STAMP));
    text
}

fn stamp(body: &str) -> Option<u64> {
    body.get(..STAMP)?.parse().ok()
}
