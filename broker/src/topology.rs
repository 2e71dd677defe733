//! Who is whose: resolving recipients, parents and managers at the time of delivery.
//!
//! A removed agent's children belong to the nearest living agent above it, or to the operator.

use hive_proto::ids::AgentId;
use hive_proto::name::{self, NameError};
use hive_proto::v1::Role;

use crate::model::rights::{Above, Recipients, To};
use crate::store::roster::{self, Life, Member};
use crate::store::{Conn, Recipient, StoreError, rights};

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Agent(AgentId),
    Operator,
    System,
}

/// A resolved recipient with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub recipient: Recipient,
    pub name: String,
}

/// What `to` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    One(Target),
    /// For `*`: at least one.
    All(Vec<Target>),
}

/// Why there is nobody to deliver to.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unresolved {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("there is no agent {0}")]
    UnknownAgent(String),
    #[error("there is no manager above {0}")]
    NoManager(String),
    #[error("there are several managers: {0}; name one")]
    ManyManagers(String),
    #[error("there is no other agent")]
    Nobody,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// No tree of agents is deeper: it ends a cycle that a damaged table might hold.
const DEPTH: usize = 64;

// === impl Target ===

impl Target {
    fn operator() -> Self {
        Self {
            recipient: Recipient::Operator,
            name: "operator".into(),
        }
    }

    fn agent(member: Member) -> Self {
        Self {
            recipient: Recipient::Agent(member.id),
            name: member.name,
        }
    }
}

/// Finds out who `to` is, seen from `from`.
///
/// # Errors
/// [`Unresolved`].
pub fn resolve(conn: &Conn, from: Sender, to: &str) -> Result<Targets, Unresolved> {
    let one = match to.parse()? {
        name::Recipient::Operator => Target::operator(),
        name::Recipient::Agent(name) => roster::named(conn, &name)?
            .map(Target::agent)
            .ok_or_else(|| Unresolved::UnknownAgent(name.to_string()))?,
        name::Recipient::Parent => match from {
            Sender::Agent(id) => parent(conn, id)?,
            Sender::Operator | Sender::System => Target::operator(),
        },
        name::Recipient::Manager => manager(conn, from)?,
        name::Recipient::Everyone => return everyone(conn, from),
    };
    Ok(Targets::One(one))
}

/// The agent's parent now: the nearest living agent above it, else the operator.
///
/// # Errors
/// When the table cannot be read.
pub fn parent(conn: &Conn, agent: AgentId) -> Result<Target, StoreError> {
    Ok(above(conn, agent)?
        .into_iter()
        .next()
        .map_or_else(Target::operator, Target::agent))
}

/// Whether `caller` may act on `agent`: it is itself, or a living manager with `agent` somewhere below
/// it. A removed agent is nobody's.
///
/// # Errors
/// When the table cannot be read.
pub fn is_in_subtree(conn: &Conn, caller: AgentId, agent: AgentId) -> Result<bool, StoreError> {
    let living = |id| -> Result<Option<Member>, StoreError> {
        let member = roster::member(conn, id)?;
        Ok(member.filter(|member| member.life == Life::Living))
    };
    let (Some(caller), Some(_)) = (living(caller)?, living(agent)?) else {
        return Ok(false);
    };
    if caller.id == agent {
        return Ok(true);
    }
    let below = above(conn, agent)?.iter().any(|row| row.id == caller.id);
    Ok(caller.role == Role::Manager && below)
}

/// The living agents below one, in the order of their making; not itself.
///
/// # Errors
/// When the table cannot be read.
pub fn below(conn: &Conn, agent: AgentId) -> Result<Vec<AgentId>, StoreError> {
    let mut found = Vec::new();
    for member in roster::living(conn)? {
        if above(conn, member.id)?.iter().any(|row| row.id == agent) {
            found.push(member.id);
        }
    }
    Ok(found)
}

/// Whether `agent` has `ancestor` above it, removed agents in between included: should one of those
/// come back, there must be no circle.
///
/// # Errors
/// When the table cannot be read.
pub fn is_below(conn: &Conn, agent: AgentId, ancestor: AgentId) -> Result<bool, StoreError> {
    let mut next = roster::member(conn, agent)?.and_then(|member| member.parent);
    for _ in 0..DEPTH {
        let Some(id) = next else { return Ok(false) };
        if id == ancestor {
            return Ok(true);
        }
        next = roster::member(conn, id)?.and_then(|member| member.parent);
    }
    Ok(true)
}

/// Whether `agent` is a manager somewhere above `below`.
///
/// # Errors
/// When the table cannot be read.
pub fn manages(conn: &Conn, agent: AgentId, below: AgentId) -> Result<bool, StoreError> {
    let line = above(conn, below)?;
    Ok(line
        .iter()
        .any(|member| member.id == agent && member.role == Role::Manager))
}

/// Whether the agent `from` may write to `to`: by a message, a question, whatever reaches an inbox.
/// Every way to write asks this, in the transaction that writes. A reply is a message like any other.
///
/// # Errors
/// When the tables cannot be read.
pub fn may_write(conn: &Conn, from: AgentId, to: Recipient) -> Result<bool, StoreError> {
    let rule = rights::get(conn, from)?.recipients;
    if rule == Recipients::Anyone {
        return Ok(true);
    }
    let line = above(conn, from)?;
    let manager = line.iter().find(|member| member.role == Role::Manager);
    let above = Above {
        parent: line.first().map_or(To::Operator, |row| To::Agent(row.id)),
        manager: manager.map(|member| member.id),
    };
    let to = match to {
        Recipient::Operator => To::Operator,
        Recipient::Agent(id) => To::Agent(id),
    };
    Ok(rule.admit(to, above))
}

fn manager(conn: &Conn, from: Sender) -> Result<Target, Unresolved> {
    let Sender::Agent(id) = from else {
        return root_manager(conn);
    };
    above(conn, id)?
        .into_iter()
        .find(|member| member.role == Role::Manager)
        .map(Target::agent)
        .ok_or_else(|| Unresolved::NoManager(name_of(conn, id)))
}

/// Seen from the operator, `manager` is the only manager that has none above it.
fn root_manager(conn: &Conn) -> Result<Target, Unresolved> {
    let mut roots = Vec::new();
    for member in roster::living(conn)? {
        let is_root = member.role == Role::Manager
            && above(conn, member.id)?
                .iter()
                .all(|above| above.role != Role::Manager);
        if is_root {
            roots.push(member);
        }
    }
    match roots.len() {
        0 => Err(Unresolved::UnknownAgent(
            "with the role of a manager".into(),
        )),
        1 => Ok(Target::agent(roots.remove(0))),
        _ => {
            let names: Vec<_> = roots.into_iter().map(|member| member.name).collect();
            Err(Unresolved::ManyManagers(names.join(", ")))
        }
    }
}

fn everyone(conn: &Conn, from: Sender) -> Result<Targets, Unresolved> {
    let all: Vec<_> = roster::living(conn)?
        .into_iter()
        .filter(|member| from != Sender::Agent(member.id))
        .map(Target::agent)
        .collect();
    if all.is_empty() {
        return Err(Unresolved::Nobody);
    }
    Ok(Targets::All(all))
}

/// The living agents above, nearest first.
fn above(conn: &Conn, agent: AgentId) -> Result<Vec<Member>, StoreError> {
    let mut line = Vec::new();
    let mut next = roster::member(conn, agent)?.and_then(|member| member.parent);
    for _ in 0..DEPTH {
        let Some(id) = next else { break };
        let Some(member) = roster::member(conn, id)? else {
            break;
        };
        next = member.parent;
        match member.life {
            Life::Living => line.push(member),
            Life::Removed => {}
        }
    }
    Ok(line)
}

fn name_of(conn: &Conn, agent: AgentId) -> String {
    match roster::member(conn, agent) {
        Ok(Some(member)) => member.name,
        Ok(None) | Err(_) => format!("agent {agent}"),
    }
}
