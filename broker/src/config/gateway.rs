//! `[gateway]`: who answers model calls, and where the key is read from.

use std::path::PathBuf;

use hive_proto::script::Script;
use toml::Table;

use super::fields::Fields;
use crate::gateway::{Credential, KeyHeader, Limits, Settings, Target, Url};

/// The provider that claude itself calls when nothing else is configured.
const DEFAULT_UPSTREAM: &str = "https://api.anthropic.com";
/// The variable that its own programs read.
const DEFAULT_KEY_ENV: &str = "ANTHROPIC_API_KEY";

#[derive(Clone, Debug)]
pub struct GatewayConfig {
    pub target: GatewayTarget,
}

/// Who answers model calls.
#[derive(Clone, Debug)]
pub enum GatewayTarget {
    Http {
        url: Url,
        credential: Option<Credential>,
        header: KeyHeader,
    },
    /// Answered from a script: a rehearsal with real engines.
    Scripted(Script),
}

// === impl GatewayConfig ===

impl GatewayConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "gateway", "gateway", faults);
        let scripted = fields.optional::<PathBuf>("scripted");
        let url = fields.or("upstream", DEFAULT_UPSTREAM.to_owned());
        let url = Url::parse(&url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none() {
            fields.fault("upstream", "is not an http or https URL");
        }
        let credential = read_credential(&mut fields);
        let header = fields.parsed("key_header", KeyHeader::ApiKey, |word| match word {
            "x-api-key" => Ok(KeyHeader::ApiKey),
            "bearer" => Ok(KeyHeader::Bearer),
            other => Err(format!("{other:?} is neither x-api-key nor bearer")),
        });
        let script = scripted.and_then(|path| read_script(&mut fields, &path));
        fields.finish();
        let target = match (script, url.or_else(|| Url::parse(DEFAULT_UPSTREAM).ok())) {
            (Some(script), _) => GatewayTarget::Scripted(script),
            (None, Some(url)) => GatewayTarget::Http {
                url,
                credential,
                header,
            },
            // The default parses; a config with faults is never used.
            (None, None) => GatewayTarget::Scripted(Script::default()),
        };
        Self { target }
    }

    /// Whether models are played from a script.
    #[must_use]
    pub fn rehearsal(&self) -> bool {
        matches!(self.target, GatewayTarget::Scripted(_))
    }

    /// What the gateway is built from.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let upstream = match self.target.clone() {
            GatewayTarget::Http {
                url,
                credential,
                header,
            } => Target::Http {
                url,
                credential,
                header,
            },
            GatewayTarget::Scripted(script) => Target::Scripted(script),
        };
        Settings {
            upstream,
            limits: Limits::default(),
        }
    }
}

fn read_credential(fields: &mut Fields<'_>) -> Option<Credential> {
    let env = fields.optional::<String>("key_env").map(Credential::Env);
    let file = fields.optional::<PathBuf>("key_file").map(Credential::File);
    let command = fields.optional::<Vec<String>>("key_command");
    if command.as_ref().is_some_and(Vec::is_empty) {
        fields.fault("key_command", "is empty: give a program and its arguments");
    }
    let mut given = [env, file, command.map(Credential::Command)]
        .into_iter()
        .flatten();
    let first = given.next();
    if given.next().is_some() {
        fields.fault("key_env", "give one of key_env, key_file and key_command");
    }
    let present = || std::env::var_os(DEFAULT_KEY_ENV).is_some();
    first.or_else(|| present().then(|| Credential::Env(DEFAULT_KEY_ENV.into())))
}

fn read_script(fields: &mut Fields<'_>, path: &std::path::Path) -> Option<Script> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            fields.fault("scripted", format!("{}: {error}", path.display()));
            return None;
        }
    };
    Script::parse(&text)
        .map_err(|faults| fields.fault("scripted", faults))
        .ok()
}
