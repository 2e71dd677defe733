//! Texts with placeholders: `{{from}}`, `{{1}}`, `{{menu}}`, `{{menu.body}}`.

use std::collections::BTreeSet;

/// A text whose placeholders are filled when its step is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Place(Place),
}

/// One placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    From,
    Body,
    Id,
    Agent,
    /// A group of the rule's `body` expression.
    Group(usize),
    /// The result of a step: the one before (`last`) or a saved one, or a value inside of it.
    Result {
        name: String,
        path: Vec<String>,
    },
}

/// Which placeholders a step may use.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Number of the highest group of the rule's `body` expression.
    pub(super) groups: usize,
    /// Names saved by earlier steps of the rule.
    pub(super) saved: BTreeSet<String>,
    /// Whether an earlier step has a result.
    pub(super) last: Last,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Last {
    #[default]
    None,
    Some,
}

/// Words that a `save` cannot take.
pub(super) const TAKEN: [&str; 5] = ["from", "body", "id", "agent", "last"];

// === impl Template ===

impl Template {
    /// Reads a text; the error is one lower-case fragment.
    pub(super) fn parse(text: &str, known: &Known) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inside, behind)) = after.split_once("}}") else {
                return Err("a placeholder is not closed: `}}` is missing".to_owned());
            };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Place(place(inside.trim(), known)?));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }
}

fn place(inside: &str, known: &Known) -> Result<Place, String> {
    let mut words = inside.split('.');
    let head = words.next().unwrap_or_default();
    let path: Vec<String> = words.map(str::to_owned).collect();
    if let Ok(group) = head.parse::<usize>() {
        return match path.is_empty() && group <= known.groups {
            true => Ok(Place::Group(group)),
            false => Err(format!(
                "`{{{{{inside}}}}}`: the rule's `body` has {} groups",
                known.groups
            )),
        };
    }
    let plain = match head {
        "from" => Some(Place::From),
        "body" => Some(Place::Body),
        "id" => Some(Place::Id),
        "agent" => Some(Place::Agent),
        _ => None,
    };
    if let Some(place) = plain
        && path.is_empty()
    {
        return Ok(place);
    }
    let there = match head {
        "last" => known.last == Last::Some,
        name => known.saved.contains(name),
    };
    if !there || path.iter().any(String::is_empty) {
        return Err(format!(
            "`{{{{{inside}}}}}` is not known here: use from, body, id, agent, a group's number, \
             last, or a name that an earlier step saved"
        ));
    }
    Ok(Place::Result {
        name: head.to_owned(),
        path,
    })
}
