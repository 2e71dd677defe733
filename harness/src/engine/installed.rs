//! The engines that are installed: `<engines>/<name>/<version>/<name>`, newest first.

use std::cmp::Ordering;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// One installed engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    pub version: String,
    /// The program itself.
    pub program: PathBuf,
}

/// Every installed version of `name`, newest first. A directory that cannot be read holds none.
#[must_use]
pub fn versions(engines: &Path, name: &str) -> Vec<Installed> {
    let Ok(entries) = std::fs::read_dir(engines.join(name)) else {
        return Vec::new();
    };
    let mut found: Vec<Installed> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let version = entry.file_name().into_string().ok()?;
            let program = entry.path().join(name);
            (!version.starts_with('.') && is_program(&program)).then(|| Installed {
                name: name.to_owned(),
                version,
                program,
            })
        })
        .collect();
    found.sort_by(|a, b| compare(&b.version, &a.version));
    found
}

/// The newest installed version of `name`.
#[must_use]
pub fn newest(engines: &Path, name: &str) -> Option<Installed> {
    versions(engines, name).into_iter().next()
}

/// Names of the engines that have a directory, in alphabetical order.
#[must_use]
pub fn names(engines: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(engines) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Where the SHA-256 of a program is recorded, in the format of sha256sum(1).
#[must_use]
pub fn checksum_path(program: &Path) -> PathBuf {
    program.with_extension("sha256")
}

/// The recorded SHA-256 of a program, in hexadecimal.
#[must_use]
pub fn recorded_sha256(program: &Path) -> Option<String> {
    let text = std::fs::read_to_string(checksum_path(program)).ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Compares number by number; a version with a suffix comes before the one without.
fn compare(a: &str, b: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let plain = version.split(['-', '+']).next().unwrap_or_default();
        plain
            .split('.')
            .map(|part| part.parse().unwrap_or(0))
            .collect()
    };
    let suffixed = |version: &str| version.contains('-');
    numbers(a)
        .cmp(&numbers(b))
        .then_with(|| suffixed(b).cmp(&suffixed(a)))
        .then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_by_number_and_only_programs_count() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["2.1.99", "2.1.332", "2.2.0-beta", "2.1.400", ".partial"] {
            let home = dir.path().join("claude").join(version);
            std::fs::create_dir_all(&home).unwrap();
            std::fs::write(home.join("claude"), b"x").unwrap();
            let mode = if version == "2.1.400" { 0o644 } else { 0o755 };
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(home.join("claude"), mode).unwrap();
        }
        let found: Vec<_> = versions(dir.path(), "claude")
            .into_iter()
            .map(|engine| engine.version)
            .collect();
        assert_eq!(found, ["2.2.0-beta", "2.1.332", "2.1.99"]);
        assert_eq!(newest(dir.path(), "codex"), None);
    }

    #[test]
    fn a_release_comes_after_its_own_betas() {
        assert_eq!(compare("2.2.0-beta", "2.2.0"), Ordering::Less);
        assert_eq!(compare("2.10.0", "2.9.9"), Ordering::Greater);
    }
}
