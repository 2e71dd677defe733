//! Whether a program needs a loader: an ELF file with an interpreter is linked dynamically.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Type of the program header that names the interpreter.
const PT_INTERP: u32 = 3;
/// Bytes of a 64-bit ELF header.
const HEADER: usize = 64;

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    Static,
    Dynamic,
    /// No 64-bit little-endian ELF file.
    NoElf,
}

/// Reads the headers of `path`.
pub(super) fn linkage(path: &Path) -> io::Result<Linkage> {
    let mut file = File::open(path)?;
    let mut head = [0; HEADER];
    match file.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Linkage::NoElf),
        Err(error) => return Err(error),
    }
    // Class 2: 64 bits; data 1: little-endian.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return Ok(Linkage::NoElf);
    }
    let offset = u64::from_le_bytes(field(&head, 32));
    let size = u16::from_le_bytes(field(&head, 54));
    let count = u16::from_le_bytes(field(&head, 56));
    file.seek(SeekFrom::Start(offset))?;
    let mut table = Vec::new();
    let bytes = u64::from(size) * u64::from(count);
    file.take(bytes).read_to_end(&mut table)?;
    let interpreted = table
        .chunks_exact(usize::from(size).max(4))
        .any(|entry| u32::from_le_bytes(field(entry, 0)) == PT_INTERP);
    Ok(if interpreted {
        Linkage::Dynamic
    } else {
        Linkage::Static
    })
}

/// `N` bytes at `at`; the callers stay inside the header.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(found) = bytes.get(at..at + N) {
        out.copy_from_slice(found);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Linkage, linkage};

    #[test]
    fn a_shell_is_dynamic_and_a_text_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("x");
        std::fs::write(&text, "a".repeat(100)).unwrap();
        assert_eq!(linkage(&text).unwrap(), Linkage::NoElf);
        assert_eq!(linkage(Path::new("/bin/bash")).unwrap(), Linkage::Dynamic);
    }

    #[test]
    fn an_elf_file_without_an_interpreter_is_static() {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = 1;
        let path = dir.path().join("x");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(linkage(&path).unwrap(), Linkage::Static);
        bytes[64] = 3;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(linkage(&path).unwrap(), Linkage::Dynamic);
    }
}
