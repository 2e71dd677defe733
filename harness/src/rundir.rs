//! The file in the run directory that tells other processes of the agent where the harness listens.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the file.
pub const FILE: &str = "harness.json";

/// What `harness.json` says; only the agent's own user can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    pub pid: u32,
    /// `http://127.0.0.1:<port>` of the forwarder to the gateway.
    pub gateway_url: String,
    /// The MCP endpoint and its bearer token.
    pub mcp_url: String,
    pub mcp_token: String,
}

/// Writes the file, whole or not at all, mode 0600.
///
/// # Errors
/// When the directory cannot be written.
pub fn publish(dir: &Path, published: &Published) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let part = dir.join(format!(".{FILE}.{}", published.pid));
    // Left by a harness of the same pid that died here.
    match std::fs::remove_file(&part) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(&serde_json::to_vec(published)?)?;
    std::fs::rename(part, dir.join(FILE))
}

/// Reads what a harness has written.
///
/// # Errors
/// When there is no file or it is not one of ours.
pub fn read(dir: &Path) -> std::io::Result<Published> {
    let bytes = std::fs::read(dir.join(FILE))?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{FILE, Published, publish, read};

    #[test]
    fn it_is_read_back_and_only_by_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let mut published = Published {
            pid: 1,
            gateway_url: "http://127.0.0.1:1".to_owned(),
            mcp_url: "http://127.0.0.1:2/mcp".to_owned(),
            mcp_token: "secret".to_owned(),
        };
        publish(dir.path(), &published).unwrap();
        published.mcp_token = "other".to_owned();
        publish(dir.path(), &published).unwrap();
        assert_eq!(read(dir.path()).unwrap(), published);
        let mode = dir.path().join(FILE).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
