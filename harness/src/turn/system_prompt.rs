//! `prompts/system.md` with the agent's role and names put in.
//!
//! Role blocks (`<!-- role:agent -->…<!-- /role:agent -->`) do not nest: an opener replaces the role
//! that was open until its closing tag or the end. A closer of another role is left out but closes
//! nothing, so that a slip of the pen never shows a role text that is not its own.

use std::sync::LazyLock;

use hive_proto::v1::Role;
use hive_proto::words::role as role_word;
use regex::Regex;

/// The text that every agent begins with.
const SYSTEM: &str = include_str!("../../prompts/system.md");

static MARKER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<!--\s*(/?)role:([a-z]+)\s*-->[ \t]*\n?").ok());

/// Who the agent is. Empty is the same as missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub label: String,
    pub role: Role,
    pub parent: String,
    pub operator_pronouns: String,
    pub hive_name: String,
    pub swarm_name: String,
}

/// hive's own system prompt for this agent, and `role_prompt` after it.
#[must_use]
pub fn render(identity: &Identity, role_prompt: &str) -> String {
    let mut text = fill(&only_role(SYSTEM, role_word(identity.role)), identity);
    if !role_prompt.trim().is_empty() {
        text.push_str("\n# Your role\n\n");
        text.push_str(role_prompt.trim());
        text.push('\n');
    }
    text
}

/// Keeps what stands outside every block and in blocks of `role`.
fn only_role(template: &str, role: &str) -> String {
    let Some(marker) = MARKER.as_ref() else {
        return template.to_owned();
    };
    let mut kept = String::with_capacity(template.len());
    let mut open: Option<&str> = None;
    let mut at = 0;
    for found in marker.captures_iter(template) {
        let (Some(whole), Some(slash), Some(name)) = (found.get(0), found.get(1), found.get(2))
        else {
            continue;
        };
        if open.is_none_or(|open| open == role) {
            kept.push_str(&template[at..whole.start()]);
        }
        at = whole.end();
        let closes = slash.as_str() == "/";
        if !closes {
            open = Some(name.as_str());
        } else if open == Some(name.as_str()) {
            open = None;
        }
    }
    if open.is_none_or(|open| open == role) {
        kept.push_str(&template[at..]);
    }
    kept
}

fn fill(text: &str, identity: &Identity) -> String {
    let qualified = match identity.hive_name.as_str() {
        "" => identity.name.clone(),
        hive => format!("{}@{hive}", identity.name),
    };
    let named = |before: &str, name: &str| match name {
        "" => String::new(),
        name => format!(" {before} `{name}`"),
    };
    let pronouns = match identity.operator_pronouns.as_str() {
        "" => "they/them",
        given => given,
    };
    let label = match identity.label.as_str() {
        "" => &identity.name,
        label => label,
    };
    text.replace("{label}", label)
        .replace("{qualified_label}", &qualified)
        .replace("{parent}", &identity.parent)
        .replace("{operator_pronouns}", pronouns)
        .replace("{hive_identity}", &named("on hive", &identity.hive_name))
        .replace("{swarm_identity}", &named("in swarm", &identity.swarm_name))
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::Role;

    use super::{Identity, MARKER, SYSTEM, only_role, render};

    fn identity(role: Role) -> Identity {
        Identity {
            name: "bob".to_owned(),
            label: "bob".to_owned(),
            role,
            parent: "queen".to_owned(),
            operator_pronouns: String::new(),
            hive_name: String::new(),
            swarm_name: String::new(),
        }
    }

    #[test]
    fn blocks_of_other_roles_are_left_out() {
        let cases = [
            ("a<!-- role:agent -->b<!-- /role:agent -->c", "abc"),
            ("a<!--role:manager-->b<!--/role:manager-->c", "ac"),
            // A mismatched closer is elided and closes nothing.
            ("a<!-- role:manager -->b<!-- /role:agent -->c", "a"),
            // An opener replaces the open role, up to its closer or the end.
            (
                "a<!-- role:manager -->b<!-- role:agent -->c<!-- /role:agent -->d",
                "acd",
            ),
            ("a<!-- role:manager -->b", "a"),
            ("a<!-- /role:manager -->b", "ab"),
        ];
        for (template, expected) in cases {
            assert_eq!(only_role(template, "agent"), expected, "{template}");
        }
    }

    #[test]
    fn the_prompt_names_the_agent_and_only_its_role() {
        assert!(MARKER.is_some());
        let agent = render(&identity(Role::Agent), "  You bake.\n");
        let manager = render(&identity(Role::Manager), "");
        assert_ne!(agent, manager);
        for text in [&agent, &manager] {
            assert!(text.contains("`bob`"), "{text}");
            assert!(!text.contains("role:") && !text.contains('{'), "{text}");
        }
        assert!(agent.ends_with("# Your role\n\nYou bake.\n"));
        assert!(!manager.contains("# Your role"));
        assert_eq!(
            SYSTEM.matches("<!-- role:").count(),
            SYSTEM.matches("<!-- /role:").count()
        );
    }

    #[test]
    fn names_of_hive_and_swarm_appear_when_they_are_set() {
        let mut named = identity(Role::Agent);
        named.hive_name = "prima".to_owned();
        let text = render(&named, "");
        assert!(
            text.contains("`bob@prima`") && text.contains("on hive `prima`"),
            "{text}"
        );
        assert!(!text.contains("in swarm"));
    }
}
