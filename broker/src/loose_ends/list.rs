//! What is open, for whoever may see it.

use hive_proto::ids::AgentId;
use hive_proto::name::{AgentName, NameError};
use hive_proto::v1::Role;
use hive_proto::words;

use super::{Kind, LooseEnd, LooseEndError};
use crate::store::approvals::{self, ApprovalRow};
use crate::store::questions::{self, QuestionRow, Whose};
use crate::store::reminders::{self, Owner, ReminderRow};
use crate::store::roster::{self, Life, Member};
use crate::store::schedules::{self, Listing, Owners, ScheduleRow};
use crate::store::{Conn, Recipient, StoreError};
use crate::topology;

/// Characters of a text that are listed.
const TEXT: usize = 200;

/// Oldest first.
pub(super) fn list(conn: &Conn, agent: AgentId, of: &str) -> Result<Vec<LooseEnd>, LooseEndError> {
    let mut all: Vec<LooseEnd> = Vec::new();
    for owner in owners(conn, agent, of)? {
        for end in open_for(conn, owner)? {
            // One between two of them is listed once.
            if !all
                .iter()
                .any(|known| (known.kind, known.id) == (end.kind, end.id))
            {
                all.push(end);
            }
        }
    }
    all.sort_by_key(|end| (end.since, end.id));
    Ok(all)
}

/// Whose loose ends `of` names, seen from `agent`.
fn owners(conn: &Conn, agent: AgentId, of: &str) -> Result<Vec<AgentId>, LooseEndError> {
    if of.is_empty() {
        return Ok(vec![agent]);
    }
    let is_manager = |member: Member| member.role == Role::Manager && member.life == Life::Living;
    let manager = roster::member(conn, agent)?.is_some_and(is_manager);
    if of == "*" {
        if !manager {
            return Err(LooseEndError::NotManager);
        }
        let mut owners = vec![agent];
        for member in roster::living(conn)? {
            if topology::manages(conn, agent, member.id)? {
                owners.push(member.id);
            }
        }
        return Ok(owners);
    }
    let unknown = || LooseEndError::UnknownAgent(of.chars().take(40).collect());
    let name: AgentName = of.parse().map_err(|_: NameError| unknown())?;
    let other = roster::named(conn, &name)?.ok_or_else(unknown)?;
    if other.id == agent {
        return Ok(vec![agent]);
    }
    if !manager {
        return Err(LooseEndError::NotManager);
    }
    match topology::manages(conn, agent, other.id)? {
        true => Ok(vec![other.id]),
        false => Err(LooseEndError::NotBelow(other.name)),
    }
}

fn open_for(conn: &Conn, agent: AgentId) -> Result<Vec<LooseEnd>, StoreError> {
    let mut ends = Vec::new();
    for kind in Kind::ALL {
        match kind {
            Kind::Question => {
                let asked = questions::open(conn, Whose::AskedBy(agent))?;
                let of = Whose::AskedOf(Recipient::Agent(agent));
                let asked_of = questions::open(conn, of)?;
                ends.extend(asked.into_iter().chain(asked_of).map(question));
            }
            Kind::Reminder => {
                let waiting = reminders::unfinished(conn, Owner::Agent(agent))?;
                ends.extend(waiting.into_iter().map(reminder));
            }
            Kind::Approval => {
                let waiting = approvals::pending_of(conn, agent)?;
                ends.extend(waiting.into_iter().map(approval));
            }
            Kind::Schedule => {
                let owners = Owners::These(vec![agent]);
                let live = schedules::list(conn, &owners, Listing::Active)?;
                ends.extend(live.into_iter().map(schedule));
            }
        }
    }
    Ok(ends)
}

fn question(row: QuestionRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Question,
        id: row.id.0,
        agent: row.asker_name,
        waits_for: row.target_name,
        state: words::question_state(row.state),
        text: short(&row.question),
        since: row.asked_at,
        due: row.deadline_at,
    }
}

fn reminder(row: ReminderRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Reminder,
        id: row.id.0,
        agent: row.agent_name,
        waits_for: String::new(),
        state: words::reminder_state(row.state),
        text: short(&row.body),
        since: row.set_at,
        due: Some(row.due_at),
    }
}

fn approval(row: ApprovalRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Approval,
        id: row.id.0,
        text: short(&row.line()),
        agent: row.requester_name,
        waits_for: "operator".to_owned(),
        state: row.state.word(),
        since: row.requested_at,
        due: Some(row.expires_at),
    }
}

fn schedule(row: ScheduleRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Schedule,
        id: row.id.0,
        agent: row.owner_name,
        waits_for: String::new(),
        state: row.state.word(),
        text: short(&row.definition.body),
        since: row.created_at,
        due: row.next,
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
