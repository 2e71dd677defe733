//! Tests of `ledger.rs`: each promise broken once.

use super::{Delivery, Ledger, Outcome, Row, Violation};

type Ops<'a> = &'a [(&'a str, Outcome)];
type Stored<'a> = &'a [(i64, &'a str)];

fn ledger(ops: Ops<'_>) -> Ledger {
    let mut ledger = Ledger::default();
    for (key, outcome) in ops {
        ledger.note("s", "r", key, *outcome);
    }
    ledger
}

fn rows(rows: Stored<'_>) -> Vec<Row> {
    let row = |(id, body): &(i64, &str)| Row {
        id: *id,
        to: "r".to_owned(),
        body: (*body).to_owned(),
    };
    rows.iter().map(row).collect()
}

fn delivery(id: i64, settled: bool) -> Delivery {
    Delivery {
        id,
        body: format!("k{id}"),
        settled,
    }
}

#[test]
fn a_kept_promise_is_no_finding() {
    let ledger = ledger(&[
        ("a", Outcome::Ok(1)),
        ("b", Outcome::Unknown),
        ("c", Outcome::Unknown),
        ("d", Outcome::Failed),
        ("e", Outcome::Ok(3)),
    ]);
    assert_eq!(ledger.check(&rows(&[(1, "a"), (2, "c"), (3, "e")]), 40), []);
}

#[test]
fn every_broken_promise_is_found() {
    let cases: [(Ops<'_>, Stored<'_>, Violation); 7] = [
        (
            &[("a", Outcome::Ok(1))],
            &[],
            Violation::Lost { key: "a".into() },
        ),
        (
            &[("a", Outcome::Ok(1))],
            &[(1, "a"), (2, "a")],
            Violation::Duplicate {
                key: "a".into(),
                ids: vec![1, 2],
            },
        ),
        (
            &[("a", Outcome::Ok(1))],
            &[(2, "a")],
            Violation::WrongId {
                key: "a".into(),
                answered: 1,
                stored: 2,
            },
        ),
        (
            &[("a", Outcome::Ok(1)), ("b", Outcome::Failed)],
            &[(1, "a"), (2, "b")],
            Violation::Ghost {
                key: "b".into(),
                id: 2,
            },
        ),
        (
            &[("a", Outcome::Ok(1))],
            &[(1, "a"), (2, "x")],
            Violation::Stranger {
                body: "x".into(),
                id: 2,
            },
        ),
        (
            &[("a", Outcome::Ok(2)), ("b", Outcome::Ok(1))],
            &[(1, "b"), (2, "a")],
            Violation::Order {
                first: "a".into(),
                then: "b".into(),
            },
        ),
        (
            &[("a", Outcome::Unknown)],
            &[],
            Violation::Vacuous { ok: 0, of: 1 },
        ),
    ];
    for (ops, stored, expected) in cases {
        assert_eq!(ledger(ops).check(&rows(stored), 50), [expected]);
    }
    assert_eq!(
        Ledger::default().check(&[], 90),
        [Violation::Vacuous { ok: 0, of: 0 }]
    );
}

#[test]
fn deliveries_out_of_order_or_after_their_end_are_found() {
    let ledger = ledger(&[("k1", Outcome::Ok(1)), ("k2", Outcome::Ok(2))]);
    let good = [delivery(1, false), delivery(1, true), delivery(2, true)];
    assert_eq!(ledger.check_deliveries(&good), []);
    let again = [delivery(1, true), delivery(1, true)];
    assert_eq!(
        ledger.check_deliveries(&again),
        [Violation::RunTwice { body: "k1".into() }]
    );
    let swapped = [delivery(2, true), delivery(1, true)];
    assert_eq!(
        ledger.check_deliveries(&swapped),
        [Violation::Order {
            first: "k1".into(),
            then: "k2".into()
        }]
    );
}
