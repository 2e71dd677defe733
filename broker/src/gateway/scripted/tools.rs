//! Names of tools as the engine knows them, and ids of tool calls that say which step they are.

use serde_json::{Value, json};
use uuid::Uuid;

use hive_proto::script::Crash;

/// Which step of which rule a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) rule: usize,
    pub(super) step: usize,
}

/// One tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolUse {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

// === impl Place ===

impl Place {
    /// A fresh id, unlike any other, that [`Place::of`] reads.
    pub(super) fn id(self) -> String {
        let Self { rule, step } = self;
        format!("toolu_hive_{rule}_{step}_{}", Uuid::new_v4().simple())
    }

    pub(super) fn of(id: &str) -> Option<Self> {
        let mut parts = id.strip_prefix("toolu_hive_")?.split('_');
        Some(Self {
            rule: parts.next()?.parse().ok()?,
            step: parts.next()?.parse().ok()?,
        })
    }
}

// === impl ToolUse ===

impl ToolUse {
    /// A call by the name of the script: hive's own tools are reached over MCP, an engine's begin
    /// with a capital letter, and a whole MCP name is taken as it is.
    pub(super) fn tool(place: Place, name: &str, input: Value) -> Self {
        let own = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.contains("__");
        Self {
            id: place.id(),
            name: match own {
                true => name.to_owned(),
                false => format!("mcp__hive__{name}"),
            },
            input,
        }
    }

    pub(super) fn shell(place: Place, command: &str) -> Self {
        let input = json!({ "command": command, "description": "a step of the script" });
        Self::tool(place, "Bash", input)
    }

    /// Has the engine end what runs it: the parent of Bash is the engine, and its parent the
    /// harness.
    pub(super) fn crash(place: Place, crash: Crash) -> Self {
        Self::shell(
            place,
            match crash {
                Crash::Engine => "kill -9 $PPID",
                Crash::Harness => "kill -9 \"$(cut -d' ' -f4 /proc/$PPID/stat)\"",
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, ToolUse};
    use serde_json::json;

    #[test]
    fn ids_name_their_step_and_are_unique() {
        let place = Place { rule: 3, step: 12 };
        let (one, other) = (place.id(), place.id());
        assert_ne!(one, other);
        assert_eq!(Place::of(&one), Some(place));
        for id in ["", "toolu_01ABC", "toolu_hive_x_1_0", "toolu_hive_1"] {
            assert_eq!(Place::of(id), None, "{id}");
        }
    }

    #[test]
    fn bare_names_are_hives() {
        let name = |name| ToolUse::tool(Place { rule: 0, step: 0 }, name, json!({})).name;
        assert_eq!(name("send"), "mcp__hive__send");
        assert_eq!(name("Read"), "Read");
        assert_eq!(name("mcp__other__x"), "mcp__other__x");
    }
}
