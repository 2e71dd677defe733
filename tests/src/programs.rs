//! Where the programs under test lie: named by the environment, else beside the test binary.

use std::path::{Path, PathBuf};

/// The daemon.
#[must_use]
pub fn hived() -> PathBuf {
    find("HIVE_TEST_HIVED", "hived", "cargo build -p hived")
}

/// The command, linked as usual: for the operator's side and plain processes.
#[must_use]
pub fn hive() -> PathBuf {
    find("HIVE_TEST_HIVE", "hive", "cargo build -p hive")
}

/// The statically linked command: what a container gets.
#[must_use]
pub fn static_hive() -> PathBuf {
    if let Some(path) = named("HIVE_TEST_STATIC_HIVE") {
        return path;
    }
    let target = profile_folder()
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    let found = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
        .iter()
        .map(|triple| target.join(triple).join("debug/hive"))
        .find(|path| path.exists());
    found.unwrap_or_else(|| {
        panic!(
            "no static hive below {}: run `make static`",
            target.display()
        )
    })
}

/// The real claude.
#[must_use]
pub fn claude() -> PathBuf {
    named("HIVE_TEST_CLAUDE")
        .unwrap_or_else(|| panic!("HIVE_TEST_CLAUDE is not set: run the tests by `make test`"))
}

fn find(variable: &str, name: &str, build: &str) -> PathBuf {
    if let Some(path) = named(variable) {
        return path;
    }
    let path = profile_folder().join(name);
    assert!(
        path.exists(),
        "{} is missing: run `{build}`",
        path.display()
    );
    path
}

fn named(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from)?;
    assert!(
        path.exists(),
        "{variable} names {}, which is missing",
        path.display()
    );
    Some(path)
}

/// `target/debug`: this binary lies in its `deps`.
fn profile_folder() -> PathBuf {
    let here = std::env::current_exe().expect("a running binary has a path");
    here.parent()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .unwrap_or_default()
}
