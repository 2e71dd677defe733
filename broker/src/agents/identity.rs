//! The name of this hive among others that use the same container engine: kept in its directory.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::paths::Paths;

/// The file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct IdentityError {
    pub path: String,
    pub why: String,
}

/// Reads `$HIVE_HOME/id`, or makes it: 32 hexadecimal digits.
///
/// # Errors
/// When the file cannot be read or made, or holds something else.
pub fn hive_id(paths: &Paths) -> Result<String, IdentityError> {
    let path = paths.home().join("id");
    let fault = |why: String| IdentityError {
        path: path.display().to_string(),
        why,
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let id = text.trim();
            let sound = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            return if sound {
                Ok(id.to_owned())
            } else {
                Err(fault("holds no id of a hive".into()))
            };
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error.to_string())),
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    // Whole or not at all: a torn id would disown every container.
    let temporary = paths.home().join("id.new");
    let write = || {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(id.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)
    };
    write().map_err(|error| fault(error.to_string()))?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::hive_id;
    use crate::paths::Paths;

    #[test]
    fn it_is_made_once_and_then_kept() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path().to_owned(), "/r".into()).unwrap();
        let first = hive_id(&paths).unwrap();
        assert_eq!(hive_id(&paths).unwrap(), first);
        std::fs::write(dir.path().join("id"), "x").unwrap();
        assert!(hive_id(&paths).is_err());
    }
}
