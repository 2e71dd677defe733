//! Which tools an agent is given or denied together, and which are a manager's. The broker's table is
//! what counts; this one keeps a tool that would be refused out of the list.

use hive_proto::v1::{Role, ToolGroup, ToolRule};

/// What a tool belongs to; none: it is always there.
pub(super) fn group(name: &str) -> Option<ToolGroup> {
    match name {
        "ask" | "answer" | "get_loose_ends" | "cancel_loose_end" => Some(ToolGroup::Questions),
        "remind" => Some(ToolGroup::Reminders),
        "request_schedule_prompt"
        | "edit_schedule"
        | "cancel_schedule"
        | "fire_schedule_now"
        | "list_schedules" => Some(ToolGroup::Scheduling),
        _ => None,
    }
}

/// Whether an agent of this role, with these groups, has the tool.
pub(super) fn has(name: &str, role: Role, rule: &ToolRule) -> bool {
    let Some(group) = group(name) else {
        return true;
    };
    let of_role = match group {
        ToolGroup::Scheduling => role == Role::Manager,
        ToolGroup::Questions | ToolGroup::Reminders | ToolGroup::Unspecified => true,
    };
    of_role && (rule.all || rule.only.contains(&group.into()))
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Role, ToolGroup, ToolRule};

    use super::has;

    #[test]
    fn a_tool_is_there_by_its_group_and_the_role() {
        let rule = |all, only: &[ToolGroup]| ToolRule {
            all,
            only: only.iter().map(|group| i32::from(*group)).collect(),
        };
        let (all, none) = (rule(true, &[]), rule(false, &[]));
        let some = rule(false, &[ToolGroup::Reminders]);
        for (name, role, rule, expected) in [
            ("send", Role::Agent, &none, true),
            ("recv", Role::Manager, &none, true),
            ("ask", Role::Agent, &all, true),
            ("ask", Role::Agent, &none, false),
            ("ask", Role::Agent, &some, false),
            ("remind", Role::Agent, &some, true),
            ("fire_schedule_now", Role::Agent, &all, false),
            ("fire_schedule_now", Role::Manager, &all, true),
            ("fire_schedule_now", Role::Manager, &some, false),
        ] {
            assert_eq!(has(name, role, rule), expected, "{name} {role:?} {rule:?}");
        }
    }
}
