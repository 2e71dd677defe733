//! Which rule answers a message, and what its placeholders stand for.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::rules::{Args, Rule, Script, Step};
use super::template::{Part, Place, Template};

/// The message that a script answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The agent that got it; empty when it is not known, and then only rules without `agent` match.
    pub agent: String,
    pub from: String,
    pub id: i64,
    pub body: String,
    pub redelivered: bool,
}

/// A rule that answers a message.
#[derive(Clone, Debug)]
pub struct Play<'a> {
    pub rule: &'a Rule,
    /// Its position in the script.
    pub index: usize,
    /// What stands for the placeholders, without any results yet.
    pub values: Values,
}

/// What `nth` and `times` have counted; in memory only.
#[derive(Debug, Default)]
pub struct Seen {
    /// Messages that a rule's other conditions held for, in the order they came.
    messages: HashMap<usize, Vec<(String, i64)>>,
    /// How often a step with `times` has happened.
    fired: HashMap<(usize, usize), u32>,
}

/// What stands for the placeholders of one play.
#[derive(Clone, Debug, Default)]
pub struct Values {
    agent: String,
    from: String,
    id: i64,
    body: String,
    groups: Vec<String>,
    saved: BTreeMap<String, String>,
}

// === impl Script ===

impl Script {
    /// The first rule that answers `incoming`; the same message always gets the same answer.
    pub fn pick<'a>(&'a self, incoming: &Incoming, seen: &mut Seen) -> Option<Play<'a>> {
        self.rules.iter().enumerate().find_map(|(index, rule)| {
            let groups = rule.groups(incoming)?;
            rule.in_turn(index, incoming, seen).then(|| Play {
                rule,
                index,
                values: Values::new(incoming, groups),
            })
        })
    }
}

// === impl Rule ===

impl Rule {
    /// The groups of `body`, when every condition but the counting ones holds.
    fn groups(&self, incoming: &Incoming) -> Option<Vec<String>> {
        let is = |wanted: &Option<String>, there: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == there)
        };
        let redelivered = self.redelivered.is_none_or(|it| it == incoming.redelivered);
        if !is(&self.agent, &incoming.agent) || !is(&self.from, &incoming.from) || !redelivered {
            return None;
        }
        let Some(regex) = &self.body else {
            return Some(vec![incoming.body.clone()]);
        };
        let found = regex.captures(&incoming.body)?;
        let text = |group: Option<regex::Match<'_>>| {
            group.map_or_else(String::new, |group| group.as_str().to_owned())
        };
        Some(found.iter().map(text).collect())
    }

    /// Whether `nth` and `times` hold.
    fn in_turn(&self, index: usize, incoming: &Incoming, seen: &mut Seen) -> bool {
        if self.nth.is_none() && self.times.is_none() {
            return true;
        }
        let messages = seen.messages.entry(index).or_default();
        let key = (incoming.agent.clone(), incoming.id);
        let at = messages.iter().position(|other| *other == key);
        let at = at.unwrap_or_else(|| {
            messages.push(key);
            messages.len() - 1
        });
        let number = u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1);
        self.nth.is_none_or(|nth| nth == number) && self.times.is_none_or(|times| number <= times)
    }
}

// === impl Seen ===

impl Seen {
    /// Whether a step happens now; counts it, where it has `times`.
    pub fn fires(&mut self, rule: usize, step: usize, what: &Step) -> bool {
        let Some(times) = what.times else {
            return true;
        };
        let fired = self.fired.entry((rule, step)).or_default();
        let fires = *fired < times;
        if fires {
            *fired += 1;
        }
        fires
    }
}

// === impl Values ===

impl Values {
    fn new(incoming: &Incoming, groups: Vec<String>) -> Self {
        Self {
            agent: incoming.agent.clone(),
            from: incoming.from.clone(),
            id: incoming.id,
            body: incoming.body.clone(),
            groups,
            saved: BTreeMap::new(),
        }
    }

    /// Takes the result of a tool call or a command: it is `{{last}}` now, and what `save` says.
    pub fn result(&mut self, step: &Step, text: impl Into<String>) {
        let text = text.into();
        if let Some(name) = &step.save {
            self.saved.insert(name.clone(), text.clone());
        }
        self.saved.insert("last".to_owned(), text);
    }

    /// A text with its placeholders filled.
    #[must_use]
    pub fn text(&self, template: &Template) -> String {
        self.fill(template, |value| value)
    }

    /// A command line: whatever fills a placeholder is quoted, so that it is always one word.
    #[must_use]
    pub fn shell(&self, template: &Template) -> String {
        self.fill(template, |value| {
            format!("'{}'", value.replace('\'', r"'\''"))
        })
    }

    /// The arguments of a tool call as JSON. An argument that is nothing but one placeholder keeps
    /// the value's own type, so that `{{id}}` is a number.
    #[must_use]
    pub fn json(&self, args: &Args) -> Value {
        match args {
            Args::Fixed(value) => value.clone(),
            Args::List(items) => items.iter().map(|item| self.json(item)).collect(),
            Args::Table(table) => {
                let pairs = table.iter();
                Value::Object(pairs.map(|(k, v)| (k.clone(), self.json(v))).collect())
            }
            Args::Text(template) => match template.parts.as_slice() {
                [Part::Place(place)] => self.value(place),
                _ => Value::String(self.text(template)),
            },
        }
    }

    fn fill(&self, template: &Template, quote: impl Fn(String) -> String) -> String {
        let parts = template.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Place(place) => quote(match self.value(place) {
                Value::String(text) => text,
                other => other.to_string(),
            }),
        });
        parts.collect()
    }

    /// What stands for one placeholder; the empty text for what is not there.
    fn value(&self, place: &Place) -> Value {
        let text = match place {
            Place::From => &self.from,
            Place::Body => &self.body,
            Place::Agent => &self.agent,
            Place::Id => return self.id.into(),
            Place::Group(group) => {
                return self.groups.get(*group).cloned().unwrap_or_default().into();
            }
            Place::Result { name, path } => {
                let text = self.saved.get(name).map(String::as_str).unwrap_or_default();
                return inside(text, path);
            }
        };
        Value::String(text.clone())
    }
}

/// The value at `path` of a result that is a JSON document; in what `recv` returned, `id`, `from` and
/// `body` are those of the first message.
fn inside(text: &str, path: &[String]) -> Value {
    if path.is_empty() {
        return Value::String(text.to_owned());
    }
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let first = document.pointer("/messages/0");
    let found = at(&document, path).or_else(|| first.and_then(|first| at(first, path)));
    found
        .cloned()
        .unwrap_or_else(|| Value::String(String::new()))
}

fn at<'a>(document: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(document, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        Value::Object(table) => table.get(key),
        _ => None,
    })
}
