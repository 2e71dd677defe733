//! What the operator allows one agent beyond its role: names become ids, and the harness is told.

use std::collections::BTreeSet;

use hive_proto::ids::AgentId;
use hive_proto::name::Recipient;

use super::error::AgentsError;
use super::service::Agents;
use super::view::AgentView;
use crate::model::rights::{Listed, Recipients, Rights, Tools};
use crate::store::rights as table;
use crate::store::{Conn, StoreError, roster};

/// Rights as they are asked for; none of a kind leaves what is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedRights {
    pub recipients: Option<AskedRecipients>,
    pub tools: Option<Tools>,
}

/// Whom an agent may write to, by names and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedRecipients {
    Anyone,
    Only(Vec<String>),
}

/// Rights as people read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownRights {
    /// None: anyone.
    pub recipients: Option<Vec<String>>,
    pub tools: Tools,
}

// === impl Agents ===

impl Agents {
    /// Sets whom an agent may write to and which tools it has. A running harness is told at once: a
    /// tool that it lost is refused from now on and not listed from its next turn on.
    ///
    /// # Errors
    /// An unknown agent, among the recipients too; the store's failure.
    pub async fn set_rights(
        &self,
        name: &str,
        asked: AskedRights,
    ) -> Result<AgentView, AgentsError> {
        let id = self.row(name).await?.id;
        let set = self.0.store.write(move |tx| {
            let current = table::get(tx.conn(), id)?;
            match resolve(tx.conn(), &asked, current)? {
                Ok(rights) => table::set(tx, id, &rights).map(Ok),
                Err(refusal) => Ok(Err(refusal)),
            }
        });
        set.await??;
        self.0.sessions.renew(id);
        self.view_of(id).await
    }
}

/// What is asked for, laid over what is.
pub(super) fn resolve(
    conn: &Conn,
    asked: &AskedRights,
    current: Rights,
) -> Result<Result<Rights, AgentsError>, StoreError> {
    let recipients = match &asked.recipients {
        None => current.recipients,
        Some(AskedRecipients::Anyone) => Recipients::Anyone,
        Some(AskedRecipients::Only(words)) => match listed(conn, words)? {
            Ok(listed) => Recipients::Only(listed),
            Err(refusal) => return Ok(Err(refusal)),
        },
    };
    let tools = asked.tools.clone().unwrap_or(current.tools);
    Ok(Ok(Rights { recipients, tools }))
}

fn listed(
    conn: &Conn,
    words: &[String],
) -> Result<Result<BTreeSet<Listed>, AgentsError>, StoreError> {
    let mut found = BTreeSet::new();
    for word in words {
        let one = match word.parse() {
            Ok(Recipient::Operator) => Listed::Operator,
            Ok(Recipient::Parent) => Listed::Parent,
            Ok(Recipient::Manager) => Listed::Manager,
            Ok(Recipient::Agent(name)) => match roster::named(conn, &name)? {
                Some(member) => Listed::Agent(member.id),
                None => return Ok(Err(AgentsError::Unknown(name.to_string()))),
            },
            Ok(Recipient::Everyone) | Err(_) => {
                let word = word.chars().take(40).collect();
                return Ok(Err(AgentsError::BadRecipient(word)));
            }
        };
        found.insert(one);
    }
    Ok(Ok(found))
}

/// An agent's rights as people read them.
pub(super) fn shown(conn: &Conn, agent: AgentId) -> Result<ShownRights, StoreError> {
    let rights = table::get(conn, agent)?;
    Ok(ShownRights {
        recipients: match &rights.recipients {
            Recipients::Anyone => None,
            Recipients::Only(listed) => Some(table::names(conn, listed)?),
        },
        tools: rights.tools,
    })
}
