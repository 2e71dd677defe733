//! What an agent is at the moment that it calls: the facts that the authorisation table asks for.

use hive_proto::ids::AgentId;
use hive_proto::v1::Role;

use crate::model::rights::Tools;
use crate::store::roster::{self, Life};
use crate::store::{Store, StoreError, rights};

/// Looks agents up; cheap to clone.
#[derive(Clone, Debug)]
pub struct Authority {
    store: Store,
}

/// An agent as the table sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub role: Role,
    pub tools: Tools,
}

// === impl Authority ===

impl Authority {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// The agent's standing now; `None` once it is removed.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn standing(&self, agent: AgentId) -> Result<Option<Standing>, StoreError> {
        let standing = self.store.read(move |conn| {
            let member = roster::member(conn, agent)?;
            let Some(member) = member.filter(|member| member.life == Life::Living) else {
                return Ok(None);
            };
            Ok(Some(Standing {
                role: member.role,
                tools: rights::get(conn, agent)?.tools,
            }))
        });
        standing.await
    }
}
