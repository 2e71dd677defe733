//! Messages that nobody takes: the sender and the operator are told, once.

use std::collections::BTreeMap;
use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::limits::STALLED_MS;

use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::settle;
use crate::store::messages::{self, Fate};
use crate::store::roster::{self, Life};
use crate::store::{Recipient, Store, StoreError, Tx};

/// The reconciler.
#[derive(Debug)]
pub struct Stalled {
    store: Store,
    clock: Clock,
    /// How long a message may wait.
    patience_ms: i64,
}

const PERIOD: Duration = Duration::from_secs(60);
const MINUTE_MS: i64 = 60 * 1000;
/// Messages of one run.
const BATCH: u32 = 500;

// === impl Stalled ===

impl Stalled {
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        Self {
            store,
            clock,
            patience_ms: STALLED_MS,
        }
    }

    /// The same, with messages that may wait so long.
    #[must_use]
    pub fn after(self, patience: Duration) -> Self {
        let patience_ms = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
        Self {
            patience_ms,
            ..self
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for Stalled {
    fn name(&self) -> &'static str {
        "stalled"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        // Looked for without the writer: usually there is nothing.
        let patience_ms = self.patience_ms;
        let before = self.clock.now().plus_ms(-patience_ms);
        let found = self
            .store
            .read(move |conn| messages::stalled(conn, before, 1))
            .await?;
        if found.is_empty() {
            return Ok(Report::default().count("stalled", 0));
        }
        let noted = self.store.write(move |tx| note(tx, patience_ms)).await?;
        Ok(Report::default().count("stalled", noted))
    }
}

fn note(tx: &mut Tx<'_>, patience_ms: i64) -> Result<usize, StoreError> {
    let rows = messages::stalled(tx.conn(), tx.now().plus_ms(-patience_ms), BATCH)?;
    let mut told: BTreeMap<(AgentId, Told), Vec<&Fate>> = BTreeMap::new();
    for row in &rows {
        messages::mark_stalled(tx, row)?;
        let Recipient::Agent(to) = row.to else {
            continue;
        };
        for whom in whom(row) {
            told.entry((to, whom)).or_default().push(row);
        }
    }
    for ((to, whom), rows) in told {
        tell(tx, to, whom, &rows, patience_ms / MINUTE_MS)?;
    }
    Ok(rows.len())
}

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Operator,
    Sender(AgentId),
}

fn whom(row: &Fate) -> Vec<Told> {
    match row.from_id {
        Some(id) if row.to != Recipient::Agent(id) => vec![Told::Operator, Told::Sender(id)],
        Some(_) | None => vec![Told::Operator],
    }
}

/// One notice for all of the recipient's messages that this one must know of.
fn tell(
    tx: &mut Tx<'_>,
    to: AgentId,
    whom: Told,
    rows: &[&Fate],
    minutes: i64,
) -> Result<(), StoreError> {
    let Some(member) = roster::member(tx.conn(), to)? else {
        return Ok(());
    };
    let whom = match whom {
        Told::Operator => Recipient::Operator,
        Told::Sender(id) => match roster::member(tx.conn(), id)?.map(|sender| sender.life) {
            Some(Life::Living) => Recipient::Agent(id),
            Some(Life::Removed) | None => return Ok(()),
        },
    };
    let ids: Vec<_> = rows.iter().take(10).map(|row| row.id.to_string()).collect();
    let more = match rows.len().saturating_sub(ids.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let body = format!(
        "{} has taken none of these messages for {minutes} minutes: {}{more}",
        member.name,
        ids.join(", ")
    );
    settle::post_system(tx, whom, &body)?;
    Ok(())
}
