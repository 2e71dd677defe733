//! `[engine]`: the clocks of a turn, and the scripted engine's rules.

use std::path::PathBuf;

use hive_proto::script::Script;
use toml::Table;

use super::fields::Fields;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// An idle engine process is kept so long; 0 = one process a turn.
    pub idle_secs: u32,
    /// A turn without any sign of life so long has failed.
    pub silence_secs: u32,
    /// No turn lasts longer.
    pub wall_secs: u32,
    /// A park on a rate limit that names no time.
    pub rate_limit_park_secs: u32,
    pub context_window_tokens: u64,
    /// Bash commands that an engine may run, as patterns; empty = Bash wholesale.
    pub allowed_bash_patterns: Vec<String>,
    /// Rules of the scripted engine for agents that bring none of their own.
    pub script: String,
}

// === impl EngineConfig ===

impl EngineConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "engine", "engine", faults);
        let mut secs = |key: &str, default, least| {
            let value = fields.ranged(key, default, least..=7 * 24 * 3_600);
            u32::try_from(value).unwrap_or(u32::MAX)
        };
        let (idle_secs, silence_secs) = (secs("idle_secs", 90, 0), secs("silence_secs", 600, 1));
        let (wall_secs, rate_limit_park_secs) = (
            secs("wall_secs", 7_200, 1),
            secs("rate_limit_park_secs", 300, 1),
        );
        let config = Self {
            idle_secs,
            silence_secs,
            wall_secs,
            rate_limit_park_secs,
            context_window_tokens: fields.ranged(
                "context_window_tokens",
                200_000,
                1_000..=10_000_000,
            ),
            allowed_bash_patterns: fields.or("allowed_bash_patterns", Vec::new()),
            script: read_script(&mut fields),
        };
        fields.finish();
        config
    }
}

/// The rules given in place by `script`, or in a file by `script_file`; checked here, so that a
/// broken script stops hived and not every agent's turn.
fn read_script(fields: &mut Fields<'_>) -> String {
    let inline = fields.optional::<String>("script");
    let file = fields.optional::<PathBuf>("script_file");
    let (key, text) = match (inline, file) {
        (Some(_), Some(_)) => {
            fields.fault("script_file", "give either script or script_file");
            return String::new();
        }
        (Some(text), None) => ("script", text),
        (None, Some(path)) => match std::fs::read_to_string(&path) {
            Ok(text) => ("script_file", text),
            Err(error) => {
                fields.fault("script_file", format!("{}: {error}", path.display()));
                return String::new();
            }
        },
        (None, None) => return String::new(),
    };
    if let Err(error) = Script::parse(&text) {
        fields.fault(key, error);
    }
    text
}
