//! Which runtime and which engine `hive up` takes, and why, in words.

use std::path::Path;

use super::super::CliError;
use super::super::docker_engine::DockerEngine;
use super::super::hive_toml::HiveToml;
use super::{EngineArg, RuntimeArg};
use crate::engine::installed;

/// Said whenever agents run as plain processes.
pub(super) const UNISOLATED: &str = "NO ISOLATION: the process runtime runs agents as plain processes of this user, with its files \
     and its network; for real agents use a Docker engine";

/// Said when claude is to work for a daemon that was started before.
pub(super) const ENVIRONMENT: &str = "hived was running already: a key in this shell's environment reaches it only by `hive down` and \
     `hive up`";

/// The variable with the model's key.
pub(in super::super) const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// The runtime, and why it is that one if nobody said so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuntimeChoice {
    pub(super) runtime: RuntimeArg,
    pub(super) why: Option<String>,
}

/// The engine, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EngineChoice {
    pub(super) engine: EngineArg,
    pub(super) why: String,
}

/// What keeps an agent from the rest of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    Container,
    None,
}

/// What was found about running the real engine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EngineFacts {
    /// Version of the newest installed claude.
    claude: Option<String>,
    /// Where the model's key comes from.
    key: Option<String>,
    /// Whether the runtime may run it at all.
    allowed: bool,
}

/// The one that was asked for, else the configured one, else what this host offers.
pub(super) async fn runtime(asked: Option<RuntimeArg>, config: &HiveToml) -> RuntimeChoice {
    let said = asked.or_else(|| match config.runtime() {
        Some("docker") => Some(RuntimeArg::Docker),
        Some("process") => Some(RuntimeArg::Process),
        _ => None,
    });
    if let Some(runtime) = said {
        return RuntimeChoice { runtime, why: None };
    }
    let docker = DockerEngine::configured(config);
    let image = config.image();
    let (runtime, why) = match docker.has_image(image).await {
        Ok(true) => (
            RuntimeArg::Docker,
            format!("a Docker engine answers and has the image {image}: agents run in containers"),
        ),
        Ok(false) => (
            RuntimeArg::Process,
            format!(
                "a Docker engine answers, but the image {image} is missing (`make image` builds it): agents run as plain processes"
            ),
        ),
        Err(error) => (
            RuntimeArg::Process,
            format!("no Docker engine answers ({error}): agents run as plain processes"),
        ),
    };
    RuntimeChoice {
        runtime,
        why: Some(why),
    }
}

/// The one that was asked for, else the configured one, else claude where it can work.
pub(super) fn engine(
    asked: Option<EngineArg>,
    isolation: Isolation,
    config: &HiveToml,
    home: &Path,
) -> Result<EngineChoice, CliError> {
    let facts = EngineFacts {
        claude: claude(home),
        key: key(config, |name| std::env::var(name).ok()),
        allowed: isolation == Isolation::Container || config.trusts_process(),
    };
    let said = asked.or_else(|| match config.engine() {
        Some("claude") => Some(EngineArg::Claude),
        Some("scripted") => Some(EngineArg::Scripted),
        _ => None,
    });
    decide(said, &facts)
}

/// Version of the newest installed claude.
pub(in super::super) fn claude(home: &Path) -> Option<String> {
    installed::newest(&home.join("engines"), "claude").map(|engine| engine.version)
}

/// Where the model's key comes from, never the key.
pub(in super::super) fn key(
    config: &HiveToml,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    if config.rehearsal() {
        return Some("a script (hive.toml: gateway.scripted)".to_owned());
    }
    config.credential().or_else(|| {
        env(KEY_VARIABLE)
            .filter(|key| !key.is_empty())
            .map(|_| format!("variable {KEY_VARIABLE}"))
    })
}

fn decide(said: Option<EngineArg>, facts: &EngineFacts) -> Result<EngineChoice, CliError> {
    let choice = |engine, why: String| Ok(EngineChoice { engine, why });
    match (said, &facts.claude, &facts.key) {
        (Some(EngineArg::Scripted), _, _) => choice(
            EngineArg::Scripted,
            "the scripted engine plays a story; no model is asked".to_owned(),
        ),
        (Some(EngineArg::Claude), None, _) => Err(CliError::failed("claude is not installed")
            .with_hint("`hive engine install claude` fetches it")),
        (Some(EngineArg::Claude), Some(_), _) if !facts.allowed => Err(CliError::failed(
            "the process runtime isolates nothing, so it runs the scripted engine only",
        )
        .with_hint("use a Docker engine, or accept the risk with process.trusted under [runtime] in hive.toml")),
        (Some(EngineArg::Claude), Some(version), None) => choice(
            EngineArg::Claude,
            format!("claude {version}, but no model key: agents will show `needs_login`; set {KEY_VARIABLE} for hived, or gateway.key_file in hive.toml"),
        ),
        (_, Some(version), Some(key)) if facts.allowed => choice(
            EngineArg::Claude,
            format!("claude {version}; model calls by {key}"),
        ),
        (None, _, None) => choice(
            EngineArg::Scripted,
            format!("no model key ({KEY_VARIABLE}, or gateway.key_file in hive.toml): the scripted engine plays a story, no model is asked"),
        ),
        (None, None, Some(_)) => choice(
            EngineArg::Scripted,
            "claude is not installed (`hive engine install claude`): the scripted engine plays a story, no model is asked".to_owned(),
        ),
        (_, Some(_), Some(_)) => choice(
            EngineArg::Scripted,
            "the process runtime runs the scripted engine only: it plays a story, no model is asked".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{EngineArg, EngineFacts, decide};

    fn facts(claude: bool, key: bool, allowed: bool) -> EngineFacts {
        EngineFacts {
            claude: claude.then(|| "2.1.332".to_owned()),
            key: key.then(|| "variable ANTHROPIC_API_KEY".to_owned()),
            allowed,
        }
    }

    #[test]
    fn claude_runs_only_where_it_can() {
        for claude in [false, true] {
            for key in [false, true] {
                for allowed in [false, true] {
                    let choice = decide(None, &facts(claude, key, allowed)).unwrap();
                    let expected = if claude && key && allowed {
                        EngineArg::Claude
                    } else {
                        EngineArg::Scripted
                    };
                    assert_eq!(choice.engine, expected, "{claude} {key} {allowed}");
                }
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_taken_or_refused_never_replaced() {
        let scripted = decide(Some(EngineArg::Scripted), &facts(true, true, true)).unwrap();
        assert_eq!(scripted.engine, EngineArg::Scripted);
        assert!(decide(Some(EngineArg::Claude), &facts(false, true, true)).is_err());
        assert!(decide(Some(EngineArg::Claude), &facts(true, true, false)).is_err());
        let keyless = decide(Some(EngineArg::Claude), &facts(true, false, true)).unwrap();
        assert_eq!(keyless.engine, EngineArg::Claude);
        assert!(keyless.why.contains("needs_login"), "{}", keyless.why);
    }
}
