//! Reads the steps of a rule.

use serde_json::Value;
use toml::de::DeValue;

use super::faults::Collector;
use super::read::{Item, Keys, integer};
use super::rules::{Act, Args, Crash, Failure, Step};
use super::template::{Known, Last, TAKEN, Template};
use crate::v1::FailureClass;
use crate::words;

/// The keys of which every step has exactly one.
const ACTS: [&str; 11] = [
    "say",
    "tool",
    "shell",
    "wait",
    "fail",
    "status",
    "stall",
    "drop",
    "max_tokens",
    "crash",
    "end",
];

/// Reads one step and notes what the later ones may refer to.
pub(super) fn step(
    item: Item<'_, '_>,
    known: &mut Known,
    faults: &mut Collector<'_>,
) -> Option<Step> {
    let mut keys = Keys::of(item, faults)?;
    let there: Vec<&str> = ACTS.into_iter().filter(|act| keys.has(act)).collect();
    let [word] = there.as_slice() else {
        let what = match there.is_empty() {
            true => "a step needs one of".to_owned(),
            false => format!("a step has one of these, not {}:", there.join(" and ")),
        };
        faults.add(&item.span(), format!("{what} {}", ACTS.join(", ")));
        return None;
    };
    let act = act(word, &mut keys, known, faults);
    let (mut save, mut times) = (None, None);
    match act {
        Some(Act::Tool { .. } | Act::Shell(_)) => {
            save = name(&mut keys, faults);
            known.saved.extend(save.clone());
            known.last = Last::Some;
        }
        Some(Act::Fail(_) | Act::Crash(_)) => times = keys.count("times", faults),
        Some(Act::Say(_) | Act::Wait(_) | Act::End) | None => {}
    }
    if matches!(act, Some(Act::Fail(Failure::MaxTokens))) {
        // An engine goes on after it and would never come past a step that always happens.
        times = times.or(Some(1));
    }
    if act.is_some() {
        keys.finish(faults);
    }
    Some(Step {
        line: faults.line(&item.span()),
        act: act?,
        save,
        times,
    })
}

/// `end` stands last, if at all.
pub(super) fn check_end(steps: &[Step], rule: Item<'_, '_>, faults: &mut Collector<'_>) {
    let end = steps.iter().position(|step| matches!(step.act, Act::End));
    if end.is_some_and(|end| end + 1 < steps.len()) {
        faults.add(&rule.span(), "the steps after `end` are never played");
    }
}

fn act(
    word: &str,
    keys: &mut Keys<'_, '_>,
    known: &Known,
    faults: &mut Collector<'_>,
) -> Option<Act> {
    match word {
        "say" => template("say", keys, known, faults).map(Act::Say),
        "shell" => template("shell", keys, known, faults).map(Act::Shell),
        "tool" => tool(keys, known, faults),
        "wait" => keys.time("wait", faults).map(Act::Wait),
        "crash" => crash(keys, faults).map(Act::Crash),
        "end" => set("end", keys, faults).then_some(Act::End),
        "fail" => class(keys, faults).map(Act::Fail),
        "status" => status(keys, faults).map(Act::Fail),
        "stall" => keys
            .time("stall", faults)
            .map(Failure::Stall)
            .map(Act::Fail),
        "drop" => set("drop", keys, faults).then_some(Act::Fail(Failure::Drop)),
        _ => set("max_tokens", keys, faults).then_some(Act::Fail(Failure::MaxTokens)),
    }
}

fn template(
    key: &'static str,
    keys: &mut Keys<'_, '_>,
    known: &Known,
    faults: &mut Collector<'_>,
) -> Option<Template> {
    let text = keys.text(key, faults)?;
    let template = Template::parse(&text, known);
    template
        .map_err(|why| faults.add(&keys.span_of(key), why))
        .ok()
}

fn tool(keys: &mut Keys<'_, '_>, known: &Known, faults: &mut Collector<'_>) -> Option<Act> {
    let name = keys.text("tool", faults);
    let args = match keys.get("args") {
        Some(item) if item.get_ref().is_table() => args(item, known, faults),
        Some(item) => {
            faults.add(&item.span(), "`args` is a table");
            None
        }
        None => Some(Args::Table([].into())),
    };
    Some(Act::Tool {
        name: name?,
        args: args?,
    })
}

fn args(item: Item<'_, '_>, known: &Known, faults: &mut Collector<'_>) -> Option<Args> {
    match item.get_ref() {
        DeValue::String(text) => Template::parse(text, known)
            .map_err(|why| faults.add(&item.span(), why))
            .ok()
            .map(Args::Text),
        DeValue::Boolean(truth) => Some(Args::Fixed(Value::Bool(*truth))),
        value @ DeValue::Integer(_) => integer(value).map(|number| Args::Fixed(number.into())),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .map(|number| Args::Fixed(number.into())),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| args(item, known, faults));
            items.collect::<Option<_>>().map(Args::List)
        }
        DeValue::Table(table) => {
            let pairs = table.iter().map(|(key, item)| {
                let key = key.get_ref().to_string();
                args(item, known, faults).map(|value| (key, value))
            });
            pairs.collect::<Option<_>>().map(Args::Table)
        }
        DeValue::Datetime(_) => {
            faults.add(&item.span(), "JSON has no dates: write it as a text");
            None
        }
    }
}

/// The name of a `save`.
fn name(keys: &mut Keys<'_, '_>, faults: &mut Collector<'_>) -> Option<String> {
    let name = keys.text("save", faults)?;
    let shaped = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !shaped || TAKEN.contains(&name.as_str()) {
        faults.add(
            &keys.span_of("save"),
            format!(
                "`save` is a name of a-z, 0-9 and '_' that begins with a letter, and none of {}",
                TAKEN.join(", ")
            ),
        );
        return None;
    }
    Some(name)
}

/// A key that can only be `true`.
fn set(key: &'static str, keys: &mut Keys<'_, '_>, faults: &mut Collector<'_>) -> bool {
    let truth = keys.truth(key, faults);
    if truth == Some(false) {
        faults.add(&keys.span_of(key), format!("`{key}` can only be true"));
    }
    truth == Some(true)
}

fn crash(keys: &mut Keys<'_, '_>, faults: &mut Collector<'_>) -> Option<Crash> {
    let crash = match keys.text("crash", faults)?.as_str() {
        "engine" => Some(Crash::Engine),
        "harness" => Some(Crash::Harness),
        _ => None,
    };
    if crash.is_none() {
        faults.add(&keys.span_of("crash"), "`crash` is engine or harness");
    }
    crash
}

fn class(keys: &mut Keys<'_, '_>, faults: &mut Collector<'_>) -> Option<Failure> {
    let word = keys.text("fail", faults)?;
    let failure = match word.as_str() {
        "rate_limited" => Some(Failure::RateLimited {
            retry_after: keys.time("retry_after", faults),
        }),
        "auth_failed" => Some(Failure::AuthFailed),
        "budget_exhausted" => Some(Failure::BudgetExhausted),
        word => words::parse_failure(word)
            .filter(|class| *class != FailureClass::Unspecified)
            .map(Failure::Class),
    };
    if failure.is_none() {
        faults.add(
            &keys.span_of("fail"),
            "`fail` is one of overloaded, network, crashed, timeout, config, refused, \
             context_full, bad_session, rate_limited, auth_failed, budget_exhausted",
        );
    }
    failure
}

fn status(keys: &mut Keys<'_, '_>, faults: &mut Collector<'_>) -> Option<Failure> {
    let retry_after = keys.time("retry_after", faults);
    let item = keys.get("status")?;
    let code = integer(item.get_ref())
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    if code.is_none() {
        faults.add(&item.span(), "`status` is an HTTP status from 400 to 599");
    }
    Some(Failure::Status {
        code: code?,
        retry_after,
    })
}
