//! Takes the one program out of what was fetched, and checks that it is one.
//!
//! Of a tarball only two members are read, by their exact names: nothing is unpacked by a path that
//! the archive chooses.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

use super::catalog::{Arch, Known};
use super::digest::copy_hashing;
use super::error::InstallError;
use super::request::is_version;

/// Largest program that is taken: four times the largest known one.
const PROGRAM_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Largest `package.json` that is read.
const MANIFEST_BYTES: u64 = 1024 * 1024;

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Program,
    Tarball,
}

/// Looks at the beginning of a file.
pub(super) fn kind(path: &Path) -> Result<FileKind, InstallError> {
    let mut start = [0; 4];
    let mut file = File::open(path).map_err(InstallError::io(path))?;
    match file.read_exact(&mut start) {
        Ok(()) if start == *b"\x7fELF" => Ok(FileKind::Program),
        Ok(()) if start[..2] == [0x1f, 0x8b] => Ok(FileKind::Tarball),
        Ok(()) | Err(_) => Err(InstallError::NotAProgram {
            file: path.to_owned(),
            why: "neither a program nor a tarball",
        }),
    }
}

/// The version that a tarball's `package.json` names.
pub(super) fn version(path: &Path) -> Result<String, InstallError> {
    let none = || InstallError::NoVersion(path.to_owned());
    let mut text = String::new();
    with_member(path, "package/package.json", |entry| {
        entry.take(MANIFEST_BYTES).read_to_string(&mut text)?;
        Ok(())
    })?;
    let manifest: serde_json::Value = serde_json::from_str(&text).map_err(|_| none())?;
    let version = manifest.get("version").and_then(serde_json::Value::as_str);
    version
        .filter(|version| is_version(version))
        .map(str::to_owned)
        .ok_or_else(none)
}

/// Writes the program to `to`, executable, and gives its SHA-256.
pub(super) fn take_program(from: &Path, engine: &Known, to: &Path) -> Result<String, InstallError> {
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(to)
        .map_err(InstallError::io(to))?;
    let mut sha256 = String::new();
    match kind(from)? {
        FileKind::Program => {
            let mut file = File::open(from).map_err(InstallError::io(from))?;
            sha256 = copy_hashing(&mut file, &mut out).map_err(InstallError::io(to))?;
        }
        FileKind::Tarball => with_member(from, engine.member, |entry| {
            sha256 = copy_hashing(&mut entry.take(PROGRAM_BYTES), &mut out)?;
            Ok(())
        })?,
    }
    out.sync_all().map_err(InstallError::io(to))?;
    Ok(sha256)
}

/// Checks that `path` is a 64-bit little-endian ELF file for `arch`: elf(5).
pub(super) fn check_program(path: &Path, arch: Arch, shown: &Path) -> Result<(), InstallError> {
    let mut head = [0; 20];
    let read = File::open(path).and_then(|mut file| {
        file.rewind()?;
        file.read_exact(&mut head)
    });
    let machine = u16::from_le_bytes([head[18], head[19]]);
    let why = match read {
        Err(_) => "it is too short",
        Ok(()) if head[..4] != *b"\x7fELF" => "it is not an ELF file",
        Ok(()) if head[4] != 2 || head[5] != 1 => "it is not a 64-bit little-endian one",
        Ok(()) if machine != arch.elf_machine() => "it is for another processor",
        Ok(()) => return Ok(()),
    };
    Err(InstallError::NotAProgram {
        file: shown.to_owned(),
        why,
    })
}

/// Hands the regular file called `member` to `each`.
fn with_member(
    path: &Path,
    member: &str,
    mut each: impl FnMut(&mut dyn Read) -> io::Result<()>,
) -> Result<(), InstallError> {
    let file = File::open(path).map_err(InstallError::io(path))?;
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(file)));
    let entries = archive.entries().map_err(InstallError::io(path))?;
    for entry in entries {
        let mut entry = entry.map_err(InstallError::io(path))?;
        let is_it = entry.header().entry_type() == EntryType::Regular
            && *entry.path_bytes() == *member.as_bytes();
        if is_it {
            return each(&mut entry).map_err(InstallError::io(path));
        }
    }
    Err(InstallError::NoMember {
        file: path.to_owned(),
        member: member.to_owned(),
    })
}
