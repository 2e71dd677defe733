//! How many unfinished rows each mailbox holds at the most, so that not every send has to count it.
//!
//! A count is remembered and every row that is added is added to it. Rows that are finished are not taken off, so
//! what is remembered is never too little; it is forgotten whenever anything is rolled back.

use std::cell::RefCell;
use std::collections::HashMap;

use super::Recipient;

/// The writer's memory of mailboxes.
#[derive(Debug, Default)]
pub(super) struct Room(RefCell<HashMap<Recipient, u32>>);

// === impl Room ===

impl Room {
    /// Whether one more row is known to fit.
    pub(super) fn fits(&self, to: Recipient, most: u32) -> bool {
        self.0.borrow().get(&to).is_some_and(|rows| *rows < most)
    }

    pub(super) fn counted(&self, to: Recipient, rows: u32) {
        self.0.borrow_mut().insert(to, rows);
    }

    /// A row was added.
    pub(super) fn added(&self, to: Recipient) {
        if let Some(rows) = self.0.borrow_mut().get_mut(&to) {
            *rows = rows.saturating_add(1);
        }
    }

    /// What was counted may have been rolled back.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
