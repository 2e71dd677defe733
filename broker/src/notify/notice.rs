//! What a notification says: one JSON document, made once and the same at every try.

use hive_proto::ids::UnixMs;
use serde::{Deserialize, Serialize};

use crate::model::concern::{Rule, Urgency};
use crate::store::outbox::{Item, OutboxRow};

/// The document, in the envelope of Standard Webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Notice {
    /// `hive.<kind>`.
    #[serde(rename = "type")]
    pub(super) event: String,
    /// When the first of what it tells happened.
    pub(super) timestamp: String,
    pub(super) data: Data,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Data {
    pub(super) id: String,
    pub(super) host: String,
    pub(super) kind: String,
    pub(super) urgency: String,
    pub(super) title: String,
    pub(super) text: String,
    /// How many things it tells; `items` holds the first of them.
    pub(super) count: usize,
    pub(super) items: Vec<Thing>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thing {
    pub(super) id: Option<i64>,
    pub(super) agent: Option<String>,
    pub(super) at: String,
    pub(super) text: String,
    /// What an agent wrote, shortened.
    pub(super) quote: Option<String>,
}

/// Things that one notification shows.
const SHOWN: usize = 10;
/// Characters of one thing's text, and of what an agent wrote.
const TEXT: usize = 300;

// === impl Notice ===

impl Notice {
    /// Of the things of one kind.
    pub(super) fn of(uid: &str, rule: &Rule, items: &[Item], now: UnixMs) -> Self {
        let things: Vec<Thing> = items.iter().take(SHOWN).map(Thing::of).collect();
        let (what, count) = match items.len() {
            0 | 1 => (rule.one.to_owned(), 1),
            many => (format!("{many} {}", rule.many), many),
        };
        let mut lines: Vec<String> = things.iter().map(Thing::line).collect();
        let more = items.len().saturating_sub(things.len());
        if more > 0 {
            lines.push(format!("and {more} more; `hive status` shows all"));
        }
        Self {
            event: format!("hive.{}", rule.word),
            timestamp: items.first().map_or(now, |item| item.at).rfc3339(),
            data: Data {
                id: uid.to_owned(),
                host: host(),
                kind: rule.word.to_owned(),
                urgency: urgency(rule.urgency).to_owned(),
                title: format!("hive: {what}"),
                text: lines.join("\n"),
                count,
                items: things,
            },
        }
    }

    /// One that the operator asked for.
    pub(super) fn test(uid: &str, now: UnixMs) -> Self {
        Self {
            event: "hive.test".to_owned(),
            timestamp: now.rfc3339(),
            data: Data {
                id: uid.to_owned(),
                host: host(),
                kind: "test".to_owned(),
                urgency: urgency(Urgency::Normal).to_owned(),
                title: "hive: a test".to_owned(),
                text: "This channel works.".to_owned(),
                count: 1,
                items: Vec::new(),
            },
        }
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

// === impl Thing ===

impl Thing {
    fn of(item: &Item) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| plain(text, TEXT));
        Self {
            id: (item.ref_id != 0).then_some(item.ref_id),
            agent: some(&item.agent),
            at: item.at.rfc3339(),
            text: plain(&item.text, TEXT),
            quote: some(&item.quote),
        }
    }

    fn line(&self) -> String {
        match &self.quote {
            Some(quote) => format!("{}: “{quote}”", self.text),
            None => self.text.clone(),
        }
    }
}

/// A name that is never given twice, also by a hive that was restored.
pub(super) fn uid() -> String {
    format!("msg_{}", uuid::Uuid::new_v4().simple())
}

fn urgency(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::High => "high",
        Urgency::Normal => "normal",
    }
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Title and text of one that was stored; empty before its first try.
#[must_use]
pub fn words(row: &OutboxRow) -> (String, String) {
    let stored = row.payload.as_deref().unwrap_or_default();
    match serde_json::from_str::<Notice>(stored) {
        Ok(notice) => (notice.data.title, notice.data.text),
        Err(_) => (String::new(), String::new()),
    }
}

/// One line of at most `most` characters without anything that steers a screen or turns text around.
pub(super) fn plain(text: &str, most: usize) -> String {
    let visible = |c: char| match c {
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => ' ',
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    let mut line: String = text.trim().chars().take(most).map(visible).collect();
    if text.trim().chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{Notice, plain};
    use crate::model::concern::Concern;
    use crate::store::outbox::Item;

    fn item(id: i64) -> Item {
        Item {
            ref_id: id,
            agent: "bee".into(),
            text: format!("message {id} to bee is dead: crashed"),
            quote: String::new(),
            at: UnixMs(1_796_083_200_000),
        }
    }

    #[test]
    fn one_thing_is_told_in_full() {
        let notice = Notice::of("msg_1", Concern::Dead.rule(), &[item(7)], UnixMs(5));
        assert_eq!(notice.event, "hive.dead");
        assert_eq!(notice.data.title, "hive: a message is dead");
        assert_eq!(notice.data.text, "message 7 to bee is dead: crashed");
        assert_eq!(notice.data.items[0].id, Some(7));
        let again: Notice = serde_json::from_str(&notice.json()).unwrap();
        assert_eq!(again, notice);
    }

    #[test]
    fn many_things_are_counted_and_cut() {
        let items: Vec<_> = (1..=100).map(item).collect();
        let notice = Notice::of("msg_1", Concern::Dead.rule(), &items, UnixMs(5));
        assert_eq!(notice.data.title, "hive: 100 messages are dead");
        assert_eq!((notice.data.count, notice.data.items.len()), (100, 10));
        assert!(
            notice
                .data
                .text
                .ends_with("and 90 more; `hive status` shows all")
        );
        assert!(notice.json().len() < 8_000);
    }

    #[test]
    fn what_an_agent_wrote_steers_nothing() {
        assert_eq!(plain("a\x1b[2J\u{202e}b\nc", 20), "a [2J b c");
        assert_eq!(plain("abcdef", 3), "abc…");
    }
}
