//! The `hive` that agents run: found, checked, and kept by its hash, so that a running container
//! keeps its own while a newer one is installed.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tracing::{info, warn};

/// Names `hive` where neither configuration nor a neighbour does.
const VARIABLE: &str = "HIVE_BINARY";
/// Hexadecimal digits of the hash in a copy's name.
const DIGITS: usize = 16;
/// Type of the program header that names an interpreter: a dynamically linked program has one.
const PT_INTERP: u32 = 3;

/// Why there is no `hive` to run.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    #[error("no hive binary: looked at {0}; set agent.hive_binary in hive.toml")]
    Missing(String),
    #[error("{0} is not a static program, so no container can run it; build it by `make static`")]
    NotStatic(PathBuf),
    #[error("{path}: {why}", path = path.display())]
    Io { path: PathBuf, why: String },
}

/// What the runtime asks of the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Mounted into any image.
    Static,
    /// Run in place.
    Any,
}

/// Finds the binary: as configured, else by `HIVE_BINARY`, else beside this program.
pub(super) fn find(configured: Option<&Path>, need: Need) -> Result<PathBuf, BinaryError> {
    let named = configured
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    if let Some(path) = named {
        return check(path, need);
    }
    let candidates = neighbours();
    let mut unfit = None;
    for path in candidates.iter().filter(|path| path.exists()) {
        match check(path.clone(), need) {
            Ok(path) => return Ok(path),
            Err(error) => unfit = unfit.or(Some(error)),
        }
    }
    let looked: Vec<String> = candidates
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(unfit.unwrap_or_else(|| BinaryError::Missing(looked.join(", "))))
}

/// `hive` beside `hived`, and where a static build of the same workspace lies.
fn neighbours() -> Vec<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let Some(folder) = own.parent() else {
        return Vec::new();
    };
    let mut found = vec![folder.join("hive")];
    let profile = folder.file_name().unwrap_or_default();
    if let Some(target) = folder.parent() {
        let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        found.push(target.join(triple).join(profile).join("hive"));
    }
    found
}

fn check(path: PathBuf, need: Need) -> Result<PathBuf, BinaryError> {
    let fixed = match is_static(&path) {
        Ok(fixed) => fixed,
        Err(error) => {
            let why = error.to_string();
            return Err(BinaryError::Io { path, why });
        }
    };
    match need {
        Need::Static if !fixed => Err(BinaryError::NotStatic(path)),
        Need::Static | Need::Any => Ok(path),
    }
}

/// Whether it is a 64-bit ELF program that asks for no interpreter.
fn is_static(path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    std::fs::File::open(path)?
        .take(4096)
        .read_to_end(&mut head)?;
    Ok(interpreter(&head) == Some(false))
}

/// Whether the program headers name an interpreter; none when it is no 64-bit little-endian ELF.
fn interpreter(head: &[u8]) -> Option<bool> {
    let word = |at: usize, bytes: usize| -> Option<usize> {
        let slice = head.get(at..at.checked_add(bytes)?)?;
        let value = slice
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        usize::try_from(value).ok()
    };
    if head.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count) = (word(0x20, 8)?, word(0x36, 2)?, word(0x38, 2)?);
    for n in 0..count {
        let kind = word(table.checked_add(n.checked_mul(size)?)?, 4)?;
        if kind == PT_INTERP as usize {
            return Some(true);
        }
    }
    Some(false)
}

/// Copies the binary into `folder` under its hash, unless it is there, and returns the copy.
pub(super) fn keep(source: &Path, folder: &Path) -> Result<PathBuf, BinaryError> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| BinaryError::Io {
            path,
            why: error.to_string(),
        }
    };
    let hash = hash(source).map_err(fault(source))?;
    let copy = folder.join(format!("hive-{}", &hash[..DIGITS]));
    if copy.exists() {
        return Ok(copy);
    }
    std::fs::create_dir_all(folder).map_err(fault(folder))?;
    let temporary = folder.join(format!(".new-{}", std::process::id()));
    let write = || {
        let mut from = std::fs::File::open(source)?;
        // Others may execute it: in a container it runs as the agent's user. The folder is private.
        let mut to = std::fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o755)
            .open(&temporary)?;
        std::io::copy(&mut from, &mut to)?;
        to.flush()?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        to.set_permissions(mode)?;
        to.sync_all()?;
        std::fs::rename(&temporary, &copy)
    };
    write().map_err(fault(&copy))?;
    info!(path = %copy.display(), "a new hive is kept for the agents");
    Ok(copy)
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    std::io::copy(&mut file, &mut hasher)?;
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Removes copies that are not in `used`.
pub(super) fn prune(folder: &Path, used: &[PathBuf]) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str());
        let ours = name.is_some_and(|name| name.starts_with("hive-") || name.starts_with(".new-"));
        if ours && !used.contains(&path) {
            match std::fs::remove_file(&path) {
                Ok(()) => info!(path = %path.display(), "removed a hive that no agent runs"),
                Err(error) => warn!(path = %path.display(), %error, "cannot remove an old hive"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BinaryError, Need, find, interpreter, keep, prune};

    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x20] = 64;
        bytes[0x36] = 56;
        bytes[0x38] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            let mut header = vec![0_u8; 56];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    #[test]
    fn an_interpreter_makes_it_dynamic() {
        assert_eq!(interpreter(&elf(&[1, 3, 2])), Some(true));
        assert_eq!(interpreter(&elf(&[1, 2])), Some(false));
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(interpreter(&elf(&[1, 2])[..70]), None);
    }

    #[test]
    fn a_script_or_a_dynamic_program_is_refused_for_containers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hive");
        for bytes in [elf(&[3]), b"#!/bin/sh\n".to_vec()] {
            std::fs::write(&path, bytes).unwrap();
            let found = find(Some(&path), Need::Static);
            assert!(matches!(found, Err(BinaryError::NotStatic(_))), "{found:?}");
        }
        std::fs::write(&path, elf(&[1])).unwrap();
        assert_eq!(find(Some(&path), Need::Static).unwrap(), path);
        assert!(matches!(
            find(Some(&dir.path().join("none")), Need::Any),
            Err(BinaryError::Io { .. })
        ));
    }

    #[test]
    fn copies_are_kept_by_content_and_pruned_when_unused() {
        let dir = tempfile::tempdir().unwrap();
        let (source, folder) = (dir.path().join("hive"), dir.path().join("bin"));
        std::fs::write(&source, elf(&[1])).unwrap();
        let old = keep(&source, &folder).unwrap();
        assert_eq!(keep(&source, &folder).unwrap(), old);
        std::fs::write(&source, elf(&[1, 1])).unwrap();
        let new = keep(&source, &folder).unwrap();
        assert_ne!(new, old);
        prune(&folder, &[old.clone(), new.clone()]);
        assert!(old.exists() && new.exists());
        prune(&folder, std::slice::from_ref(&new));
        assert!(!old.exists() && new.exists());
    }
}
