//! Giving one up, as its kind does it; and what a removed agent leaves open.

use hive_proto::ids::{AgentId, ApprovalId, QuestionId, ReminderId, ScheduleId};

use super::{Kind, LooseEndError};
use crate::approvals;
use crate::questions::{self, Decider};
use crate::reminders;
use crate::schedules::{self, Actor};
use crate::store::agents::Removal;
use crate::store::{StoreError, Tx};

/// Ends one; each kind knows whose it may be. Ending twice is the same as once: a call is made again
/// when its reply was lost.
pub(super) fn give_up(
    tx: &mut Tx<'_>,
    agent: AgentId,
    kind: Kind,
    id: i64,
) -> Result<(), LooseEndError> {
    let by = Decider::Agent(agent);
    match kind {
        Kind::Question => questions::cancel_for(tx, by, QuestionId(id)).map(|_| ())?,
        Kind::Reminder => reminders::cancel_for(tx, by, ReminderId(id)).map(|_| ())?,
        Kind::Approval => approvals::take_back(tx, agent, ApprovalId(id))?,
        Kind::Schedule => schedules::cancel(tx, Actor::Agent(agent), ScheduleId(id), &[])?,
    }
    Ok(())
}

/// Ends what a removed agent leaves open: its questions, the questions to it, and with a purge its
/// reminders. Reminders of one that is merely removed wait until it is back; so do its requests and
/// its schedules, which end with a purge by themselves.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn owner_is_gone(tx: &mut Tx<'_>, agent: AgentId, removal: Removal) -> Result<(), StoreError> {
    questions::asker_or_target_is_gone(tx, agent)?;
    match removal {
        Removal::Purged => reminders::owner_is_purged(tx, agent),
        Removal::Kept => Ok(()),
    }
}
