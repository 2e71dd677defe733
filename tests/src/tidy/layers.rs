//! Rules about which part may know what: SQL, foreign crates, the pure model, the edges.

use super::{Finding, Source};

/// A foreign crate and the only places of each of our crates that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("rusqlite", &["broker/src/store/"]),
    ("bollard", &["broker/src/runtime/"]),
    (
        "tonic",
        &[
            "proto/",
            "broker/src/rpc/",
            "harness/src/broker/",
            "tests/src/client",
        ],
    ),
    ("rmcp", &["harness/src/mcp.rs", "harness/src/mcp/"]),
    (
        "axum",
        &["broker/src/web/", "harness/src/mcp.rs", "harness/src/mcp/"],
    ),
];

/// What `model/` may take from hive_proto: identities and enums, nothing that does anything.
const MODEL_MAY: &[&str] = &["ids", "v1", "name", "words", "limits"];

fn finding(source: &Source, at: usize, rule: &'static str, text: impl Into<String>) -> Finding {
    Finding {
        path: source.path.clone(),
        line: source.line_of(at),
        rule,
        text: text.into(),
    }
}

/// `sql`: only `store/` speaks it.
#[must_use]
pub fn no_sql_outside_store(source: &Source) -> Vec<Finding> {
    if source.path.starts_with("broker/src/store/") {
        return Vec::new();
    }
    source
        .strings
        .iter()
        .filter(|(_, text)| is_sql(text))
        .map(|(line, text)| Finding {
            path: source.path.clone(),
            line: *line,
            rule: "sql",
            text: text.trim().chars().take(40).collect(),
        })
        .collect()
}

fn is_sql(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    match (first, second) {
        ("SELECT" | "PRAGMA", Some(_)) => true,
        ("INSERT", Some("INTO" | "OR")) => true,
        ("DELETE", Some("FROM")) => true,
        ("UPDATE", Some(_)) => words.next() == Some("SET"),
        ("CREATE" | "ALTER" | "DROP", Some("TABLE" | "INDEX" | "UNIQUE" | "TRIGGER" | "VIEW")) => {
            true
        }
        _ => false,
    }
}

/// `foreign`: a crate that we might replace is named in one folder.
#[must_use]
pub fn foreign_crates(source: &Source) -> Vec<Finding> {
    HOMES
        .iter()
        .filter(|(_, homes)| !homes.iter().any(|home| source.path.starts_with(home)))
        .filter(|_| !source.is_test_file())
        .flat_map(|(name, homes)| {
            source
                .find_word(name)
                .filter(|at| is_path(source, *at, name))
                .map(move |at| {
                    finding(
                        source,
                        at,
                        "foreign",
                        format!("{name} belongs into {homes:?}"),
                    )
                })
        })
        .collect()
}

fn is_path(source: &Source, at: usize, name: &str) -> bool {
    let used = source.code[..at].trim_end().ends_with("use");
    let crate_level = !source.code[..at].ends_with("::") && !source.code[..at].ends_with('.');
    used || crate_level && source.code[at + name.len()..].starts_with("::")
}

/// `model`: pure, so that it can be read and tested without the rest.
#[must_use]
pub fn model_is_pure(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("broker/src/model/") {
        return Vec::new();
    }
    let next = |at: usize| -> String {
        source.code[at..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let ours = source.find_word("crate::").filter_map(|at| {
        let module = next(at + "crate::".len());
        (module != "model")
            .then(|| finding(source, at, "model", format!("imports crate::{module}")))
    });
    let proto = source.find_word("hive_proto::").filter_map(|at| {
        let module = next(at + "hive_proto::".len());
        (!MODEL_MAY.contains(&module.as_str()))
            .then(|| finding(source, at, "model", format!("imports hive_proto::{module}")))
    });
    let effects = [
        "tokio::",
        "std::fs",
        "std::net",
        "std::process",
        "std::env",
        "SystemTime",
        "Instant::now",
    ];
    let effects = effects.into_iter().flat_map(|name| {
        source
            .find_word(name)
            .filter(|at| !source.in_test(*at))
            .map(move |at| finding(source, at, "model", format!("does something: {name}")))
            .collect::<Vec<_>>()
    });
    ours.chain(proto).chain(effects).collect()
}

/// `edge`: `rpc/` and `web/` call services; what is durable is the services' business.
#[must_use]
pub fn no_store_at_the_edges(source: &Source) -> Vec<Finding> {
    let edge = ["broker/src/rpc/", "broker/src/web/"];
    if !edge.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    // `.store(` is an atomic's method, `store:` a field of a reply.
    ["store::", ".store.", "StoreError", "Store"]
        .iter()
        .flat_map(|needle| source.find_word(needle))
        .filter(|at| !source.in_test(*at))
        .map(|at| finding(source, at, "edge", "touches the store"))
        .collect()
}
