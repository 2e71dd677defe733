//! Agent names, recipients and wake labels. Every edge parses into these types before any path,
//! argument or query is built.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest agent name and wake label, in bytes.
pub const NAME_BYTES: usize = 31;

/// Words that are never an agent's name and never a wake label.
pub const RESERVED: [&str; 6] = [
    "operator",
    "system",
    "self",
    "reminder",
    "manager",
    "ttl-watchdog",
];

/// A checked agent name: `[a-z][a-z0-9-]{0,30}`, not reserved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

/// Who a message is addressed to, before the broker resolves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    Agent(AgentName),
    Operator,
    /// The sender's parent at the time of delivery; the operator for a root agent.
    Parent,
    /// The nearest manager above the sender.
    Manager,
    /// Every other agent.
    Everyone,
}

/// A checked label of a co-process that wakes its agent: same shape as a name, not reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeLabel(String);

/// Why a name was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "{0:?} is not a name: use a-z, 0-9 and '-', beginning with a letter, at most 31 characters"
    )]
    Malformed(String),
    #[error("{0:?} is a reserved word of hive")]
    Reserved(String),
}

// === impl AgentName ===

impl AgentName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check(text).map(Self)
    }
}

impl TryFrom<String> for AgentName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Recipient ===

impl FromStr for Recipient {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "operator" => Ok(Self::Operator),
            "<parent>" => Ok(Self::Parent),
            "manager" => Ok(Self::Manager),
            "*" => Ok(Self::Everyone),
            other => other.parse().map(Self::Agent),
        }
    }
}

// === impl WakeLabel ===

impl WakeLabel {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WakeLabel {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check(text).map(Self)
    }
}

fn check(text: &str) -> Result<String, NameError> {
    let mut bytes = text.bytes();
    let well_formed = bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && text.len() <= NAME_BYTES
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !well_formed {
        // Bounded, so that a hostile name cannot fill a log line.
        return Err(NameError::Malformed(text.chars().take(40).collect()));
    }
    if RESERVED.contains(&text) {
        return Err(NameError::Reserved(text.to_owned()));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{AgentName, NameError, RESERVED, Recipient};

    #[test]
    fn hostile_names_are_refused() {
        let long = "a".repeat(32);
        let names = [
            "", ".", "..", "../x", "a/b", "-v", "A", "1a", "a b", "a\0", "a\n", "ａ", "а", "a_b",
            "a.b", "*", "<parent>", &long,
        ];
        for name in names {
            assert!(
                matches!(name.parse::<AgentName>(), Err(NameError::Malformed(_))),
                "{name:?} was taken"
            );
        }
        for name in RESERVED {
            assert_eq!(
                name.parse::<AgentName>(),
                Err(NameError::Reserved(name.to_owned()))
            );
        }
    }

    #[test]
    fn the_longest_name_is_taken() {
        assert!("a".repeat(31).parse::<AgentName>().is_ok());
        assert!("a-1".parse::<AgentName>().is_ok());
    }

    #[test]
    fn recipients_have_their_own_words() {
        assert_eq!("operator".parse(), Ok(Recipient::Operator));
        assert_eq!("<parent>".parse(), Ok(Recipient::Parent));
        assert_eq!("manager".parse(), Ok(Recipient::Manager));
        assert_eq!("*".parse(), Ok(Recipient::Everyone));
        assert!("system".parse::<Recipient>().is_err());
    }
}
