//! Send → received: hive, the brokers that one would take instead, and the floor below them.
//!
//! Every server has its turn in every round, so a machine that slows down slows all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use crate::bus::Bus;
use crate::load::{Load, Sample, run};
use crate::peers::echo::Echo;
use crate::peers::floor::{PingPong, flushes};
use crate::peers::hive::Hive;
use crate::peers::nats::Nats;
use crate::peers::postgres::Postgres;
use crate::peers::redis::{Flush, Redis};
use crate::report::{Figure, of_sample};
use crate::scale::Scale;
use crate::stats::Spread;

const GROUP: &str = "send";
const SENDERS: usize = 64;
/// Between two messages of the paced sender.
const PACE: Duration = Duration::from_millis(3);

/// The loads, by the names they have in the table.
#[must_use]
pub fn loads(scale: &Scale) -> [(&'static str, Load); 4] {
    let closed = |senders, batch| Load::Closed {
        senders,
        batch,
        time: scale.run,
    };
    let paced = Load::Paced {
        every: PACE,
        messages: scale.paced_messages,
    };
    [
        ("paced, 1 sender", paced),
        ("1 sender", closed(1, 1)),
        ("64 senders", closed(SENDERS, 1)),
        ("64 senders, batches of 16", closed(SENDERS, 16)),
    ]
}

/// # Errors
/// When a server that is there fails.
pub async fn measure(scale: &Scale) -> Result<Vec<Figure>> {
    let mut figures = floor(scale).await?;
    let (peers, absent) = peers().await?;
    let mut samples: BTreeMap<(usize, usize), Vec<Sample>> = BTreeMap::new();
    for _ in 0..scale.runs {
        // Anew each round: hive keeps what was acked, and its table would grow from round to round.
        let hive = Hive::start(SENDERS).await?;
        let all = std::iter::once(&hive as &dyn Bus).chain(peers.iter().map(AsRef::as_ref));
        for (who, bus) in all.enumerate() {
            for (at, (name, load)) in loads(scale).into_iter().enumerate() {
                let sample = run(bus, load).await;
                let sample =
                    sample.map_err(|error| error.context(format!("{}, {name}", bus.name())))?;
                samples.entry((at, who)).or_default().push(sample);
            }
        }
    }
    let names: Vec<&str> = std::iter::once("hive")
        .chain(peers.iter().map(|bus| bus.name()))
        .collect();
    for ((at, who), runs) in samples {
        let (load, _) = loads(scale)[at];
        figures.extend(of_sample(GROUP, load, names[who], &Sample::of_runs(&runs)));
    }
    // One thing after the other, and in it one server below the other.
    let order: Vec<String> = figures.iter().map(|figure| figure.what.clone()).collect();
    figures.sort_by_key(|figure| order.iter().position(|what| *what == figure.what));
    figures.extend(absent);
    Ok(figures)
}

async fn floor(scale: &Scale) -> Result<Vec<Figure>> {
    let mut ping = PingPong::start().await?;
    let (mut hot, mut paced, mut flush) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.runs {
        hot.push(ping.run(scale.paced_messages * 20, None).await?);
        paced.push(ping.run(scale.paced_messages / 2, Some(PACE)).await?);
        flush.push(flushes(scale.paced_messages * 3)?);
    }
    let figure =
        |what: &str, runs: &[Spread]| Figure::spread(GROUP, what, "floor", Spread::of_runs(runs));
    Ok(vec![
        figure("append 4 KiB and fdatasync", &flush),
        figure("socket, 1 KiB there and back", &hot),
        figure("paced socket, 1 KiB there and back", &paced),
    ])
}

type Peers = (Vec<Box<dyn Bus>>, Vec<Figure>);

/// Those that are installed; and for each other one a line that says that it is not.
async fn peers() -> Result<Peers> {
    let mut found: Vec<Box<dyn Bus>> = vec![Box::new(Echo::start().await?)];
    let mut absent = Vec::new();
    let mut add = |name: &'static str, bus: Option<Box<dyn Bus>>| match bus {
        Some(bus) => found.push(bus),
        None => absent.push(Figure::skipped(GROUP, "all loads", name, "absent")),
    };
    add(
        "nats jetstream",
        Nats::start().await?.map(|bus| Box::new(bus) as _),
    );
    add(
        "redis always",
        Redis::start(Flush::Always)
            .await?
            .map(|bus| Box::new(bus) as _),
    );
    add(
        "redis everysec",
        Redis::start(Flush::EverySecond)
            .await?
            .map(|bus| Box::new(bus) as _),
    );
    add(
        "postgresql",
        Postgres::start().await?.map(|bus| Box::new(bus) as _),
    );
    Ok((found, absent))
}
