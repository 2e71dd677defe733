//! Answers the program's permission requests by the rule, at once and without a person.
//!
//! The built-in tools that are offered and hive's own are allowed; Bash only as far as the patterns
//! of the configuration go, where there are any; everything else is denied with the reason.

use serde_json::{Value, json};

/// Built-in tools that the model is offered; every other one is left out.
pub(super) const BUILTINS: [&str; 6] = ["Bash", "Edit", "Glob", "Grep", "Read", "Write"];

/// Prefix of hive's own tools.
const HIVE_TOOLS: &str = "mcp__hive__";

/// The rule of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// Empty: Bash is allowed wholesale.
    bash_patterns: Vec<String>,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    Deny(String),
}

// === impl Rule ===

impl Rule {
    pub(super) fn new(bash_patterns: &[String]) -> Self {
        Self {
            bash_patterns: bash_patterns.to_vec(),
        }
    }

    /// The value of `--allowedTools`: what needs no request. Bash with patterns is left out, so that
    /// every command comes here.
    pub(super) fn allowed_tools(&self) -> String {
        let mut tools: Vec<&str> = BUILTINS.to_vec();
        if !self.bash_patterns.is_empty() {
            tools.retain(|tool| *tool != "Bash");
        }
        tools.push("mcp__hive");
        tools.join(",")
    }

    pub(super) fn decide(&self, tool: &str, input: &Value) -> Decision {
        if tool == "Bash" {
            let command = input
                .get("command")
                .and_then(Value::as_str)
                .unwrap_or_default();
            return self.bash(command);
        }
        if BUILTINS.contains(&tool) || tool.starts_with(HIVE_TOOLS) {
            return Decision::Allow;
        }
        Decision::Deny(format!("hive offers no tool {tool}"))
    }

    fn bash(&self, command: &str) -> Decision {
        if self.bash_patterns.is_empty() {
            return Decision::Allow;
        }
        if let Some(what) = compound(command) {
            return Decision::Deny(format!(
                "only single plain commands are allowed here, and this one has {what}"
            ));
        }
        let allowed = self
            .bash_patterns
            .iter()
            .any(|pattern| matches(pattern, command.trim()));
        if allowed {
            return Decision::Allow;
        }
        let list = self.bash_patterns.join(", ");
        Decision::Deny(format!(
            "this command is not among those allowed here: {list}"
        ))
    }
}

// === impl Decision ===

impl Decision {
    /// The body of the answer on the stream.
    pub(super) fn to_response(&self, input: &Value) -> Value {
        match self {
            Self::Allow => json!({"behavior": "allow", "updatedInput": input}),
            Self::Deny(why) => json!({"behavior": "deny", "message": why}),
        }
    }
}

/// What makes a command more than one plain command. Fails closed: quoting is not looked at, so a
/// quoted `;` counts too, and so does a variable assignment in front, which could change what runs.
fn compound(command: &str) -> Option<&'static str> {
    const SIGNS: [(char, &str); 12] = [
        (';', "a `;`"),
        ('&', "an `&`"),
        ('|', "a `|`"),
        ('<', "a `<`"),
        ('>', "a `>`"),
        ('$', "a `$`"),
        ('`', "a backquote"),
        ('(', "a parenthesis"),
        (')', "a parenthesis"),
        ('\n', "a line break"),
        ('\r', "a line break"),
        ('\\', "a backslash"),
    ];
    let sign = SIGNS.iter().find(|(sign, _)| command.contains(*sign));
    if let Some((_, what)) = sign {
        return Some(what);
    }
    let first = command.split_whitespace().next().unwrap_or_default();
    first.contains('=').then_some("an assignment")
}

/// `*` stands for anything; a pattern that ends in ` *` also matches the command alone.
fn matches(pattern: &str, command: &str) -> bool {
    let pattern = pattern.trim();
    if let Some(alone) = pattern.strip_suffix(" *")
        && glob(alone, command)
    {
        return true;
    }
    glob(pattern, command)
}

fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(rule: &Rule, command: &str) -> bool {
        rule.decide("Bash", &json!({"command": command})) == Decision::Allow
    }

    #[test]
    fn without_patterns_the_offered_tools_are_allowed_and_no_other() {
        let rule = Rule::default();
        assert_eq!(
            rule.allowed_tools(),
            "Bash,Edit,Glob,Grep,Read,Write,mcp__hive"
        );
        assert!(bash(&rule, "rm -rf / ; true"));
        for tool in ["Edit", "Write", "mcp__hive__send"] {
            assert_eq!(rule.decide(tool, &json!({})), Decision::Allow, "{tool}");
        }
        for tool in [
            "WebFetch",
            "Task",
            "mcp__other__send",
            "mcp__hive",
            "bash",
            "",
        ] {
            assert!(
                matches!(rule.decide(tool, &json!({})), Decision::Deny(_)),
                "{tool}"
            );
        }
    }

    #[test]
    fn with_patterns_bash_is_asked_for_and_fails_closed() {
        let rule = Rule::new(&[
            "git *".to_owned(),
            "ls".to_owned(),
            "cargo * --locked".to_owned(),
        ]);
        assert!(!rule.allowed_tools().contains("Bash"));
        for command in [
            "git status",
            "git",
            " git log -1 ",
            "ls",
            "cargo test --locked",
        ] {
            assert!(bash(&rule, command), "{command}");
        }
        for command in [
            "",
            "ls -l",
            "gitx",
            "rm -rf /",
            "git status; rm -rf /",
            "git status && rm x",
            "git log | sh",
            "git log > /etc/x",
            "git $(rm x)",
            "git `rm x`",
            "git status\nrm x",
            "(git status)",
            "GIT_SSH=evil git fetch",
            "cargo test",
            "git log \\\nrm",
        ] {
            assert!(!bash(&rule, command), "{command}");
        }
    }

    #[test]
    fn answers_have_the_shape_that_the_program_reads() {
        let input = json!({"command": "ls"});
        let allow = Decision::Allow.to_response(&input);
        assert_eq!(
            allow,
            json!({"behavior": "allow", "updatedInput": {"command": "ls"}})
        );
        let deny = Decision::Deny("no".to_owned()).to_response(&input);
        assert_eq!(deny, json!({"behavior": "deny", "message": "no"}));
    }
}
