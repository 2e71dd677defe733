//! New schedules: the operator's at once, an agent's as a request.

use hive_proto::ids::{AgentId, ApprovalId, ScheduleId, UnixMs};
use hive_proto::limits::SCHEDULES_PER_OWNER;
use serde_json::Value;

use super::authority::{Actor, living};
use super::draft::{Draft, ids};
use super::error::ScheduleError;
use super::payload::{Named, Op, Plan};
use crate::approvals::{self, Asked, Kind, Request};
use crate::model::schedule::TimingFault;
use crate::store::schedules::{self as table, Definition, NewSchedule, Owner};
use crate::store::{Conn, StoreError, Tx};

/// What became of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    Runs(ScheduleId),
    Waits(Asked),
}

/// Makes the operator's schedule.
pub(super) fn create(
    tx: &mut Tx<'_>,
    draft: &Draft,
    least_secs: u64,
) -> Result<ScheduleId, ScheduleError> {
    let (definition, members) = draft.check(tx.conn(), Actor::Operator, least_secs, tx.now())?;
    admit(tx.conn(), Owner::Operator, "the operator")?;
    let new = Prepared {
        owner: Owner::Operator,
        approval: None,
        definition: &definition,
        description: &draft.description,
        targets: &ids(&members),
    };
    store(tx, &new)
}

/// Asks for an agent's schedule.
pub(super) fn ask(
    tx: &mut Tx<'_>,
    agent: AgentId,
    draft: &Draft,
    least_secs: u64,
) -> Result<Asked, ScheduleError> {
    let asked = fingerprint(&draft.fingerprint())?;
    if let Some(before) = approvals::replay(tx, agent, draft.key.as_deref(), &asked)? {
        return Ok(before);
    }
    let member = living(tx.conn(), agent)?;
    let actor = Actor::Agent(agent);
    let (definition, members) = draft.check(tx.conn(), actor, least_secs, tx.now())?;
    admit(tx.conn(), Owner::Agent(agent), &member.name)?;
    let own = Named::from(&member);
    let plan = Plan {
        op: Op::Create,
        requester: own.clone(),
        owner: own,
        targets: members.iter().map(Named::from).collect(),
        definition,
        next: None,
    };
    let payload = document(&plan)?;
    let request = Request {
        kind: Kind::SchedulePrompt,
        agent,
        requester: agent,
        subject: "",
        description: &draft.description,
        payload: &payload,
        key: draft.key.as_deref(),
        asked: &asked,
    };
    Ok(approvals::request(tx, &request)?)
}

/// A checked schedule.
pub(super) struct Prepared<'a> {
    pub(super) owner: Owner,
    pub(super) approval: Option<ApprovalId>,
    pub(super) definition: &'a Definition,
    pub(super) description: &'a str,
    pub(super) targets: &'a [AgentId],
}

/// Stores it with its first slot.
pub(super) fn store(tx: &mut Tx<'_>, new: &Prepared<'_>) -> Result<ScheduleId, ScheduleError> {
    let next = begin(new.definition, tx.now())?;
    let new = NewSchedule {
        owner: new.owner,
        approval: new.approval,
        definition: new.definition,
        description: new.description,
        next,
        targets: new.targets,
    };
    Ok(table::insert(tx, &new)?)
}

/// The first slot of a definition that begins now.
pub(super) fn begin(definition: &Definition, now: UnixMs) -> Result<UnixMs, TimingFault> {
    definition.timing.begin(now).ok_or(TimingFault::Nothing)
}

/// Refuses one more schedule of an owner that has enough.
pub(super) fn admit(conn: &Conn, owner: Owner, name: &str) -> Result<(), ScheduleError> {
    let most = SCHEDULES_PER_OWNER;
    if table::active_of(conn, owner)? < most {
        return Ok(());
    }
    let owner = name.to_owned();
    Err(ScheduleError::TooMany { owner, most })
}

pub(super) fn document(plan: &Plan) -> Result<Value, StoreError> {
    plan.document()
        .map_err(|error| StoreError::Illegal(error.to_string()))
}

pub(super) fn fingerprint(request: &Value) -> Result<String, ScheduleError> {
    let bytes = approvals::canonical(request).map_err(approvals::ApprovalError::from)?;
    Ok(approvals::digest(&bytes))
}
