//! The authorisation table: every method of hive.v1, who may call it, whom it may act on, and which
//! group of tools it belongs to. [`super::guard`] enforces it before any handler runs; a method
//! without a row is refused, and a test fails for it. `docs/authority.md` shows the same rows.
//!
//! Who calls is the socket. What a row cannot say, because it depends on the request's content, the
//! handler checks: that a [`Reach::Subtree`] names an agent of the caller's subtree
//! (`topology::is_in_subtree`), that a message goes to a recipient whom the agent may write to.

use hive_proto::v1::{Reason, Role, ToolGroup};
use hive_proto::{Refusal, words};

use crate::model::rights::Tools;

/// Who may call a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// An agent on its own socket, a manager included.
    Agent,
    /// An agent whose role is manager at the time of the call, on its own socket.
    Manager,
    /// A person on the operator socket.
    Operator,
}

/// Whom a call may act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The caller alone.
    Own,
    /// Another agent, by its name, as far as anybody may: it is written to or looked up.
    Peers,
    /// The caller, and for a manager every agent below it.
    Subtree,
    /// Everything.
    Hive,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Without its package.
    pub service: &'static str,
    pub method: &'static str,
    pub who: Who,
    pub reach: Reach,
    /// None: always there.
    pub group: Option<ToolGroup>,
}

/// The package of every service of ours, as paths begin.
pub(super) const PACKAGE: &str = "/hive.v1.";

/// The table.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    agent("OpenSession", Reach::Own),
    agent("Attend", Reach::Own),
    agent("Beat", Reach::Own),
    agent("Recv", Reach::Own),
    agent("EndTurn", Reach::Own),
    agent("Send", Reach::Peers),
    agent("SendBatch", Reach::Peers),
    agent("Wake", Reach::Own),
    agent("ListInbox", Reach::Own),
    agent("GetAgentMeta", Reach::Peers),
    agent("SetStatus", Reach::Own),
    agent_tool("Ask", Reach::Peers, ToolGroup::Questions),
    agent_tool("WaitAnswer", Reach::Own, ToolGroup::Questions),
    agent_tool("AnswerQuestion", Reach::Own, ToolGroup::Questions),
    agent_tool("GetLooseEnds", Reach::Subtree, ToolGroup::Questions),
    agent_tool("CancelLooseEnd", Reach::Subtree, ToolGroup::Questions),
    agent_tool("Remind", Reach::Own, ToolGroup::Reminders),

    manager("ListAgents"),
    manager_tool("RequestSchedulePrompt", ToolGroup::Scheduling),
    manager_tool("EditSchedule", ToolGroup::Scheduling),
    manager_tool("CancelSchedule", ToolGroup::Scheduling),
    manager_tool("FireScheduleNow", ToolGroup::Scheduling),
    manager_tool("ListSchedules", ToolGroup::Scheduling),
    manager_tool("GetSchedule", ToolGroup::Scheduling),

    operator("GetStatus"),
    operator("ListAgents"),
    operator("GetAgent"),
    operator("CreateAgent"),
    operator("StartAgent"),
    operator("StopAgent"),
    operator("RestartAgent"),
    operator("PauseAgent"),
    operator("ResumeAgent"),
    operator("CancelTurn"),
    operator("RemoveAgent"),
    operator("MoveAgent"),
    operator("SetAgentRights"),
    operator("Logs"),
    operator("Send"),
    operator("SendBatch"),
    operator("ListInbox"),
    operator("MarkRead"),
    operator("GetMessage"),
    operator("WaitMessage"),
    operator("ListDead"),
    operator("RequeueDead"),
    operator("TestNotify"),
    operator("ListNotifications"),
    operator("RetryNotification"),
    operator("Watch"),
    operator("Backup"),
    operator("ListApprovals"),
    operator("GetApproval"),
    operator("DecideApproval"),
    operator("CreateSchedule"),
    operator("EditSchedule"),
    operator("CancelSchedule"),
    operator("FireScheduleNow"),
    operator("ListSchedules"),
    operator("GetSchedule"),
    operator("ListQuestions"),
    operator("GetQuestion"),
    operator("AnswerQuestion"),
    operator("CancelQuestion"),
    operator("ListReminders"),
    operator("CancelReminder"),
    operator("RetryReminder"),
];

const fn agent(method: &'static str, reach: Reach) -> Rule {
    Rule {
        service: "AgentService",
        method,
        who: Who::Agent,
        reach,
        group: None,
    }
}

const fn agent_tool(method: &'static str, reach: Reach, group: ToolGroup) -> Rule {
    Rule {
        group: Some(group),
        ..agent(method, reach)
    }
}

const fn manager(method: &'static str) -> Rule {
    Rule {
        service: "ManagerService",
        method,
        who: Who::Manager,
        reach: Reach::Subtree,
        group: None,
    }
}

const fn manager_tool(method: &'static str, group: ToolGroup) -> Rule {
    Rule {
        group: Some(group),
        ..manager(method)
    }
}

const fn operator(method: &'static str) -> Rule {
    Rule {
        service: "OperatorService",
        method,
        who: Who::Operator,
        reach: Reach::Hive,
        group: None,
    }
}

/// The row of a call's path.
pub(super) fn rule(path: &str) -> Option<&'static Rule> {
    let (service, method) = path.strip_prefix(PACKAGE)?.split_once('/')?;
    RULES
        .iter()
        .find(|rule| rule.method == method && rule.service == service)
}

// === impl Rule ===

impl Rule {
    /// The path of its calls.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{PACKAGE}{}/{}", self.service, self.method)
    }

    /// As people and audit events name it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.service, self.method)
    }

    /// As docs/authority.md shows it.
    #[cfg(test)]
    fn shown(&self) -> String {
        let who = match self.who {
            Who::Agent => "agent",
            Who::Manager => "manager",
            Who::Operator => "operator",
        };
        let reach = match self.reach {
            Reach::Own => "itself",
            Reach::Peers => "any agent",
            Reach::Subtree => "its subtree",
            Reach::Hive => "the hive",
        };
        let tools = self.group.map_or(String::new(), |group| {
            format!("{} ", words::tool_group(group))
        });
        format!("| `{}` | {who} | {reach} | {tools}|", self.name())
    }

    /// Whether an agent of this role, with these tools, may call it on its own socket.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) fn admit_agent(&self, role: Role, tools: &Tools) -> Result<(), Refusal> {
        let name = self.name();
        match (self.who, role) {
            (Who::Agent, _) | (Who::Manager, Role::Manager) if tools.admit(self.group) => Ok(()),
            (Who::Agent, _) | (Who::Manager, Role::Manager) => Err(without(&name, self.group)),
            (Who::Manager, Role::Agent | Role::Unspecified) => Err(Refusal::new(
                Reason::WrongRole,
                format!("{name} is a manager's call, and this agent is no manager"),
            )),
            (Who::Operator, _) => Err(operators_only(&name)),
        }
    }

    /// Whether it may be called on the operator socket.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn admit_operator(&self) -> Result<(), Refusal> {
        match self.who {
            Who::Operator => Ok(()),
            Who::Agent | Who::Manager => Err(Refusal::new(
                Reason::NotPermitted,
                format!("{} is an agent's call", self.name()),
            )
            .with_hint("it is served on each agent's own socket")),
        }
    }
}

/// A method of ours that no row is for: of a newer hive, or misspelled.
pub(super) fn unruled(path: &str) -> Refusal {
    let name: String = path.chars().skip(PACKAGE.len()).take(80).collect();
    Refusal::new(Reason::NotPermitted, format!("this hived has no {name}"))
}

fn without(name: &str, group: Option<ToolGroup>) -> Refusal {
    let group = group.map_or("", words::tool_group);
    Refusal::new(
        Reason::NotPermitted,
        format!("{name} is of the tools `{group}`, which this agent does not have"),
    )
    .with_hint("the operator gives an agent its tools: `hive agent rights`")
}

fn operators_only(name: &str) -> Refusal {
    Refusal::new(
        Reason::NotPermitted,
        format!("{name} is the operator's call, not an agent's"),
    )
    .with_hint("it is served on the operator socket, to people")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hive_proto::methods;
    use hive_proto::v1::{Reason, Role};

    use super::{RULES, Reach, Who, rule};
    use crate::model::rights::Tools;

    #[test]
    fn every_method_has_one_row_and_every_row_a_method() {
        let methods: Vec<String> = methods::all()
            .unwrap()
            .iter()
            .map(methods::Method::path)
            .collect();
        for path in &methods {
            assert!(rule(path).is_some(), "rpc/authorisation.rs lacks {path}");
        }
        let rows: HashSet<String> = RULES.iter().map(super::Rule::path).collect();
        assert_eq!(rows.len(), RULES.len(), "a row is there twice");
        for path in rows {
            assert!(methods.contains(&path), "{path} is no method");
        }
    }

    #[test]
    fn a_service_serves_one_kind_of_caller() {
        for rule in RULES {
            let who = match rule.service {
                "AgentService" => Who::Agent,
                "ManagerService" => Who::Manager,
                "OperatorService" => Who::Operator,
                other => panic!("{other} is served nowhere"),
            };
            assert_eq!(rule.who, who, "{}", rule.name());
            assert_eq!(rule.reach == Reach::Hive, who == Who::Operator);
        }
    }

    #[test]
    fn no_agent_is_admitted_to_an_operators_call_whatever_its_role() {
        for rule in RULES {
            for role in [Role::Unspecified, Role::Agent, Role::Manager] {
                let refused = rule.admit_agent(role, &Tools::All);
                let refused = refused.map_err(|refusal| refusal.reason);
                let expected = match (rule.who, role) {
                    (Who::Agent, _) | (Who::Manager, Role::Manager) => Ok(()),
                    (Who::Manager, _) => Err(Reason::WrongRole),
                    (Who::Operator, _) => Err(Reason::NotPermitted),
                };
                assert_eq!(refused, expected, "{} as {role:?}", rule.name());
            }
            let refused = rule.admit_operator().map_err(|refusal| refusal.reason);
            let expected = match rule.who {
                Who::Operator => Ok(()),
                Who::Agent | Who::Manager => Err(Reason::NotPermitted),
            };
            assert_eq!(refused, expected, "{} by the operator", rule.name());
        }
    }

    #[test]
    fn a_group_that_an_agent_does_not_have_is_refused_whatever_its_role() {
        let none = Tools::Only(std::collections::BTreeSet::new());
        for rule in RULES.iter().filter(|rule| rule.who != Who::Operator) {
            let refused = rule.admit_agent(Role::Manager, &none);
            let refused = refused.map_err(|refusal| refusal.reason);
            let expected = match rule.group {
                None => Ok(()),
                Some(_) => Err(Reason::NotPermitted),
            };
            assert_eq!(refused, expected, "{}", rule.name());
        }
    }

    #[test]
    fn the_page_shows_these_rows_and_no_others() {
        let page = include_str!("../../../docs/authority.md");
        let shown: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("| `") && line.contains("Service/"))
            .collect();
        let rows: Vec<String> = RULES.iter().map(super::Rule::shown).collect();
        assert_eq!(shown, rows, "docs/authority.md");
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        for path in [
            "/hive.v1.AgentService/send",
            "/hive.v1.AgentService/Send/",
            "/hive.v1.AgentService//Send",
            "hive.v1.AgentService/Send",
            "/hive.v1.operatorservice/Backup",
            "/hive.v1.AgentService/Backup",
            "/grpc.health.v1.Health/Check",
        ] {
            assert!(rule(path).is_none(), "{path}");
        }
    }
}
