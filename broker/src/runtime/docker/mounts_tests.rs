//! C2: what is refused, by whatever spelling.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Host;
use crate::paths::Paths;
use crate::runtime::docker::fixture;
use crate::runtime::{RuntimeError, Spec};

/// A hive with the agents ann and bob in a temporary directory.
struct Place {
    dir: TempDir,
    host: Host,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (home, run) = (dir.path().join("h"), dir.path().join("r"));
        for folder in [
            "h/agents/ann/state",
            "h/agents/ann/home",
            "h/agents/ann/harness",
            "h/agents/bob/state",
            "h/bin",
            "h/engines",
            "h/backups",
            "r/agents/ann",
            "r/agents/bob",
            "r/terminals/ann",
            "engine",
        ] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("h/bin/hive-1"), "").unwrap();
        std::fs::write(dir.path().join("engine/docker.sock"), "").unwrap();
        let paths = Paths::new(home, run).unwrap();
        let engine = dir.path().join("engine/docker.sock");
        let host = Host::new(paths, engine);
        Self { dir, host }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.dir.path().join(inside)
    }

    fn spec(&self) -> Spec {
        let mut spec = fixture::spec();
        spec.hive = self.path("h/bin/hive-1");
        spec.mounts.sockets = self.path("r/agents/ann");
        spec.mounts.terminal = self.path("r/terminals/ann");
        spec.mounts.state = self.path("h/agents/ann/state");
        spec.mounts.home = self.path("h/agents/ann/home");
        spec.mounts.harness = self.path("h/agents/ann/harness");
        spec.mounts.engines = Some(self.path("h/engines"));
        spec
    }

    /// Whether a mount of `path` as the agent's state is refused.
    #[track_caller]
    fn refuses(&self, path: &Path) {
        let mut spec = self.spec();
        spec.mounts.state = path.to_owned();
        let checked = self.host.check(&spec);
        assert!(
            matches!(checked, Err(RuntimeError::Refused(_))),
            "{} was taken",
            path.display()
        );
    }
}

#[test]
fn an_agents_own_directories_are_mounted() {
    let place = Place::new();
    assert!(place.host.check(&place.spec()).is_ok());
}

#[test]
fn the_hosts_own_trees_are_refused() {
    let place = Place::new();
    for path in [
        "/",
        "//",
        "/etc",
        "/etc/",
        "/etc/ssl",
        "/proc",
        "/proc/self",
        "/sys",
        "/run",
        "/var/run",
        "/root",
        "/home",
        "/tmp/..",
        "/usr/../etc",
        "/does/not/exist",
    ] {
        place.refuses(Path::new(path));
    }
}

#[test]
fn engine_sockets_and_what_holds_them_are_refused() {
    let place = Place::new();
    place.refuses(&place.path("engine/docker.sock"));
    place.refuses(&place.path("engine"));
    place.refuses(&place.path("h/agents/../../engine"));
}

#[test]
fn the_data_directory_and_other_agents_are_refused() {
    let place = Place::new();
    for path in [
        "h",
        "h/",
        "r",
        "",
        "h/agents",
        "h/backups",
        "h/agents/bob",
        "h/agents/bob/state",
        "r/agents",
        "r/agents/bob",
        "r/terminals",
        "h/agents/ann/../bob/state",
        "h/agents/ann/state/../../bob",
    ] {
        place.refuses(&place.path(path));
    }
}

#[test]
fn links_do_not_hide_where_they_lead() {
    let place = Place::new();
    for (n, target) in ["/", "/etc", "/proc", "h", "h/agents/bob", "engine"]
        .iter()
        .enumerate()
    {
        let link = place.path(&format!("h/agents/ann/link-{n}"));
        symlink(place.path(target), &link).unwrap();
        place.refuses(&link);
        let second = place.path(&format!("h/agents/ann/second-{n}"));
        symlink(&link, &second).unwrap();
        place.refuses(&second);
    }
}

#[test]
fn every_source_is_checked_not_the_state_alone() {
    let place = Place::new();
    let bad = || place.path("h/agents/bob");
    for which in 0..6 {
        let mut spec = place.spec();
        match which {
            0 => spec.hive = bad(),
            1 => spec.mounts.sockets = bad(),
            2 => spec.mounts.terminal = bad(),
            3 => spec.mounts.home = bad(),
            4 => spec.mounts.harness = bad(),
            _ => spec.mounts.engines = Some(bad()),
        }
        let checked = place.host.check(&spec);
        assert!(matches!(checked, Err(RuntimeError::Refused(_))), "{which}");
    }
}
