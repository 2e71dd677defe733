//! `[disk]`: how much room must be left where the hive's data lie.

use toml::Table;

use super::fields::Fields;
use super::size::parse_bytes;
use crate::model::disk::Thresholds;

const LOW: i64 = 1 << 30;
const FULL: i64 = 256 << 20;

/// Reads the section; below these the operator is told.
pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Thresholds {
    let mut fields = Fields::section(root, "disk", "disk", faults);
    let low = fields.parsed("low", LOW, parse_bytes);
    // A low that is set alone takes the other with it.
    let full = fields.parsed("full", FULL.min(low), parse_bytes);
    if full > low {
        fields.fault("full", "is more than disk.low");
    }
    fields.finish();
    Thresholds {
        low_bytes: low.unsigned_abs(),
        full_bytes: full.unsigned_abs(),
    }
}
