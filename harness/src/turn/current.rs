//! The turn that runs now, as the runner and the tools share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hive_proto::ids::{MessageId, TurnId};

/// A turn that the broker holds open for this harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTurn {
    pub turn: TurnId,
    /// The message that began it.
    pub message: MessageId,
    /// Every message that the engine has been shown, the first one included. The broker settles
    /// these and puts others that it leased under the turn back.
    pub seen: Vec<MessageId>,
    /// Whether `request_next_turn` was called.
    pub next_turn: NextTurn,
}

/// What follows the turn when nothing else waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    WhenMailComes,
    AtOnce,
}

/// Shared; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CurrentTurn {
    open: Arc<Mutex<Option<OpenTurn>>>,
}

// === impl CurrentTurn ===

impl CurrentTurn {
    pub fn begin(&self, turn: TurnId, message: MessageId) {
        *self.lock() = Some(OpenTurn {
            turn,
            message,
            seen: vec![message],
            next_turn: NextTurn::WhenMailComes,
        });
    }

    /// What is open now.
    #[must_use]
    pub fn get(&self) -> Option<OpenTurn> {
        self.lock().clone()
    }

    /// Closes it for the tools and gives what it was.
    pub fn end(&self) -> Option<OpenTurn> {
        self.lock().take()
    }

    /// Records that the engine is shown `messages`. False when `turn` is not open any more: then it
    /// must not be shown them.
    #[must_use]
    pub fn see(&self, turn: TurnId, messages: impl IntoIterator<Item = MessageId>) -> bool {
        match &mut *self.lock() {
            Some(open) if open.turn == turn => {
                open.seen.extend(messages);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Asks for another turn after this one. False when no turn is open.
    #[must_use]
    pub fn request_next(&self) -> bool {
        match &mut *self.lock() {
            Some(open) => {
                open.next_turn = NextTurn::AtOnce;
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenTurn>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::{MessageId, TurnId};

    use super::{CurrentTurn, NextTurn};

    #[test]
    fn a_late_answer_is_not_shown() {
        let current = CurrentTurn::default();
        current.begin(TurnId(1), MessageId(10));
        assert!(current.see(TurnId(1), [MessageId(11)]));
        let ended = current.end().unwrap();
        assert_eq!(ended.seen, [MessageId(10), MessageId(11)]);
        assert_eq!(ended.next_turn, NextTurn::WhenMailComes);
        assert!(!current.see(TurnId(1), [MessageId(12)]));
        assert!(!current.request_next());
        current.begin(TurnId(2), MessageId(12));
        assert!(!current.see(TurnId(1), [MessageId(13)]));
        assert!(current.request_next());
        assert_eq!(current.end().unwrap().next_turn, NextTurn::AtOnce);
    }
}
