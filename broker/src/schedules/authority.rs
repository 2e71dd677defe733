//! Who may touch which schedule, and whom its messages may go to.

use hive_proto::ids::{AgentId, ScheduleId};

use super::error::ScheduleError;
use crate::model::schedule::State;
use crate::store::roster::{self, Life, Member};
use crate::store::schedules::{self as table, Owner, ScheduleRow};
use crate::store::{Conn, Recipient, StoreError};
use crate::topology;

/// Who acts: from the socket that took the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    Operator,
    Agent(AgentId),
}

/// A schedule that the actor may see and change.
pub(super) fn own(conn: &Conn, actor: Actor, id: ScheduleId) -> Result<ScheduleRow, ScheduleError> {
    let row = table::find(conn, id)?.ok_or(ScheduleError::Unknown(id))?;
    let allowed = match (actor, row.owner) {
        (Actor::Operator, _) => true,
        (Actor::Agent(_), Owner::Operator) => false,
        (Actor::Agent(agent), Owner::Agent(owner)) => {
            agent == owner || topology::is_in_subtree(conn, agent, owner)?
        }
    };
    if allowed {
        return Ok(row);
    }
    Err(ScheduleError::NotInSubtree {
        id,
        owner: row.owner_name,
    })
}

/// The same, when it is active.
pub(super) fn own_active(
    conn: &Conn,
    actor: Actor,
    id: ScheduleId,
) -> Result<ScheduleRow, ScheduleError> {
    let row = own(conn, actor, id)?;
    match row.state {
        State::Active => Ok(row),
        State::Done | State::Cancelled => Err(ScheduleError::NotActive {
            id,
            state: row.state,
        }),
    }
}

/// The agents whose schedules the actor sees.
pub(super) fn visible(conn: &Conn, actor: Actor) -> Result<table::Owners, StoreError> {
    let Actor::Agent(agent) = actor else {
        return Ok(table::Owners::Everybody);
    };
    let mut owners = topology::below(conn, agent)?;
    owners.push(agent);
    Ok(table::Owners::These(owners))
}

/// A living agent, by its name or a name that stands for one target.
pub(super) fn target(conn: &Conn, actor: Actor, name: &str) -> Result<Member, ScheduleError> {
    let no_target = || ScheduleError::NoTarget(name.to_owned());
    let parsed = match name.parse::<hive_proto::name::Recipient>()? {
        hive_proto::name::Recipient::Agent(name) => name,
        hive_proto::name::Recipient::Operator
        | hive_proto::name::Recipient::Parent
        | hive_proto::name::Recipient::Manager
        | hive_proto::name::Recipient::Everyone => return Err(no_target()),
    };
    let member = roster::named(conn, &parsed)?
        .ok_or_else(|| ScheduleError::UnknownTarget(parsed.to_string()))?;
    let reachable = match actor {
        Actor::Operator => true,
        Actor::Agent(agent) => reaches(conn, agent, &member)?,
    };
    if reachable {
        return Ok(member);
    }
    Err(ScheduleError::OutOfReach(member.name))
}

/// Itself, who is below it, and whom it may write to by itself.
fn reaches(conn: &Conn, agent: AgentId, target: &Member) -> Result<bool, StoreError> {
    if topology::is_in_subtree(conn, agent, target.id)? {
        return Ok(true);
    }
    topology::may_write(conn, agent, Recipient::Agent(target.id))
}

/// The agent that acts, while it is there.
pub(super) fn living(conn: &Conn, agent: AgentId) -> Result<Member, ScheduleError> {
    let member = roster::member(conn, agent)?.ok_or(ScheduleError::Gone)?;
    match member.life {
        Life::Living => Ok(member),
        Life::Removed => Err(ScheduleError::Gone),
    }
}
