//! Whether anything that waits for the operator reaches them off-screen.

use super::{Check, Patient};

pub(super) fn examine(patient: &Patient) -> Check {
    let name = "notification";
    match patient.config.notify_channels() {
        0 => Check::warn(
            name,
            "nothing reaches you off-screen: what waits for you is in `hive status` alone",
            "add a [[notify]] to hive.toml (docs/notifications.md), then `hive notify test`",
        ),
        1 => Check::ok(name, "1 channel; `hive notify test` tries it"),
        many => Check::ok(
            name,
            format!("{many} channels; `hive notify test` tries them"),
        ),
    }
}
