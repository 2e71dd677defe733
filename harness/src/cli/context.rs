//! What every command gets: where the broker's socket is, whose it is, and where the hive lies.

use std::path::{Path, PathBuf};

use hive_proto::Refusal;
use hive_proto::v1::Reason;

use crate::broker::{BrokerClient, CommandCalls};

/// The socket inside an agent's container.
const CONTAINER_SOCKET: &str = "/run/hive/broker.sock";

/// Context of one command.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// The socket to talk to: `$HIVE_SOCKET`, else the container's, else the operator's.
    pub socket: PathBuf,
    /// The data directory of a hive on this host.
    pub home: PathBuf,
    /// The socket directory of a hive on this host.
    pub run: PathBuf,
}

/// Whose socket it is. A guess by its name; what it serves decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Operator,
    Agent,
}

// === impl Ctx ===

impl Ctx {
    /// Looks at the environment through `env` and at the file system.
    pub fn find(env: impl Fn(&str) -> Option<String>) -> Self {
        let named = env("HIVE_SOCKET").filter(|path| !path.is_empty());
        let run = run_dir(&env);
        let socket = match named {
            Some(path) => PathBuf::from(path),
            None if Path::new(CONTAINER_SOCKET).exists() => PathBuf::from(CONTAINER_SOCKET),
            None => run.join("operator.sock"),
        };
        Self {
            socket,
            home: home_dir(&env),
            run,
        }
    }

    /// A client that connects at its first call.
    #[must_use]
    pub fn client(&self) -> BrokerClient {
        BrokerClient::connect(&self.socket)
    }

    /// The calls of the command line on this socket.
    #[must_use]
    pub fn calls(&self) -> CommandCalls {
        CommandCalls::new(self.client())
    }

    /// The calls on the operator's socket of the hive on this host, whatever `$HIVE_SOCKET` says.
    #[must_use]
    pub fn host_calls(&self) -> CommandCalls {
        CommandCalls::new(BrokerClient::connect(&self.operator_socket()))
    }

    /// The operator's socket of the hive on this host.
    #[must_use]
    pub fn operator_socket(&self) -> PathBuf {
        self.run.join("operator.sock")
    }

    /// Whose socket it seems to be.
    #[must_use]
    pub fn side(&self) -> Side {
        match self.socket.file_name() {
            Some(name) if name == "broker.sock" => Side::Agent,
            _ => Side::Operator,
        }
    }

    /// For commands that act on the host itself.
    ///
    /// # Errors
    /// `not_permitted` beside an agent.
    pub fn on_host(&self) -> Result<(), Refusal> {
        match self.side() {
            Side::Operator => Ok(()),
            Side::Agent => Err(Refusal::new(
                Reason::NotPermitted,
                "this is the operator's command, and here is an agent's socket",
            )
            .with_hint("run it on the host, outside of the agents' containers")),
        }
    }
}

/// `$HIVE_HOME`, else where `hived` puts its data for this user.
fn home_dir(env: &impl Fn(&str) -> Option<String>) -> PathBuf {
    if let Some(home) = env("HIVE_HOME").filter(|path| !path.is_empty()) {
        return PathBuf::from(home);
    }
    if rustix::process::getuid().is_root() {
        return PathBuf::from("/var/lib/hive");
    }
    let user = env("HOME").unwrap_or_default();
    Path::new(&user).join(".local/share/hive")
}

/// `$HIVE_RUN`, else where `hived` puts its sockets for this user.
fn run_dir(env: &impl Fn(&str) -> Option<String>) -> PathBuf {
    let uid = rustix::process::getuid();
    if let Some(run) = env("HIVE_RUN").filter(|path| !path.is_empty()) {
        return PathBuf::from(run);
    }
    if uid.is_root() {
        return PathBuf::from("/run/hive");
    }
    match env("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("hive"),
        None => PathBuf::from(format!("/tmp/hive-{}", uid.as_raw())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Ctx, Side};

    #[test]
    fn the_named_socket_wins() {
        let ctx = Ctx::find(|name| (name == "HIVE_SOCKET").then(|| "/x/broker.sock".to_owned()));
        assert_eq!(ctx.socket, Path::new("/x/broker.sock"));
        assert_eq!(ctx.side(), Side::Agent);
        assert!(ctx.on_host().is_err());
    }

    #[test]
    fn the_directories_are_honoured() {
        let ctx = Ctx::find(|name| match name {
            "HIVE_RUN" => Some("/r".to_owned()),
            "HIVE_HOME" => Some("/h".to_owned()),
            _ => None,
        });
        assert_eq!(ctx.socket, Path::new("/r/operator.sock"));
        assert_eq!(ctx.home, Path::new("/h"));
        assert_eq!(ctx.side(), Side::Operator);
    }
}
