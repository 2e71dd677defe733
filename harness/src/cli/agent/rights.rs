//! `hive agent rights`: whom an agent may write to, and which tools it has.

use hive_proto::v1::{
    Agent, AgentRights, RecipientRule, SetAgentRightsRequest, ToolGroup, ToolRule,
};
use hive_proto::words;

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, escape, shapes, table};

/// Say whom an agent may write to and which groups of tools it has; without a flag, show it.
///
/// The list of recipients holds for every message, replies included; wakes from inside go to its own
/// inbox and are always taken. A running agent is told at once: a tool that it lost is refused from
/// now on and is not listed from its next turn on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  hive agent rights scout --recipients lead,operator --tool-groups questions"
)]
pub(super) struct Args {
    /// The agent's name.
    name: String,
    #[command(flatten)]
    rights: RightsArgs,
    #[command(flatten)]
    format: Format,
}

/// The flags, the same where an agent is created.
#[derive(Debug, clap::Args)]
pub(super) struct RightsArgs {
    /// The only ones that it may write to: agents' names, `operator`, `<parent>`, `manager`; `none`
    /// for nobody.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    recipients: Option<Vec<String>>,
    /// It may write to everybody.
    #[arg(long, conflicts_with = "recipients")]
    all_recipients: bool,
    /// The only groups of tools that it has beside send, recv and what is always there: `questions`,
    /// `reminders`, `scheduling`; `none` for none.
    #[arg(long, value_name = "G,H", value_delimiter = ',')]
    tool_groups: Option<Vec<String>>,
    /// It has every tool of its role.
    #[arg(long, conflicts_with = "tool_groups")]
    all_tools: bool,
}

// === impl RightsArgs ===

impl RightsArgs {
    /// What the flags ask for; none of a kind leaves what is.
    ///
    /// # Errors
    /// A word that is no group of tools.
    pub(super) fn asked(self) -> Result<AgentRights, CliError> {
        let recipients = match (self.recipients, self.all_recipients) {
            (Some(only), _) => Some(RecipientRule {
                anyone: false,
                only: unless_none(only),
            }),
            (None, true) => Some(RecipientRule {
                anyone: true,
                only: Vec::new(),
            }),
            (None, false) => None,
        };
        let tools = match (self.tool_groups, self.all_tools) {
            (Some(only), _) => Some(ToolRule {
                all: false,
                only: groups(&unless_none(only))?,
            }),
            (None, true) => Some(ToolRule {
                all: true,
                only: Vec::new(),
            }),
            (None, false) => None,
        };
        Ok(AgentRights { recipients, tools })
    }
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let rights = args.rights.asked()?;
    let agent = if rights == AgentRights::default() {
        ctx.calls().agent(&args.name).await?
    } else {
        let request = SetAgentRightsRequest {
            name: args.name,
            rights: Some(rights),
        };
        ctx.calls().set_agent_rights(request).await?
    };
    if args.format.json {
        return output::json(&shapes::Agent::from(&agent));
    }
    let (recipients, tools) = shown(&agent);
    output::text(&table::pairs(&[
        ("may write to", recipients),
        ("tools", tools),
    ]))
}

/// Recipients and groups of tools, for people.
pub(super) fn shown(agent: &Agent) -> (String, String) {
    let rights = agent.rights.clone().unwrap_or_default();
    let list = |all: bool, words: Vec<String>| match (all, words.is_empty()) {
        (true, _) => "all".to_owned(),
        (false, true) => "none".to_owned(),
        (false, false) => escape::line(&words.join(", ")),
    };
    let recipients = rights
        .recipients
        .map_or_else(String::new, |rule| list(rule.anyone, rule.only));
    let tools = rights.tools.map_or_else(String::new, |rule| {
        let words = rule.only().map(|group| words::tool_group(group).to_owned());
        list(rule.all, words.collect())
    });
    (recipients, tools)
}

fn unless_none(words: Vec<String>) -> Vec<String> {
    if words == ["none"] { Vec::new() } else { words }
}

fn groups(words: &[String]) -> Result<Vec<i32>, CliError> {
    words
        .iter()
        .map(|word| match words::parse_tool_group(word) {
            Some(group) if group != ToolGroup::Unspecified => Ok(group.into()),
            Some(_) | None => Err(CliError::usage(format!(
                "{word:?} is no group of tools: questions, reminders or scheduling"
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Agent, AgentRights, RecipientRule, ToolGroup, ToolRule};

    use super::{RightsArgs, shown};

    fn args(recipients: Option<&[&str]>, groups: Option<&[&str]>) -> RightsArgs {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        RightsArgs {
            recipients: recipients.map(owned),
            all_recipients: false,
            tool_groups: groups.map(owned),
            all_tools: false,
        }
    }

    #[test]
    fn flags_say_what_is_asked_for_and_none_says_nothing() {
        assert_eq!(args(None, None).asked().unwrap(), AgentRights::default());
        let asked = args(Some(&["lead", "operator"]), Some(&["none"])).asked();
        let expected = AgentRights {
            recipients: Some(RecipientRule {
                anyone: false,
                only: vec!["lead".to_owned(), "operator".to_owned()],
            }),
            tools: Some(ToolRule {
                all: false,
                only: Vec::new(),
            }),
        };
        assert_eq!(asked.unwrap(), expected);
        assert_eq!(args(None, Some(&["shell"])).asked().unwrap_err().code(), 2);
        let all = RightsArgs {
            all_recipients: true,
            all_tools: true,
            ..args(None, None)
        };
        let all = all.asked().unwrap();
        assert!(all.recipients.unwrap().anyone && all.tools.unwrap().all);
    }

    #[test]
    fn a_list_is_shown_as_it_is_typed() {
        let mut agent = Agent {
            rights: Some(AgentRights {
                recipients: Some(RecipientRule {
                    anyone: false,
                    only: vec!["<parent>".to_owned(), "operator".to_owned()],
                }),
                tools: Some(ToolRule {
                    all: false,
                    only: vec![ToolGroup::Questions.into()],
                }),
            }),
            ..Agent::default()
        };
        let expected = ("<parent>, operator".to_owned(), "questions".to_owned());
        assert_eq!(shown(&agent), expected);
        agent.rights = None;
        assert_eq!(shown(&agent), (String::new(), String::new()));
    }
}
