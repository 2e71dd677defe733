//! Reads one table of `hive.toml` key by key and keeps every fault instead of stopping at the first.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The keys of one section that are still to be read.
pub(super) struct Fields<'a> {
    section: String,
    table: Table,
    faults: &'a mut Vec<String>,
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// Takes `parent[key]`, an empty table when it is absent.
    pub(super) fn section(
        parent: &mut Table,
        key: &str,
        section: impl Into<String>,
        faults: &'a mut Vec<String>,
    ) -> Self {
        let section = section.into();
        let table = match parent.remove(key) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(other) => {
                faults.push(format!(
                    "{section}: is a {}, not a section",
                    other.type_str()
                ));
                Table::new()
            }
        };
        Self {
            section,
            table,
            faults,
        }
    }

    /// The keys outside of any section.
    pub(super) fn root(table: Table, faults: &'a mut Vec<String>) -> Self {
        Self {
            section: String::new(),
            table,
            faults,
        }
    }

    /// `self[key]`, or `default` when it is absent or faulty.
    pub(super) fn or<T: DeserializeOwned>(&mut self, key: &str, default: T) -> T {
        self.optional(key).unwrap_or(default)
    }

    pub(super) fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.table.remove(key)?;
        match value.try_into() {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault(key, error.to_string().lines().next().unwrap_or_default());
                None
            }
        }
    }

    /// `self[key]` through a parser of its own.
    pub(super) fn parsed<T, E: Display>(
        &mut self,
        key: &str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> T {
        let Some(text) = self.optional::<String>(key) else {
            return default;
        };
        match parse(&text) {
            Ok(value) => value,
            Err(error) => {
                self.fault(key, error);
                default
            }
        }
    }

    /// `self[key]`, which must lie in `range`.
    pub(super) fn ranged(
        &mut self,
        key: &str,
        default: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> u64 {
        let value = self.or(key, default);
        if range.contains(&value) {
            return value;
        }
        self.fault(
            key,
            format!(
                "{value} is not between {} and {}",
                range.start(),
                range.end()
            ),
        );
        default
    }

    /// One element of a list of tables.
    pub(super) fn element(table: Table, section: String, faults: &'a mut Vec<String>) -> Self {
        Self {
            section,
            table,
            faults,
        }
    }

    pub(super) fn table(&mut self) -> &mut Table {
        &mut self.table
    }

    pub(super) fn faults(&mut self) -> &mut Vec<String> {
        self.faults
    }

    pub(super) fn fault(&mut self, key: &str, why: impl Display) {
        let dot = if self.section.is_empty() { "" } else { "." };
        self.faults
            .push(format!("{}{dot}{key}: {why}", self.section));
    }

    /// Whatever was not read is no key of hive's.
    pub(super) fn finish(mut self) {
        let unknown: Vec<String> = self.table.keys().cloned().collect();
        for key in unknown {
            self.fault(&key, "is not a key of hive.toml");
        }
    }
}
