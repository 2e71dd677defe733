//! Changes of an agent: each of one row in an expected state, with its event.

use hive_proto::ids::{AgentId, UnixMs};
use rusqlite::{Params, params};
use serde_json::{Value, json};

use super::row::{Desired, Pause, Removal};
use crate::model::event::Kind;
use crate::store::events::{self, About};
use crate::store::{Recipient, StoreError, Tx};

/// What a setter does to the agent `?1`.
struct Change<P> {
    /// An UPDATE that names the expected state.
    sql: &'static str,
    params: P,
    /// That state, for whoever finds another one.
    expected: &'static str,
    kind: Kind,
    data: Value,
}

// === impl Change ===

impl<P: Params> Change<P> {
    fn apply(self, tx: &mut Tx<'_>, id: AgentId) -> Result<(), StoreError> {
        let changed = tx.conn().prepare_cached(self.sql)?.execute(self.params)?;
        one(changed, id, self.expected)?;
        events::append(tx, self.kind, About::agent(id), &self.data)
    }
}

/// Records what the operator wants. Wanting it to run forgets its failure and its restarts.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn set_desired(tx: &mut Tx<'_>, id: AgentId, desired: Desired) -> Result<(), StoreError> {
    let sql = match desired {
        Desired::Running => {
            "UPDATE agents SET desired = 'running', failed = '', restarts = '[]', restart_asked = 0
             WHERE id = ?1 AND removed_at IS NULL"
        }
        Desired::Stopped => {
            "UPDATE agents SET desired = 'stopped', restart_asked = 0
             WHERE id = ?1 AND removed_at IS NULL"
        }
    };
    tx.wake(Recipient::Agent(id));
    Change {
        sql,
        params: [id.0],
        expected: "living",
        kind: Kind::AgentDesired,
        data: json!({"desired": desired.word()}),
    }
    .apply(tx, id)
}

/// Records that it is to be stopped and started again; forgets its failure and its restarts.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn ask_restart(tx: &mut Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    tx.wake(Recipient::Agent(id));
    Change {
        sql:
            "UPDATE agents SET desired = 'running', failed = '', restarts = '[]', restart_asked = 1
              WHERE id = ?1 AND removed_at IS NULL",
        params: [id.0],
        expected: "living",
        kind: Kind::AgentDesired,
        data: json!({"desired": Desired::Running.word(), "restart": true}),
    }
    .apply(tx, id)
}

/// Records that the restart that was asked for begins; nothing when something else was asked since.
///
/// # Errors
/// When the row cannot be written.
pub fn begin_restart(tx: &mut Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached("UPDATE agents SET restart_asked = 0 WHERE id = ?1 AND restart_asked = 1")?
        .execute([id.0])?;
    Ok(())
}

/// Pauses or resumes it; a resumed agent's long poll looks again.
///
/// # Errors
/// `Conflict` when it is removed, or already so.
pub fn set_paused(tx: &mut Tx<'_>, id: AgentId, pause: Pause) -> Result<(), StoreError> {
    let (paused, kind, expected) = match pause {
        Pause::Paused => (1, Kind::AgentPaused, "running"),
        Pause::Resumed => (0, Kind::AgentResumed, "paused"),
    };
    tx.wake(Recipient::Agent(id));
    Change {
        sql: "UPDATE agents SET paused = ?2 WHERE id = ?1 AND paused <> ?2 AND removed_at IS NULL",
        params: params![id.0, paused],
        expected,
        kind,
        data: json!({}),
    }
    .apply(tx, id)
}

/// Records what runs it, and the hash of the request that it was made from; both empty: nothing.
///
/// # Errors
/// `NotFound`.
pub fn set_instance(
    tx: &mut Tx<'_>,
    id: AgentId,
    runtime_id: &str,
    spec_hash: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached("UPDATE agents SET runtime_id = ?2, spec_hash = ?3 WHERE id = ?1")?
        .execute(params![id.0, runtime_id, spec_hash])?;
    if changed == 1 {
        Ok(())
    } else {
        Err(missing(id))
    }
}

/// Sets the agent's own status line; empty clears it.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn set_status(tx: &mut Tx<'_>, id: AgentId, text: &str) -> Result<(), StoreError> {
    let at = (!text.is_empty()).then_some(tx.now().0);
    Change {
        sql: "UPDATE agents SET status_text = ?2, status_at = ?3
              WHERE id = ?1 AND removed_at IS NULL",
        params: params![id.0, text, at],
        expected: "living",
        kind: Kind::AgentStatus,
        data: json!({"text": text}),
    }
    .apply(tx, id)
}

/// Records a restart: the times that still count, with the new one.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn record_restart(
    tx: &mut Tx<'_>,
    id: AgentId,
    restarts: &[UnixMs],
    why: &str,
) -> Result<(), StoreError> {
    let times = json!(restarts).to_string();
    Change {
        sql: "UPDATE agents SET restarts = ?2 WHERE id = ?1 AND removed_at IS NULL",
        params: params![id.0, times],
        expected: "living",
        kind: Kind::AgentRestarted,
        data: json!({"why": why, "count": restarts.len()}),
    }
    .apply(tx, id)
}

/// Records that the restart plan gave up.
///
/// # Errors
/// `Conflict` when it is removed or has failed before.
pub fn set_failed(tx: &mut Tx<'_>, id: AgentId, why: &str) -> Result<(), StoreError> {
    Change {
        sql: "UPDATE agents SET failed = ?2
              WHERE id = ?1 AND failed = '' AND removed_at IS NULL",
        params: params![id.0, why],
        expected: "working",
        kind: Kind::AgentFailed,
        data: json!({"why": why}),
    }
    .apply(tx, id)
}

/// Marks it removed: its name is free, its rows stay.
///
/// # Errors
/// `Conflict` when it is removed already.
pub fn set_removed(tx: &mut Tx<'_>, id: AgentId, removal: Removal) -> Result<(), StoreError> {
    let purged = removal == Removal::Purged;
    let now = tx.now().0;
    tx.wake(Recipient::Agent(id));
    Change {
        sql: "UPDATE agents SET removed_at = ?2, purged = ?3, desired = 'stopped', runtime_id = '',
                  spec_hash = '', status_text = '', status_at = NULL
              WHERE id = ?1 AND removed_at IS NULL",
        params: params![id.0, now, purged],
        expected: "living",
        kind: Kind::AgentRemoved,
        data: json!({"purged": purged}),
    }
    .apply(tx, id)
}

/// Appends a change of the shown state.
///
/// # Errors
/// When the event cannot be written.
pub fn note_state(
    tx: &mut Tx<'_>,
    id: AgentId,
    state: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let data = json!({"state": state, "detail": detail});
    events::append(tx, Kind::AgentState, About::agent(id), &data)
}

pub(super) fn missing(id: AgentId) -> StoreError {
    StoreError::NotFound(format!("agent {id}"))
}

pub(super) fn one(changed: usize, id: AgentId, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("agent {id}"),
        expected,
    })
}
