//! The choices of a schedule as tools take them.

use hive_proto::v1::{Misfire, Overlap};
use schemars::JsonSchema;
use serde::Deserialize;

/// What becomes of times that passed while nothing could run.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum MisfireWord {
    Once,
    Skip,
}

/// What happens while the last one is not finished.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OverlapWord {
    Queue,
    Skip,
}

// === impl MisfireWord ===

impl MisfireWord {
    /// As the wire says it; none is unspecified.
    pub(super) fn wire(word: Option<Self>) -> i32 {
        match word {
            None => Misfire::Unspecified,
            Some(Self::Once) => Misfire::Once,
            Some(Self::Skip) => Misfire::Skip,
        }
        .into()
    }
}

// === impl OverlapWord ===

impl OverlapWord {
    /// As the wire says it; none is unspecified.
    pub(super) fn wire(word: Option<Self>) -> i32 {
        match word {
            None => Overlap::Unspecified,
            Some(Self::Queue) => Overlap::Queue,
            Some(Self::Skip) => Overlap::Skip,
        }
        .into()
    }
}
