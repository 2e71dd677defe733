//! How many more rows each mailbox is known to take, so that not every send has to count it.
//!
//! One count grants as many sends as there was room for; rows that are finished meanwhile only make more of it.
//! So what is remembered here is never too much, and it is forgotten whenever anything is rolled back.

use std::cell::RefCell;
use std::collections::HashMap;

use super::Recipient;

/// The writer's memory of mailboxes with room.
#[derive(Debug, Default)]
pub(super) struct Room(RefCell<HashMap<Recipient, u32>>);

// === impl Room ===

impl Room {
    /// Whether one more row is known to fit.
    pub(super) fn is_known(&self, to: Recipient) -> bool {
        self.0.borrow().get(&to).is_some_and(|left| *left > 0)
    }

    /// A count has shown that so many more rows fit.
    pub(super) fn grant(&self, to: Recipient, rows: u32) {
        self.0.borrow_mut().insert(to, rows);
    }

    /// A row was added.
    pub(super) fn spend(&self, to: Recipient) {
        if let Some(left) = self.0.borrow_mut().get_mut(&to) {
            *left = left.saturating_sub(1);
        }
    }

    /// What was counted may have been rolled back.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}
