//! What the command line needs to know of `hive.toml`, read leniently: `hived` alone judges it.

use std::path::Path;

use super::CliError;

/// The image of agents when hive.toml names none.
const IMAGE: &str = "hive-agent:latest";

/// The few settings that decide how a hive is started and checked.
#[derive(Clone, Debug, Default)]
pub(super) struct HiveToml {
    table: toml::Table,
    /// Whether there is a file at all.
    pub(super) exists: bool,
}

// === impl HiveToml ===

impl HiveToml {
    /// Reads `hive.toml` in the data directory; nothing is set when there is none.
    pub(super) fn read(home: &Path) -> Result<Self, CliError> {
        let path = home.join("hive.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(CliError::failed(format!(
                    "cannot read {}: {error}",
                    path.display()
                )));
            }
        };
        match text.parse() {
            Ok(table) => Ok(Self {
                table,
                exists: true,
            }),
            Err(error) => Err(CliError::failed(format!(
                "{} is not TOML: {}",
                path.display(),
                toml_message(&error)
            ))),
        }
    }

    /// `docker` or `process`, if it is set.
    pub(super) fn runtime(&self) -> Option<&str> {
        self.text("runtime.kind")
    }

    /// Whether other users are let in as operators.
    pub(super) fn lists_operators(&self) -> bool {
        self.at("operators")
            .and_then(toml::Value::as_array)
            .is_some_and(|list| !list.is_empty())
    }

    /// The Docker engine's address, if it is set.
    pub(super) fn docker_host(&self) -> Option<&str> {
        self.text("runtime.docker.host")
    }

    /// Whether engines may run without isolation.
    pub(super) fn trusts_process(&self) -> bool {
        self.at("runtime.process.trusted")
            .and_then(toml::Value::as_bool)
            .unwrap_or(false)
    }

    pub(super) fn image(&self) -> &str {
        self.text("agent.image").unwrap_or(IMAGE)
    }

    /// The engine of agents that name none.
    pub(super) fn engine(&self) -> Option<&str> {
        self.text("agent.engine")
    }

    /// The `hive` that is mounted into containers, if it is set.
    pub(super) fn hive_binary(&self) -> Option<&str> {
        self.text("agent.hive_binary")
    }

    /// Where the model's key comes from, in words without the key.
    pub(super) fn credential(&self) -> Option<String> {
        let gateway = self.at("gateway")?;
        if let Some(name) = gateway.get("key_env").and_then(toml::Value::as_str) {
            return Some(format!("variable {name}"));
        }
        if let Some(path) = gateway.get("key_file").and_then(toml::Value::as_str) {
            return Some(format!("file {path}"));
        }
        gateway
            .get("key_command")
            .map(|_| "the command in hive.toml".to_owned())
    }

    /// How many channels notify the operator.
    pub(super) fn notify_channels(&self) -> usize {
        self.at("notify")
            .and_then(toml::Value::as_array)
            .map_or(0, Vec::len)
    }

    /// Whether model calls are answered from a script.
    pub(super) fn rehearsal(&self) -> bool {
        self.at("gateway.scripted").is_some()
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str()
    }

    fn at(&self, path: &str) -> Option<&toml::Value> {
        let (first, rest) = match path.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path, None),
        };
        let mut value = self.table.get(first)?;
        for part in rest.iter().flat_map(|rest| rest.split('.')) {
            value = value.get(part)?;
        }
        Some(value)
    }
}

/// The first line of a TOML error; the rest draws the place.
fn toml_message(error: &toml::de::Error) -> String {
    error
        .message()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::HiveToml;

    fn read(text: &str) -> HiveToml {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("hive.toml"), text).unwrap();
        HiveToml::read(dir.path()).unwrap()
    }

    #[test]
    fn what_is_set_is_found() {
        let file = read(
            "[runtime]\nkind = \"docker\"\nprocess.trusted = true\n[agent]\nimage = \"mine:1\"\n[gateway]\nkey_env = \"KEY\"\n",
        );
        assert_eq!(file.runtime(), Some("docker"));
        assert_eq!(file.image(), "mine:1");
        assert_eq!(file.credential().as_deref(), Some("variable KEY"));
        assert!(file.trusts_process());
        assert!(!file.rehearsal());
    }

    #[test]
    fn no_file_sets_nothing_and_a_broken_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let none = HiveToml::read(dir.path()).unwrap();
        assert!(!none.exists);
        assert_eq!(none.image(), "hive-agent:latest");
        std::fs::write(dir.path().join("hive.toml"), "[runtime").unwrap();
        let error = HiveToml::read(dir.path()).unwrap_err();
        assert!(
            error.to_string().contains("hive.toml is not TOML"),
            "{error}"
        );
    }
}
