//! Looking at questions.

use hive_proto::ids::{QuestionId, UnixMs};

use super::ask::Questions;
use super::error::QuestionError;
use crate::store::questions::{self as table, QuestionRow, Whose};
use crate::store::{Recipient, StoreError};

/// Which questions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Open,
    Everything,
}

/// Rows of a listing when none are asked for, and at the most.
const LIST_ROWS: (u32, u32) = (50, 500);

// === impl Questions ===

impl Questions {
    /// Open questions, all of them, or the newest of any state; oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn list(
        &self,
        listing: Listing,
        limit: u32,
    ) -> Result<Vec<QuestionRow>, QuestionError> {
        let limit = match limit {
            0 => LIST_ROWS.0,
            some => some.min(LIST_ROWS.1),
        };
        let rows = self
            .store
            .read(move |conn| {
                let open = table::open(conn, Whose::Everyones)?;
                if listing == Listing::Open {
                    return Ok(open);
                }
                let mut rows = table::newest(conn, limit)?;
                // Open ones are never left out, however old.
                let first = rows.first().map(|row| row.id);
                let older = open.into_iter().filter(|row| Some(row.id) < first);
                let mut all: Vec<_> = older.collect();
                all.append(&mut rows);
                Ok(all)
            })
            .await?;
        Ok(rows)
    }

    /// One question.
    ///
    /// # Errors
    /// When it does not exist, the store's failure.
    pub async fn get(&self, id: QuestionId) -> Result<QuestionRow, QuestionError> {
        let found = self.store.read(move |conn| table::find(conn, id)).await?;
        found.ok_or(QuestionError::NoSuchQuestion(id))
    }

    /// The next time that one runs out.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn next_deadline(&self) -> Result<Option<UnixMs>, StoreError> {
        self.store.read(table::next_deadline).await
    }

    /// The open ones that the operator is asked, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn for_operator(&self) -> Result<Vec<QuestionRow>, StoreError> {
        let operator = Whose::AskedOf(Recipient::Operator);
        self.store
            .read(move |conn| table::open(conn, operator))
            .await
    }
}
