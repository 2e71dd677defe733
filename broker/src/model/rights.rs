//! What the operator allows one agent beyond its role. Pure: whom a word means is worked out by
//! whoever asks.

use std::collections::BTreeSet;

use hive_proto::ids::AgentId;
use hive_proto::v1::ToolGroup;

/// An agent's rights; the default is everything that its role has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub recipients: Recipients,
    pub tools: Tools,
}

/// Whom it may write to, replies included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Recipients {
    #[default]
    Anyone,
    Only(BTreeSet<Listed>),
}

/// One entry of the list. Agents are listed by their ids: one made anew under an old name is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    Operator,
    /// Whoever is its parent at the time.
    Parent,
    /// Whoever is the nearest manager above it at the time.
    Manager,
    Agent(AgentId),
}

/// Which groups of tools it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tools {
    #[default]
    All,
    Only(BTreeSet<ToolGroup>),
}

/// The recipient of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Operator,
    Agent(AgentId),
}

/// Who is above the sender now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Above {
    pub parent: To,
    pub manager: Option<AgentId>,
}

// === impl Recipients ===

impl Recipients {
    /// Whether a message may go to `to`, however the sender spelled it.
    #[must_use]
    pub fn admit(&self, to: To, above: Above) -> bool {
        let means = |listed: &Listed| match *listed {
            Listed::Operator => to == To::Operator,
            Listed::Parent => to == above.parent,
            Listed::Manager => above
                .manager
                .is_some_and(|manager| to == To::Agent(manager)),
            Listed::Agent(id) => to == To::Agent(id),
        };
        match self {
            Self::Anyone => true,
            Self::Only(listed) => listed.iter().any(means),
        }
    }
}

// === impl Tools ===

impl Tools {
    /// Whether it has the tools of `group`; what belongs to no group is always there.
    #[must_use]
    pub fn admit(&self, group: Option<ToolGroup>) -> bool {
        match (self, group) {
            (Self::All, _) | (_, None) => true,
            (Self::Only(groups), Some(group)) => groups.contains(&group),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hive_proto::ids::AgentId;
    use hive_proto::v1::ToolGroup;

    use super::{Above, Listed, Recipients, To, Tools};

    const BOSS: AgentId = AgentId(1);
    const MID: AgentId = AgentId(2);
    const PEER: AgentId = AgentId(3);

    #[test]
    fn the_whole_table_of_recipients() {
        let below = Above {
            parent: To::Agent(MID),
            manager: Some(BOSS),
        };
        let root = Above {
            parent: To::Operator,
            manager: None,
        };
        let all = [
            To::Operator,
            To::Agent(BOSS),
            To::Agent(MID),
            To::Agent(PEER),
        ];
        for (listed, above, admitted) in [
            (vec![], below, [false, false, false, false]),
            (vec![Listed::Operator], below, [true, false, false, false]),
            (vec![Listed::Parent], below, [false, false, true, false]),
            (vec![Listed::Parent], root, [true, false, false, false]),
            (vec![Listed::Manager], below, [false, true, false, false]),
            (vec![Listed::Manager], root, [false, false, false, false]),
            (
                vec![Listed::Agent(PEER), Listed::Operator],
                root,
                [true, false, false, true],
            ),
        ] {
            let rule = Recipients::Only(listed.iter().copied().collect());
            let found = all.map(|to| rule.admit(to, above));
            assert_eq!(found, admitted, "{listed:?} {above:?}");
            assert!(all.iter().all(|to| Recipients::Anyone.admit(*to, above)));
        }
    }

    #[test]
    fn a_group_that_is_not_given_is_not_there_and_what_has_none_always_is() {
        let some = Tools::Only(BTreeSet::from([ToolGroup::Questions]));
        let none = Tools::Only(BTreeSet::new());
        for (tools, group, admitted) in [
            (&some, Some(ToolGroup::Questions), true),
            (&some, Some(ToolGroup::Reminders), false),
            (&some, None, true),
            (&none, Some(ToolGroup::Questions), false),
            (&none, None, true),
            (&Tools::All, Some(ToolGroup::Scheduling), true),
        ] {
            assert_eq!(tools.admit(group), admitted, "{tools:?} {group:?}");
        }
    }
}
