//! A try on the books: counted before it begins, settled after it ended, each in one transaction.

use super::notice::{Notice, plain};
use super::sender::Failure;
use crate::model::concern::{self, Concern, Rule};
use crate::model::notification::{self, Event, Patience, State};
use crate::store::outbox::{self, OutboxRow};
use crate::store::{StoreError, Tx};

/// What a try begins with.
pub(super) struct Begun {
    pub(super) row: OutboxRow,
    pub(super) payload: String,
}

/// Characters of a failure that are stored.
const WHY: usize = 500;

/// Counts the try and sets down the next one; none when there is none any more.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    mut row: OutboxRow,
    patience: Patience,
) -> Result<Option<Begun>, StoreError> {
    let event = Event::Begun { now: tx.now() };
    let after = notification::next(row.state, event, patience, seed(&row.uid)).map_err(illegal)?;
    let State::Pending { tries, next_at } = after else {
        let why = match row.last_error.as_str() {
            "" => "hived ended in each try",
            last => last,
        };
        let why = why.to_owned();
        outbox::bury(tx, &row, &why)?;
        return Ok(None);
    };
    let payload = match row.payload.clone() {
        Some(payload) => payload,
        None => {
            let items = outbox::of_row(tx.conn(), row.id)?;
            Notice::of(&row.uid, rule(&row.kind), &items, tx.now()).json()
        }
    };
    outbox::begin(tx, &row, tries, next_at, &payload)?;
    row.first_try_at = row.first_try_at.or(Some(tx.now()));
    row.tries = tries;
    row.state = after;
    Ok(Some(Begun { row, payload }))
}

/// Sets down how a try ended.
pub(super) fn settle(
    tx: &mut Tx<'_>,
    row: &OutboxRow,
    told: Result<(), Failure>,
    patience: Patience,
) -> Result<(), StoreError> {
    let (event, why) = match told {
        Ok(()) => (Event::Delivered, String::new()),
        Err(failure) => {
            let event = Event::Failed {
                now: tx.now(),
                since: row.first_try_at.unwrap_or(row.created_at),
                verdict: failure.verdict,
            };
            (event, plain(&failure.why, WHY))
        }
    };
    match notification::next(row.state, event, patience, seed(&row.uid)).map_err(illegal)? {
        State::Sent => outbox::mark_sent(tx, row),
        State::Dead => outbox::bury(tx, row, &why),
        State::Pending { next_at, .. } => outbox::fail(tx, row, next_at, &why),
    }
}

fn illegal(illegal: notification::Illegal) -> StoreError {
    StoreError::Illegal(illegal.to_string())
}

/// The row of a stored kind; a kind that this hived does not know is told as a dead letter would be.
fn rule(kind: &str) -> &'static Rule {
    let mut rules = concern::RULES.iter();
    let found = rules.find(|rule| rule.word == kind);
    found.unwrap_or_else(|| Concern::Dead.rule())
}

/// Spreads the pauses: the same for each try of one notification.
pub(super) fn seed(uid: &str) -> u64 {
    // FNV-1a: any spread will do.
    uid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
