//! What is never mounted into a container, however it is spelled.

use std::path::{Path, PathBuf};

use crate::paths::Paths;
use crate::runtime::{Mounts, RuntimeError, Spec};

/// Whole trees of the host that no agent sees any part of.
const TREES: [&str; 3] = ["/etc", "/proc", "/sys"];
/// Sockets of container engines: who reaches one is root.
const ENGINES: [&str; 8] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/var/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/user",
    "/var/lib/docker",
];

/// What is known of the host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    paths: Paths,
    /// The engine's socket in use.
    engine: PathBuf,
    /// The home of the user that runs the broker.
    home: Option<PathBuf>,
}

// === impl Host ===

impl Host {
    pub(super) fn new(paths: Paths, engine: PathBuf) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self {
            paths,
            engine,
            home,
        }
    }

    /// The spec with every source resolved, if all of them may be mounted.
    pub(super) fn check(&self, spec: &Spec) -> Result<Spec, RuntimeError> {
        let own = spec.name.as_str();
        let resolve = |path: &PathBuf| {
            self.resolve(path, own).map_err(|why| {
                RuntimeError::Refused(format!("a mount of {}: {why}", path.display()))
            })
        };
        let mounts = &spec.mounts;
        Ok(Spec {
            hive: resolve(&spec.hive)?,
            mounts: Mounts {
                sockets: resolve(&mounts.sockets)?,
                terminal: resolve(&mounts.terminal)?,
                state: resolve(&mounts.state)?,
                home: resolve(&mounts.home)?,
                harness: resolve(&mounts.harness)?,
                engines: mounts.engines.as_ref().map(resolve).transpose()?,
            },
            ..spec.clone()
        })
    }

    /// The real path behind `path`, or why it may not be mounted for the agent called `own`.
    fn resolve(&self, path: &Path, own: &str) -> Result<PathBuf, String> {
        // Links, `..` and doubled slashes are gone from here on.
        let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
        let contains = |inner: &Path| {
            let inner = std::fs::canonicalize(inner).unwrap_or_else(|_| inner.to_owned());
            inner.starts_with(&real)
        };
        if real == Path::new("/") {
            return Err("it is the whole host".into());
        }
        if TREES.iter().any(|tree| real.starts_with(tree))
            || ["/run", "/var/run"]
                .iter()
                .any(|run| real == Path::new(run))
        {
            return Err("it belongs to the host".into());
        }
        if ENGINES.iter().any(|socket| contains(Path::new(socket))) || contains(&self.engine) {
            return Err("it holds a container engine's socket".into());
        }
        if self.is_home(&real) {
            return Err("it is somebody's home".into());
        }
        if contains(self.paths.home()) || contains(self.paths.run()) {
            return Err("it holds the hive's own data".into());
        }
        self.check_owner(&real, own)?;
        Ok(real)
    }

    fn is_home(&self, real: &Path) -> bool {
        let own = self
            .home
            .as_deref()
            .and_then(|home| std::fs::canonicalize(home).ok());
        let parent = real.parent();
        own.as_deref() == Some(real)
            || real == Path::new("/root")
            || real == Path::new("/home")
            || parent == Some(Path::new("/home"))
    }

    /// Below the hive's directories only the agent's own, `bin` and `engines` may be mounted.
    fn check_owner(&self, real: &Path, own: &str) -> Result<(), String> {
        for (root, shared) in [
            (self.paths.home(), &["bin", "engines"][..]),
            (self.paths.run(), &[][..]),
        ] {
            let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
            let Ok(inside) = real.strip_prefix(&root) else {
                continue;
            };
            let mut parts = inside.iter().filter_map(|part| part.to_str());
            let (first, second) = (parts.next().unwrap_or_default(), parts.next());
            let is_own = matches!(first, "agents" | "terminals") && second == Some(own);
            if !is_own && !shared.contains(&first) {
                return Err("it is another agent's, or the hive's own".into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "mounts_tests.rs"]
mod tests;
