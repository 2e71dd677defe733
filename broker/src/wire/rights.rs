//! Rights on the wire.

use std::collections::BTreeSet;

use hive_proto::Refusal;
use hive_proto::v1::{self, AgentRights, Reason, RecipientRule, ToolGroup, ToolRule};

use crate::agents::{AskedRecipients, AskedRights, ShownRights};
use crate::model::rights::Tools;

/// What a request asks for.
///
/// # Errors
/// A group of tools that this hived does not know: it could not be kept back.
pub fn asked(rights: Option<AgentRights>) -> Result<AskedRights, Refusal> {
    let AgentRights { recipients, tools } = rights.unwrap_or_default();
    let recipients = recipients.map(|rule| match rule.anyone {
        true => AskedRecipients::Anyone,
        false => AskedRecipients::Only(rule.only),
    });
    let tools = tools.map(|rule| match rule.all {
        true => Ok(Tools::All),
        false => groups(&rule.only).map(Tools::Only),
    });
    Ok(AskedRights {
        recipients,
        tools: tools.transpose()?,
    })
}

fn groups(numbers: &[i32]) -> Result<BTreeSet<ToolGroup>, Refusal> {
    let known = |number: &i32| match ToolGroup::try_from(*number) {
        Ok(ToolGroup::Unspecified) | Err(_) => Err(Refusal::new(
            Reason::InvalidArgument,
            format!("{number} is no group of tools"),
        )),
        Ok(group) => Ok(group),
    };
    numbers.iter().map(known).collect()
}

/// A rule for the harness.
#[must_use]
pub fn tools(tools: &Tools) -> ToolRule {
    match tools {
        Tools::All => ToolRule {
            all: true,
            only: Vec::new(),
        },
        Tools::Only(groups) => ToolRule {
            all: false,
            only: groups.iter().map(|group| i32::from(*group)).collect(),
        },
    }
}

impl From<ShownRights> for v1::AgentRights {
    fn from(rights: ShownRights) -> Self {
        let recipients = match rights.recipients {
            None => RecipientRule {
                anyone: true,
                only: Vec::new(),
            },
            Some(only) => RecipientRule {
                anyone: false,
                only,
            },
        };
        Self {
            recipients: Some(recipients),
            tools: Some(tools(&rights.tools)),
        }
    }
}
