//! Hashes that name what an instance was made from.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn digest(bytes: impl AsRef<[u8]>) -> String {
    let hash = Sha256::digest(bytes.as_ref());
    hash.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
