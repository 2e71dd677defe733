//! A time as a model may write it: Unix seconds, or RFC 3339.

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use schemars::JsonSchema;
use serde::Deserialize;

/// Unix seconds as a number, or RFC 3339 with an offset, e.g. `2026-12-01T09:00:00+01:00`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Moment {
    Unix(i64),
    Text(String),
}

// === impl Moment ===

impl Moment {
    /// As the wire says it.
    pub(super) fn ms(&self) -> Result<i64, Refusal> {
        let text = match self {
            Self::Unix(secs) => return Ok(secs.saturating_mul(1000)),
            Self::Text(text) => text.trim(),
        };
        if let Ok(secs) = text.parse::<i64>() {
            return Ok(secs.saturating_mul(1000));
        }
        let time = text.parse::<jiff::Timestamp>();
        time.map(|at| at.as_millisecond()).map_err(|_| {
            Refusal::new(
                Reason::InvalidArgument,
                format!("{text:?} is neither Unix seconds nor RFC 3339 with an offset"),
            )
        })
    }
}

/// A time of the wire, Unix milliseconds, as RFC 3339 in UTC.
pub(super) fn shown(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn both_spellings_are_one_time() {
        let read = |json: &str| serde_json::from_str::<Moment>(json).unwrap().ms();
        for json in [
            "1796083200",
            "\"1796083200\"",
            "\"2026-12-01T00:00:00Z\"",
            "\"2026-12-01T01:00:00+01:00\"",
        ] {
            assert_eq!(read(json).unwrap(), 1_796_083_200_000, "{json}");
        }
        for json in ["\"tomorrow\"", "\"2026-12-01 09:00\"", "\"\""] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
