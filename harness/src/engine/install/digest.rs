//! Hashes of files, read in pieces.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256, Sha512};

/// Bytes of one piece.
const PIECE: usize = 256 * 1024;

/// SHA-512 of a file in the registry's way of writing it: `sha512-<base64>`.
pub(super) fn integrity(path: &Path) -> io::Result<String> {
    let mut hash = Sha512::new();
    copy(&mut File::open(path)?, |piece| {
        hash.update(piece);
        Ok(())
    })?;
    Ok(format!("sha512-{}", base64(&hash.finalize())))
}

/// Copies everything and gives the SHA-256 of it, in hexadecimal.
pub(super) fn copy_hashing(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    copy(from, |piece| {
        hash.update(piece);
        to.write_all(piece)
    })?;
    let bytes = hash.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn copy(from: &mut impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => each(&piece[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            match place <= group.len() {
                true => text.push(char::from(SIGNS[index as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_others_write_them() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(
            integrity(&path).unwrap(),
            "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
        );
        let mut copied = Vec::new();
        assert_eq!(
            copy_hashing(&mut b"abc".as_slice(), &mut copied).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(copied, b"abc");
    }
}
