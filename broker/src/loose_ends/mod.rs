//! Loose ends: whatever is still open for an agent, of every kind, in one list, and giving one up.
//!
//! Another kind is a variant of [`Kind`]: the compiler then names what is missing. Whose one is and
//! who may end it is for the services of the kinds to say.
//!
//! - `list`: what is open, for whoever may see it
//! - `give_up`: ending one, in the way of its kind

mod error;
mod give_up;
mod list;

use hive_proto::ids::{AgentId, UnixMs};

pub use self::error::LooseEndError;
use self::error::split;
pub use self::give_up::owner_is_gone;
use crate::store::Store;

/// The loose-ends service; cheap to clone.
#[derive(Clone, Debug)]
pub struct LooseEnds {
    store: Store,
}

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Question,
    Reminder,
    /// What the agent asks of the operator.
    Approval,
    /// One of its own that fires again.
    Schedule,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseEnd {
    pub kind: Kind,
    /// Of that kind.
    pub id: i64,
    /// Whose it is.
    pub agent: String,
    /// Who it waits for; empty for nobody but time.
    pub waits_for: String,
    pub state: &'static str,
    pub text: String,
    pub since: UnixMs,
    pub due: Option<UnixMs>,
}

// === impl Kind ===

impl Kind {
    const ALL: [Self; 4] = [
        Self::Question,
        Self::Reminder,
        Self::Approval,
        Self::Schedule,
    ];

    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Reminder => "reminder",
            Self::Approval => "approval",
            Self::Schedule => "schedule",
        }
    }

    /// # Errors
    /// When there is none of that word.
    pub fn parse(word: &str) -> Result<Self, LooseEndError> {
        let found = Self::ALL.into_iter().find(|kind| kind.word() == word);
        found.ok_or_else(|| LooseEndError::UnknownKind(word.chars().take(40).collect()))
    }

    fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

// === impl LooseEnds ===

impl LooseEnds {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// What is open for `agent`, oldest first; for a manager also for an agent below, or with `*` for
    /// itself and all of those.
    ///
    /// # Errors
    /// When it may not look there, the store's failure.
    pub async fn list(&self, agent: AgentId, of: String) -> Result<Vec<LooseEnd>, LooseEndError> {
        self.store
            .read(move |conn| split(list::list(conn, agent, &of)))
            .await?
    }

    /// Gives one up: one of `agent`'s own, or for a manager one of an agent below.
    ///
    /// # Errors
    /// When it is not its to cancel, when it is over; the store.
    pub async fn cancel(&self, agent: AgentId, kind: Kind, id: i64) -> Result<(), LooseEndError> {
        self.store
            .write(move |tx| split(give_up::give_up(tx, agent, kind, id)))
            .await?
    }
}
