//! What the harness is told by its environment: who it is and where things are.

use std::path::PathBuf;

/// Read once at start; the container paths are the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The agent's name, for the log and as the mark of leftovers; the broker's word counts.
    pub agent: String,
    /// Shown name in the system prompt.
    pub label: String,
    /// Name of the hive and of the swarm, for the system prompt; empty for none.
    pub hive_name: String,
    pub swarm_name: String,
    pub operator_pronouns: String,
    pub socket: PathBuf,
    pub gateway_socket: PathBuf,
    pub state: PathBuf,
    pub home: PathBuf,
    pub harness: PathBuf,
    pub run: PathBuf,
    pub engines: PathBuf,
    /// Where the vendor's own login lives; a change there ends a `needs_login` park.
    pub login_dir: PathBuf,
}

// === impl Settings ===

impl Settings {
    /// Reads the environment through `env`; an empty value is the same as none.
    pub fn read(env: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| env(name).filter(|value| !value.is_empty());
        let dir = |name: &str, default: &str| PathBuf::from(get(name).unwrap_or(default.into()));
        let socket = dir("HIVE_SOCKET", "/run/hive/broker.sock");
        let home = dir("HOME", "/home/agent");
        let agent = get("HIVE_AGENT").unwrap_or_else(|| "hive".to_owned());
        let sockets = match (get("HIVE_SOCKET_DIR"), socket.parent()) {
            (Some(dir), _) => PathBuf::from(dir),
            (None, Some(dir)) => dir.to_path_buf(),
            (None, None) => PathBuf::from("/run/hive"),
        };
        Self {
            label: get("HIVE_LABEL").unwrap_or_else(|| agent.clone()),
            agent,
            hive_name: get("HIVE_NAME").unwrap_or_default(),
            swarm_name: get("HIVE_SWARM_NAME").unwrap_or_default(),
            operator_pronouns: get("HIVE_OPERATOR_PRONOUNS").unwrap_or_default(),
            gateway_socket: sockets.join("gateway.sock"),
            socket,
            state: dir("HIVE_STATE_DIR", "/state"),
            harness: dir("HIVE_HARNESS_DIR", "/harness"),
            run: dir("HIVE_RUN_DIR", "/run/hive-agent"),
            engines: dir("HIVE_ENGINES_DIR", "/opt/hive/engines"),
            login_dir: get("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from),
            home,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Settings;

    #[test]
    fn a_container_needs_no_variables() {
        let settings = Settings::read(|_| None);
        assert_eq!(settings.socket, Path::new("/run/hive/broker.sock"));
        assert_eq!(settings.gateway_socket, Path::new("/run/hive/gateway.sock"));
        assert_eq!(settings.state, Path::new("/state"));
        assert_eq!(settings.login_dir, Path::new("/home/agent/.claude"));
    }

    #[test]
    fn empty_is_the_same_as_none() {
        let settings = Settings::read(|name| match name {
            "HIVE_AGENT" => Some("bob".to_owned()),
            "HIVE_SOCKET" => Some("/x/broker.sock".to_owned()),
            "CLAUDE_CONFIG_DIR" => Some("/login".to_owned()),
            _ => Some(String::new()),
        });
        assert_eq!(settings.label, "bob");
        assert_eq!(settings.gateway_socket, Path::new("/x/gateway.sock"));
        assert_eq!(settings.login_dir, Path::new("/login"));
        assert_eq!(settings.run, Path::new("/run/hive-agent"));
    }
}
