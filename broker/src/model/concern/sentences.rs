//! What the operator reads of an event, in hive's own words, and what an event ends.

use super::rule::{Happening, Told};

pub(super) fn nothing(_: &Happening<'_>) -> Option<Told> {
    None
}

pub(super) fn by_id(event: &Happening<'_>) -> Option<String> {
    event.number("id").map(|id| id.to_string())
}

/// Also for what there is one of: it is about no agent.
pub(super) fn by_agent(event: &Happening<'_>) -> Option<String> {
    Some(event.agent.to_owned())
}

pub(super) fn approval(event: &Happening<'_>) -> Option<Told> {
    let id = event.number("id")?;
    let text = format!(
        "{} asks for approval {id} ({}); `hive approval show {id}`",
        event.agent,
        event.text("kind")
    );
    event.now(id.to_string(), id, text)
}

/// One to the operator: at once, or after half of the time that it gives.
pub(super) fn question(event: &Happening<'_>) -> Option<Told> {
    if event.text("target") != "operator" {
        return None;
    }
    let id = event.number("id")?;
    let half = event
        .number("deadline_ms")
        .map_or(0, |deadline| deadline.saturating_sub(event.at.0).max(0) / 2);
    Some(Told {
        subject: id.to_string(),
        id,
        text: format!(
            "{} asks question {id}; `hive answer {id} TEXT`",
            event.agent
        ),
        due: event.at.plus_ms(half),
    })
}

pub(super) fn reminder_failed(event: &Happening<'_>) -> Option<Told> {
    if event.data["final"] != true {
        return None;
    }
    let id = event.number("id")?;
    let text = format!(
        "reminder {id} of {} could not be delivered: {}; `hive reminder retry {id}`",
        event.agent,
        event.text("why")
    );
    event.now(id.to_string(), id, text)
}

pub(super) fn dead(event: &Happening<'_>) -> Option<Told> {
    let id = event.number("id")?;
    let text = format!(
        "message {id} to {} is dead: {}; `hive dead requeue {id}` runs it again",
        event.agent,
        event.text("why")
    );
    event.now(id.to_string(), id, text)
}

pub(super) fn stalled(event: &Happening<'_>) -> Option<Told> {
    let waited_ms = event
        .number("since_ms")
        .map_or(0, |since| (event.at.0 - since).max(0));
    let text = format!(
        "{} has taken no message for {} minutes; `hive agent show {0}` says why",
        event.agent,
        waited_ms / 60_000
    );
    event.now(event.agent, 0, text)
}

pub(super) fn failed_agent(event: &Happening<'_>) -> Option<Told> {
    let text = format!(
        "{} has failed: {}; `hive logs {0}`, then `hive agent start {0}`",
        event.agent,
        event.text("why")
    );
    event.now(event.agent, 0, text)
}

pub(super) fn needs_login(event: &Happening<'_>) -> Option<Told> {
    if event.text("state") != "needs_login" {
        return None;
    }
    let text = format!("{} needs a login: the model refused its key", event.agent);
    event.now(event.agent, 0, text)
}

pub(super) fn purge(event: &Happening<'_>) -> Option<Told> {
    let text = format!(
        "what {} had cannot be deleted: {}",
        event.agent,
        event.text("why")
    );
    event.now(event.agent, 0, text)
}

pub(super) fn disk(event: &Happening<'_>) -> Option<Told> {
    // Some room was made, not yet enough: nothing new.
    if event.text("was") == "full" {
        return None;
    }
    let mib = event.number("free_bytes").unwrap_or_default() / (1024 * 1024);
    let text = match event.text("level") {
        "full" => format!("{mib} MiB are left on the hive's disk: soon nothing can be stored"),
        _ => format!("{mib} MiB are left on the hive's disk"),
    };
    event.now(event.agent, 0, text)
}

pub(super) fn notification_dead(event: &Happening<'_>) -> Option<Told> {
    // Two channels that are both broken must not tell each other about it for ever.
    if event.text("kind") == "notification_dead" {
        return None;
    }
    let id = event.number("id")?;
    let text = format!(
        "notification {id} ({}) could not be delivered by {}; `hive notify ls` says why",
        event.text("kind"),
        event.text("channel")
    );
    event.now(id.to_string(), id, text)
}
