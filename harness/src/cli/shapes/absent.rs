//! What counts as absent on the wire, where every field has a value.

/// `None` for the empty text.
pub(super) fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// `None` for the empty word.
pub(super) fn word(word: &'static str) -> Option<&'static str> {
    (!word.is_empty()).then_some(word)
}

/// `None` for 0, which is no id.
pub(super) fn id(id: i64) -> Option<i64> {
    (id != 0).then_some(id)
}
