//! Reads a script file: TOML, strictly, going on after a fault so that all of them are reported.

use std::ops::Range;
use std::time::Duration;

use regex::Regex;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::faults::{Collector, Faults};
use super::rules::{Rule, Script};
use super::steps;
use super::template::Known;

/// A table whose keys are taken one by one; what is left over in the end is unknown.
pub(super) struct Keys<'a, 'i> {
    table: &'a DeTable<'i>,
    span: Range<usize>,
    taken: Vec<&'static str>,
}

pub(super) type Item<'a, 'i> = &'a Spanned<DeValue<'i>>;

// === impl Script ===

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let mut faults = Collector::new(text);
        let (root, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            faults.add(&error.span().unwrap_or(0..0), error.message());
        }
        let mut script = Self::default();
        if broken.is_empty() {
            let mut keys = Keys::new(root.get_ref(), root.span());
            if let Some(rules) = keys.list("rule", &mut faults) {
                let read = |item| rule(item, &mut faults);
                script.rules = rules.iter().filter_map(read).collect();
            }
            keys.finish(&mut faults);
        }
        match faults.finish() {
            Some(faults) => Err(faults),
            None => Ok(script),
        }
    }
}

fn rule(item: Item<'_, '_>, faults: &mut Collector<'_>) -> Option<Rule> {
    let mut keys = Keys::of(item, faults)?;
    let agent = keys.text("agent", faults);
    let from = keys.text("from", faults);
    let body = keys.text("body", faults).and_then(|text| {
        let regex = Regex::new(&text);
        if let Err(error) = &regex {
            let why = error.to_string().replace('\n', " ");
            faults.add(
                &keys.span_of("body"),
                format!("`body` is no expression: {why}"),
            );
        }
        regex.ok()
    });
    let redelivered = keys.truth("redelivered", faults);
    let nth = keys.count("nth", faults);
    let times = keys.count("times", faults);
    let mut known = Known {
        groups: body.as_ref().map_or(0, |regex| regex.captures_len() - 1),
        ..Known::default()
    };
    let list = keys.list("steps", faults);
    if list.is_none_or(|list| list.is_empty()) {
        faults.add(&item.span(), "a rule needs `steps`");
    }
    let list = list.into_iter().flatten();
    let steps: Vec<_> = list
        .filter_map(|item| steps::step(item, &mut known, faults))
        .collect();
    steps::check_end(&steps, item, faults);
    keys.finish(faults);
    Some(Rule {
        line: faults.line(&item.span()),
        agent,
        from,
        body,
        redelivered,
        nth,
        times,
        steps,
    })
}

// === impl Keys ===

impl<'a, 'i> Keys<'a, 'i> {
    fn new(table: &'a DeTable<'i>, span: Range<usize>) -> Self {
        Self {
            table,
            span,
            taken: Vec::new(),
        }
    }

    /// The keys of a value that must be a table.
    pub(super) fn of(item: Item<'a, 'i>, faults: &mut Collector<'_>) -> Option<Self> {
        let table = item.get_ref().as_table();
        if table.is_none() {
            faults.add(&item.span(), "a table is needed here");
        }
        table.map(|table| Self::new(table, item.span()))
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<Item<'a, 'i>> {
        self.taken.push(key);
        self.table.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Where a key's value stands; the whole table's place when it is absent.
    pub(super) fn span_of(&self, key: &str) -> Range<usize> {
        self.table
            .get(key)
            .map_or_else(|| self.span.clone(), Spanned::span)
    }

    pub(super) fn text(&mut self, key: &'static str, faults: &mut Collector<'_>) -> Option<String> {
        let item = self.get(key)?;
        let text = item.get_ref().as_str();
        if text.is_none() {
            faults.add(&item.span(), format!("`{key}` is a text"));
        }
        text.map(str::to_owned)
    }

    pub(super) fn truth(&mut self, key: &'static str, faults: &mut Collector<'_>) -> Option<bool> {
        let item = self.get(key)?;
        let truth = item.get_ref().as_bool();
        if truth.is_none() {
            faults.add(&item.span(), format!("`{key}` is true or false"));
        }
        truth
    }

    /// A number of at least 1.
    pub(super) fn count(&mut self, key: &'static str, faults: &mut Collector<'_>) -> Option<u32> {
        let item = self.get(key)?;
        let number = integer(item.get_ref()).and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            faults.add(&item.span(), format!("`{key}` is a number of at least 1"));
        }
        number
    }

    /// A time such as `250ms`, `2s` or `1m`.
    pub(super) fn time(
        &mut self,
        key: &'static str,
        faults: &mut Collector<'_>,
    ) -> Option<Duration> {
        let item = self.get(key)?;
        let time = item.get_ref().as_str().and_then(duration);
        if time.is_none() {
            faults.add(
                &item.span(),
                format!("`{key}` is a time like \"250ms\", \"2s\" or \"1m\""),
            );
        }
        time
    }

    fn list(
        &mut self,
        key: &'static str,
        faults: &mut Collector<'_>,
    ) -> Option<&'a toml::de::DeArray<'i>> {
        let item = self.get(key)?;
        let list = item.get_ref().as_array();
        if list.is_none() {
            faults.add(&item.span(), format!("`{key}` is a list"));
        }
        list
    }

    /// Reports every key that was not taken.
    pub(super) fn finish(self, faults: &mut Collector<'_>) {
        for key in self.table.keys() {
            let word = key.get_ref().as_ref();
            if !self.taken.contains(&word) {
                faults.add(&key.span(), format!("`{word}` is not known here"));
            }
        }
    }
}

/// An integer of TOML, in whatever base it is written.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}
