//! What every command gets: where the broker's socket is.

use std::path::{Path, PathBuf};

use crate::broker::BrokerClient;

/// The socket inside an agent's container.
const CONTAINER_SOCKET: &str = "/run/hive/broker.sock";

/// Context of one command.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// The socket to talk to: `$HIVE_SOCKET`, else the container's, else the operator's.
    pub socket: PathBuf,
}

// === impl Ctx ===

impl Ctx {
    /// Looks at the environment through `env` and at the file system.
    pub fn find(env: impl Fn(&str) -> Option<String>) -> Self {
        let named = env("HIVE_SOCKET").filter(|path| !path.is_empty());
        let socket = match named {
            Some(path) => PathBuf::from(path),
            None if Path::new(CONTAINER_SOCKET).exists() => PathBuf::from(CONTAINER_SOCKET),
            None => run_dir(&env).join("operator.sock"),
        };
        Self { socket }
    }

    /// A client that connects at its first call.
    #[must_use]
    pub fn client(&self) -> BrokerClient {
        BrokerClient::connect(&self.socket)
    }
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

    use super::Ctx;

    #[test]
    fn the_named_socket_wins() {
        let ctx = Ctx::find(|name| (name == "HIVE_SOCKET").then(|| "/x/y.sock".to_owned()));
        assert_eq!(ctx.socket, Path::new("/x/y.sock"));
    }

    #[test]
    fn the_run_directory_is_honoured() {
        let ctx = Ctx::find(|name| (name == "HIVE_RUN").then(|| "/r".to_owned()));
        assert_eq!(ctx.socket, Path::new("/r/operator.sock"));
    }
}
