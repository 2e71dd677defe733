//! The ledger: what each operation was answered, and whether what is on disk agrees.
//!
//! Every operation is noted before it is made and after its answer. No answer is *unknown*, never
//! *failed*: it may or may not have happened. At the end the rows that the hive holds are laid beside it.

use std::collections::BTreeMap;

/// How one operation ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered with this row's id.
    Ok(i64),
    /// Refused: it must not have happened.
    Failed,
    /// Not answered.
    Unknown,
}

/// One send, with all its retries under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Who sent it: its operations are one after the other.
    pub sender: String,
    pub to: String,
    /// The idempotency key, unique in the ledger; also the body, so that a row says which it is.
    pub key: String,
    pub outcome: Outcome,
}

/// One row that the hive holds at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub to: String,
    pub body: String,
}

/// One delivery to a receiver, in the order in which it saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: i64,
    pub body: String,
    /// The receiver's end of the turn was answered with success.
    pub settled: bool,
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Answered, and not there.
    Lost { key: String },
    /// There more than once.
    Duplicate { key: String, ids: Vec<i64> },
    /// Refused, and there all the same.
    Ghost { key: String, id: i64 },
    /// Nobody sent it.
    Stranger { body: String, id: i64 },
    /// The row has another id than the answer said.
    WrongId {
        key: String,
        answered: i64,
        stored: i64,
    },
    /// Sent later, stored or delivered earlier.
    Order { first: String, then: String },
    /// Handed out again after its end was confirmed.
    RunTwice { body: String },
    /// Too few operations succeeded: the run proves nothing.
    Vacuous { ok: usize, of: usize },
}

/// What a run consisted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub ok: usize,
    pub failed: usize,
    pub unknown: usize,
}

/// Operations of one run, in the order in which each sender made them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub ops: Vec<Op>,
}

// === impl Ledger ===

impl Ledger {
    pub fn note(&mut self, sender: &str, to: &str, key: &str, outcome: Outcome) {
        self.ops.push(Op {
            sender: sender.to_owned(),
            to: to.to_owned(),
            key: key.to_owned(),
            outcome,
        });
    }

    #[must_use]
    pub fn report(&self) -> Report {
        let count =
            |wanted: fn(&Outcome) -> bool| self.ops.iter().filter(|op| wanted(&op.outcome)).count();
        Report {
            ok: count(|outcome| matches!(outcome, Outcome::Ok(_))),
            failed: count(|outcome| *outcome == Outcome::Failed),
            unknown: count(|outcome| *outcome == Outcome::Unknown),
        }
    }

    /// Lays the rows at the end beside the operations. At least `percent` of them must have succeeded.
    #[must_use]
    pub fn check(&self, rows: &[Row], percent: usize) -> Vec<Violation> {
        let mut stored: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for row in rows {
            stored.entry(&row.body).or_default().push(row.id);
        }
        let mut found: Vec<Violation> = self
            .ops
            .iter()
            .filter_map(|op| judge(op, stored.get(op.key.as_str()).map_or(&[], Vec::as_slice)))
            .collect();
        found.extend(self.strangers(rows));
        found.extend(self.misplaced(&stored));
        let ok = self.report().ok;
        if ok * 100 < self.ops.len() * percent || self.ops.is_empty() {
            found.push(Violation::Vacuous {
                ok,
                of: self.ops.len(),
            });
        }
        found
    }

    /// Checks what one receiver saw: first deliveries in the order of each sender, nothing again
    /// after its end was confirmed.
    #[must_use]
    pub fn check_deliveries(&self, seen: &[Delivery]) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut settled = std::collections::BTreeSet::new();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, delivery) in seen.iter().enumerate() {
            if settled.contains(&delivery.id) {
                found.push(Violation::RunTwice {
                    body: delivery.body.clone(),
                });
            }
            if delivery.settled {
                settled.insert(delivery.id);
            }
            first.entry(&delivery.body).or_insert(at);
        }
        found.extend(self.in_order(|op| first.get(op.key.as_str()).map(|at| *at as i64)));
        found
    }

    fn strangers(&self, rows: &[Row]) -> Vec<Violation> {
        let known: std::collections::BTreeSet<&str> =
            self.ops.iter().map(|op| op.key.as_str()).collect();
        rows.iter()
            .filter(|row| !known.contains(row.body.as_str()))
            .map(|row| Violation::Stranger {
                body: row.body.clone(),
                id: row.id,
            })
            .collect()
    }

    fn misplaced(&self, stored: &BTreeMap<&str, Vec<i64>>) -> Vec<Violation> {
        self.in_order(|op| {
            stored
                .get(op.key.as_str())
                .and_then(|ids| ids.first().copied())
        })
    }

    /// For each sender and recipient, places must grow with the operations.
    fn in_order(&self, place: impl Fn(&Op) -> Option<i64>) -> Vec<Violation> {
        let mut last: BTreeMap<(&str, &str), (&str, i64)> = BTreeMap::new();
        let mut found = Vec::new();
        for op in &self.ops {
            let Some(at) = place(op) else { continue };
            if let Some((key, before)) = last.insert((&op.sender, &op.to), (&op.key, at))
                && before > at
            {
                found.push(Violation::Order {
                    first: key.to_owned(),
                    then: op.key.clone(),
                });
            }
        }
        found
    }
}

fn judge(op: &Op, ids: &[i64]) -> Option<Violation> {
    let key = op.key.clone();
    match (op.outcome, ids) {
        (_, [_, _, ..]) => Some(Violation::Duplicate {
            key,
            ids: ids.to_vec(),
        }),
        (Outcome::Ok(_), []) => Some(Violation::Lost { key }),
        (Outcome::Ok(answered), [stored]) if answered != *stored => Some(Violation::WrongId {
            key,
            answered,
            stored: *stored,
        }),
        (Outcome::Failed, [id]) => Some(Violation::Ghost { key, id: *id }),
        (Outcome::Ok(_), [_]) | (Outcome::Failed, []) | (Outcome::Unknown, [] | [_]) => None,
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
