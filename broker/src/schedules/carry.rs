//! What an approved request brings about: exactly what was shown, or nothing and why.

use hive_proto::ids::AgentId;

use super::edit::{Changed, redefine};
use super::error::ScheduleError;
use super::make::{Prepared, admit, store};
use super::payload::{Named, Op, Plan};
use crate::approvals::{ApprovalError, ApprovalRow, NotDone};
use crate::inbox::InboxError;
use crate::model::schedule::State;
use crate::store::roster::{self, Life};
use crate::store::schedules::{self as table, Membership, Owner, ScheduleRow};
use crate::store::{Conn, Tx};

/// Carries out a request of kind `schedule_prompt`; says what was made.
pub(crate) fn carry_out(tx: &mut Tx<'_>, approval: &ApprovalRow) -> Result<String, NotDone> {
    let plan =
        Plan::read(&approval.payload).map_err(|error| NotDone::Refused(error.to_string()))?;
    if plan.requester.id != approval.requester || plan.owner.id != approval.agent {
        return refused("the request was made for somebody else");
    }
    present(tx.conn(), &plan.owner)?;
    for target in &plan.targets {
        present(tx.conn(), target)?;
    }
    match plan.op {
        Op::Create => create(tx, approval, &plan),
        Op::Edit { schedule, version } => {
            let row = table::find(tx.conn(), schedule)?;
            match row {
                Some(row) if row.state != State::Active => {
                    refused(&format!("schedule {schedule} is {}", row.state.word()))
                }
                Some(row) if row.version != version => {
                    refused(&format!("schedule {schedule} was changed meanwhile"))
                }
                Some(row) => edit(tx, approval, &plan, &row),
                None => refused(&format!("schedule {schedule} does not exist any more")),
            }
        }
    }
}

fn create(tx: &mut Tx<'_>, approval: &ApprovalRow, plan: &Plan) -> Result<String, NotDone> {
    let owner = Owner::Agent(plan.owner.id);
    admit(tx.conn(), owner, &plan.owner.name).map_err(not_done)?;
    let targets: Vec<AgentId> = plan.targets.iter().map(|target| target.id).collect();
    let new = Prepared {
        owner,
        approval: Some(approval.id),
        definition: &plan.definition,
        description: &approval.description,
        targets: &targets,
    };
    let id = store(tx, &new).map_err(not_done)?;
    Ok(format!("schedule {id} was made"))
}

fn edit(
    tx: &mut Tx<'_>,
    approval: &ApprovalRow,
    plan: &Plan,
    row: &ScheduleRow,
) -> Result<String, NotDone> {
    let before = table::targets(tx.conn(), row.id)?;
    let changed = Changed {
        definition: &plan.definition,
        description: &approval.description,
        // A time that passed while the request waited is no time any more.
        next: plan.next.filter(|next| *next > tx.now()),
        approval: Some(approval.id),
    };
    redefine(tx, row, &changed).map_err(not_done)?;
    let wanted = |id: AgentId| plan.targets.iter().any(|target| target.id == id);
    for target in before.iter().filter(|target| !wanted(target.id)) {
        table::remove_target(tx, row.id, target.id)?;
    }
    let active = |id: AgentId| {
        let known = before.iter().find(|target| target.id == id);
        known.is_some_and(|target| target.membership == Membership::Active)
    };
    for target in plan.targets.iter().filter(|target| !active(target.id)) {
        table::add_target(tx, row.id, target.id)?;
    }
    Ok(format!("schedule {} was changed", row.id))
}

/// The agent that was shown is there, under the name that was shown.
fn present(conn: &Conn, named: &Named) -> Result<(), NotDone> {
    let member = roster::member(conn, named.id)?;
    match member {
        Some(member) if member.life == Life::Living && member.name == named.name => Ok(()),
        Some(_) | None => refused(&format!("{} is gone", named.name)),
    }
}

fn refused<T>(why: &str) -> Result<T, NotDone> {
    Err(NotDone::Refused(why.to_owned()))
}

fn not_done(error: ScheduleError) -> NotDone {
    match error {
        ScheduleError::Store(failure)
        | ScheduleError::Approval(ApprovalError::Store(failure))
        | ScheduleError::Inbox(InboxError::Store(failure)) => NotDone::Store(failure),
        refusal => NotDone::Refused(refusal.to_string()),
    }
}
