//! The engines: an installed claude, npm to install one, the model's key.

use super::super::programs;
use super::super::up::{KEY_VARIABLE, claude, key};
use super::{Check, Patient};

pub(super) fn examine(patient: &Patient) -> Vec<Check> {
    let rehearsal = patient.status.as_ref().is_ok_and(|status| status.rehearsal);
    vec![installed(patient), model_key(patient, rehearsal)]
}

fn installed(patient: &Patient) -> Check {
    let name = "engine";
    if let Some(version) = claude(&patient.ctx.home) {
        return Check::ok(name, format!("claude {version} is installed"));
    }
    let text = "claude is not installed: only the scripted engine runs";
    let remedy = match programs::in_path("npm") {
        Some(_) => "`hive engine install claude` fetches it",
        None => {
            "install npm, then `hive engine install claude` fetches it; or give it a file: --from"
        }
    };
    Check::warn(name, text, remedy)
}

/// hived's own environment counts; from here only this shell's is seen.
fn model_key(patient: &Patient, rehearsal: bool) -> Check {
    let name = "model key";
    if rehearsal {
        return Check::ok(
            name,
            "model calls are answered from a script: none is needed",
        );
    }
    match key(&patient.config, |name| std::env::var(name).ok()) {
        Some(place) => Check::ok(name, format!("from {place}")),
        None => Check::warn(
            name,
            format!("neither {KEY_VARIABLE} in this shell nor a key in hive.toml"),
            format!("set {KEY_VARIABLE} where hived is started, or gateway.key_file in hive.toml"),
        ),
    }
}
