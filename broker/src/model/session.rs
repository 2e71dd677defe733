//! A session's life: who may serve an agent.
//!
//! ```text
//!                     same instance
//!                     ┌───────────┐
//!           open      ▼           │    another instance, the holder gone or silent
//!  None ──────────▶ Held{epoch} ──┴──────────────────────────▶ Held{epoch + 1}, old one fenced
//!                     │  ▲
//!  lease without beat,│  │ open (any instance) ▶ Held{epoch + 1}
//!  or process gone    ▼  │
//!                   Fenced{epoch}
//! ```
//!
//! A fence raises the epoch, so that nothing the old holder says afterwards counts.

use std::time::Duration;

use hive_proto::ids::Epoch;
use hive_proto::limits::LEVEL;

/// What is known of an agent's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Session {
    /// Never opened.
    None,
    /// Nobody's: what had it was fenced.
    Fenced { epoch: Epoch },
    Held {
        epoch: Epoch,
        instance: String,
        holder: Holder,
    },
}

/// Whether the holder is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Connected and beating.
    Serving,
    /// Connected, without a beat for too long: stopped, frozen.
    Silent,
    Away,
}

/// What an attempt to open comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A new session; `fences` is the one that ends by it.
    Opens { epoch: Epoch, fences: Option<Epoch> },
    /// The same process is back.
    Resumes { epoch: Epoch },
    /// Another one serves.
    Taken,
    /// It speaks a level that is not served.
    LevelNotServed,
}

/// Levels that are served: this build's and the one before it.
#[must_use]
pub fn serves(level: u32) -> bool {
    level >= LEVEL.saturating_sub(1).max(1) && level <= LEVEL
}

/// Whether a session that was last heard of at `seen` has outlived its `lease`; both times by the
/// monotonic clock.
#[must_use]
pub fn is_lost(lease: Duration, seen: Duration, now: Duration) -> bool {
    now.saturating_sub(seen) >= lease
}

/// Who may open.
#[must_use]
pub fn admit(session: &Session, instance: &str, level: u32) -> Admission {
    if !serves(level) {
        return Admission::LevelNotServed;
    }
    match session {
        Session::None => Admission::Opens {
            epoch: Epoch(1),
            fences: None,
        },
        Session::Fenced { epoch } => Admission::Opens {
            epoch: Epoch(epoch.0 + 1),
            fences: None,
        },
        Session::Held {
            epoch,
            instance: holder,
            ..
        } if holder == instance => Admission::Resumes { epoch: *epoch },
        Session::Held { epoch, holder, .. } => match holder {
            Holder::Serving => Admission::Taken,
            Holder::Silent | Holder::Away => Admission::Opens {
                epoch: Epoch(epoch.0 + 1),
                fences: Some(*epoch),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::ids::Epoch;
    use hive_proto::limits::LEVEL;

    use super::{Admission, Holder, Session, admit, is_lost, serves};

    fn held(holder: Holder) -> Session {
        Session::Held {
            epoch: Epoch(4),
            instance: "a".into(),
            holder,
        }
    }

    #[test]
    fn admission_follows_the_diagram() {
        let opens = |epoch, fences: Option<u64>| Admission::Opens {
            epoch: Epoch(epoch),
            fences: fences.map(Epoch),
        };
        let table = [
            (Session::None, "a", opens(1, None)),
            (Session::Fenced { epoch: Epoch(4) }, "a", opens(5, None)),
            (
                held(Holder::Serving),
                "a",
                Admission::Resumes { epoch: Epoch(4) },
            ),
            (
                held(Holder::Away),
                "a",
                Admission::Resumes { epoch: Epoch(4) },
            ),
            (held(Holder::Serving), "b", Admission::Taken),
            (held(Holder::Silent), "b", opens(5, Some(4))),
            (held(Holder::Away), "b", opens(5, Some(4))),
        ];
        for (session, instance, expected) in table {
            assert_eq!(
                admit(&session, instance, LEVEL),
                expected,
                "{session:?} {instance}"
            );
        }
    }

    #[test]
    fn the_last_two_levels_are_served() {
        assert!(serves(LEVEL));
        assert!(LEVEL < 2 || serves(LEVEL - 1));
        assert!(LEVEL < 3 || !serves(LEVEL - 2));
        assert!(!serves(0));
        assert!(!serves(LEVEL + 1));
        assert_eq!(admit(&Session::None, "a", 0), Admission::LevelNotServed);
    }

    #[test]
    fn a_session_is_lost_with_its_lease() {
        let secs = Duration::from_secs;
        for lease in [20, 60] {
            let lost = |seen, now| is_lost(secs(lease), secs(seen), secs(now));
            assert!(!lost(10, 9 + lease));
            assert!(lost(10, 10 + lease));
            assert!(!lost(10, 5));
        }
    }
}
