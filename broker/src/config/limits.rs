//! `[limits]`: what one agent may make the broker do.

use hive_proto::limits::MAILBOX_ROWS;
use toml::Table;

use super::fields::Fields;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Calls a second on one agent's socket, and as many at once.
    pub agent_rpcs_per_sec: u32,
    /// Unfinished rows of one mailbox.
    pub mailbox_rows: u32,
}

// === impl LimitsConfig ===

impl LimitsConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "limits", "limits", faults);
        let most = 1_000_000;
        let calls = fields.ranged("agent_rpcs_per_sec", 200, 1..=most);
        let rows = fields.ranged("mailbox_rows", MAILBOX_ROWS.into(), 1..=most);
        fields.finish();
        Self {
            agent_rpcs_per_sec: u32::try_from(calls).unwrap_or(u32::MAX),
            mailbox_rows: u32::try_from(rows).unwrap_or(u32::MAX),
        }
    }
}
