//! A schedule as it is shown.

use hive_proto::ids::{ApprovalId, ScheduleId};

use super::authority::{Actor, own, visible};
use super::error::ScheduleError;
use crate::store::schedules::{self as table, Listing, OccurrenceRow, ScheduleRow, TargetRow};
use crate::store::{Conn, StoreError, approvals};

/// A schedule with its targets and what waits to change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleView {
    pub row: ScheduleRow,
    pub targets: Vec<TargetRow>,
    pub pending: Option<ApprovalId>,
}

/// The same with its newest slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleDetail {
    pub view: ScheduleView,
    /// Oldest first.
    pub occurrences: Vec<OccurrenceRow>,
    /// All that are kept.
    pub total: u64,
}

/// What firing by hand came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub view: ScheduleView,
    /// One a target.
    pub occurrences: Vec<OccurrenceRow>,
}

pub(super) fn view(conn: &Conn, row: ScheduleRow) -> Result<ScheduleView, StoreError> {
    let targets = table::targets(conn, row.id)?;
    let waiting = approvals::pending_on(conn, &row.subject())?;
    Ok(ScheduleView {
        targets,
        pending: waiting.last().map(|approval| approval.id),
        row,
    })
}

pub(super) fn one(
    conn: &Conn,
    actor: Actor,
    id: ScheduleId,
) -> Result<ScheduleView, ScheduleError> {
    let row = own(conn, actor, id)?;
    Ok(view(conn, row)?)
}

pub(super) fn detail(
    conn: &Conn,
    actor: Actor,
    id: ScheduleId,
    limit: u32,
) -> Result<ScheduleDetail, ScheduleError> {
    Ok(ScheduleDetail {
        view: one(conn, actor, id)?,
        occurrences: table::newest(conn, id, limit)?,
        total: table::counted(conn, id)?,
    })
}

pub(super) fn list(
    conn: &Conn,
    actor: Actor,
    listing: Listing,
) -> Result<Vec<ScheduleView>, StoreError> {
    let owners = visible(conn, actor)?;
    let rows = table::list(conn, &owners, listing)?;
    rows.into_iter().map(|row| view(conn, row)).collect()
}
